"""All parts of a simulated cluster, and the passing of time in it."""

from __future__ import annotations

import numpy as np

from trimtab.lab.simulate.balancer import Balancer, is_extensible, pulsars
from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.flow import Flows, Forecast
from trimtab.lab.simulate.leader import Leader
from trimtab.lab.simulate.leader_protocol import LeaderProtocol
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.placement import Placing
from trimtab.lab.simulate.records import Records
from trimtab.lab.simulate.reports import Measured, Reports, gate
from trimtab.lab.simulate.splits import with_children
from trimtab.lab.simulate.standing import Standing
from trimtab.lab.simulate.steers import Listens, Steers
from trimtab.lab.simulate.strategies import Strategies
from trimtab.lab.simulate.surroundings import Lengths, Meet, drawn_surroundings
from trimtab.lab.simulate.timetable import Timetable
from trimtab.lab.simulate.truth import LastMinute
from trimtab.lab.simulate.windows import Counted, Windows
from trimtab.lab.simulate.world import World
from trimtab.lab.steering import Member, own
from trimtab.pulsar.leader import load_data
from trimtab.pulsar.model import MINUTE_S, Floats, Ints
from trimtab.pulsar.settings import check_intervals, load_manager_settings
from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import resource_weights


class Simulation:
    """A cluster at a moment.

    Properties:
        The same world, balancer and parameters give the same bytes.
    """

    def __init__(
        self,
        world: World,
        balancer: Balancer,
        parameters: Parameters,
        meet: Meet = drawn_surroundings,
    ) -> None:
        """Put the parts together; `meet` makes its traffic, other processes and clocks."""
        conf, release = balancer.conf, balancer.release
        self.balancer, self.parameters = balancer, parameters
        physics, measuring = parameters.physics, parameters.measuring
        tick_s = measuring.tick_s
        check_intervals(conf, release)
        self.settings = settings = load_manager_settings(conf, release)
        reader = Reader(conf, release)
        weights = resource_weights(reader)
        #: And splits to come: bundle → its two halves.
        self.world, splits, self.halves = with_children(world, physics)
        self.n_ticks = round(self.world.duration_s / tick_s)
        #: A strategy of trimtab's own that decides in the place of Pulsar's.
        self.named = None if balancer.shedder is None else own(balancer.shedder)
        self.steering: Steers | None = None
        self.listener: Listens | None = None
        #: The extensible load manager leads, which sheds and places by itself.
        self.is_extensible = is_extensible(balancer)
        is_own_placer = self.named is not None and balancer.placer == balancer.shedder
        self.steers_placement = is_own_placer or self.is_extensible
        self.strategies = Strategies(pulsars(balancer))
        self.cluster = Cluster(self.world.machines, self.world.bundles)
        met = meet(world, parameters, splits)
        self.flows = Flows(self.cluster, met.traffic, met.background, parameters)
        host_s = reader.number("loadBalancerHostUsageCheckIntervalMinutes") * MINUTE_S
        lengths = (host_s, settings.stats_interval_s, settings.report_interval_s_min)
        ticks = Lengths(*(max(1, round(length / tick_s)) for length in lengths))
        self.windows = Windows(self.cluster, self.flows, met.phases, ticks)
        self.reports = Reports(gate(settings, weights, release, measuring), self.cluster.nobody)
        leader = Leader(self.cluster, self.reports, measuring, self.strategies)
        until_s = self.world.bundles.grace_until_s
        leader.unloaded_s = np.where(until_s > 0, until_s - settings.grace_period_s, -np.inf)
        if met.standing is not None:
            self._resume(leader, met.standing)
        self.leader: LeaderProtocol = leader
        draws = generator(world.seed, "draws")
        self.placing = Placing(leader, self.strategies, settings, weights, draws)
        self.records = Records(self.world, tick_s, self.n_ticks, physics.cpu_convexity)
        self._begin(reader)

    def _begin(self, reader: Reader) -> None:
        """Set what goes with the release, and what is counted from the beginning on."""
        self.timetable = Timetable()
        #: The leader, and how many there have been; -1 if there is none.
        self.chief, self.term = -1, 0
        #: Term of the leader that unloaded something last.
        self.unloaded_term = 0
        #: Ticks that have passed.
        self.tick = 0
        #: Bundles that have been split.
        self.parents: set[int] = set()
        #: Draws what it takes to move bundles.
        self.random = generator(self.world.seed, "outages")
        #: s after which an unload is given up waiting for.
        self.unload_timeout_s = reader.number("namespaceBundleUnloadingTimeoutMs") / 1000.0
        bookkeeping = load_data("ModularLoadManagerImpl", self.balancer.release)
        #: A destination is chosen before a bundle is unloaded, not when it is looked up.
        self.chooses_before_unload = bookkeeping is None or bookkeeping.chooses_before_unload
        #: Shedding is switched on.
        self.sheds = self.settings.is_enabled and self.settings.is_shedding_enabled
        #: Names → positions.
        self.bundle_at = {name: i for i, name in enumerate(self.world.bundles.names)}
        self.broker_at = {name: i for i, name in enumerate(self.world.machines.names)}
        #: (n_brokers,) s at which it was killed last.
        self.killed_s: Floats = np.full(self.cluster.nobody, np.nan)
        minute = self.records.minute_ticks
        #: (n_ticks, n_brokers) percent that other processes took in the last minute.
        self._background: Floats = np.zeros((minute, self.cluster.nobody))
        #: Brokers that have come and gone, for whoever steers.
        self.members: list[Member] = []
        self._truth: LastMinute | None = None
        self.forecast = Forecast(self.flows, self.n_ticks, max(self.windows.stats_ticks, minute))

    @property
    def round_s(self) -> float:
        """Return the s from the end of one round to the next."""
        return self.settings.shedding_interval_s if self.named is None else self.named.every_s

    def until_next_s(self, lasted_s: float) -> float:
        """Return the s from the beginning of a round that lasted so long to the next."""
        if self.is_extensible:
            return max(self.round_s, lasted_s)
        return lasted_s + self.round_s

    def background_of(self, ticks: int) -> Floats:
        """Return the percent of CPU that other processes took in the last ticks, (n_brokers,)."""
        return np.asarray(self._background[-ticks:].mean(axis=0))

    def _resume(self, leader: Leader, standing: Standing) -> None:
        """Let brokers have written, and the leader know, what there was before the beginning."""
        reported, listed, count = standing.reported, standing.listed, self.cluster.nobody
        size = self.flows.sizes(0)[listed.bundle]
        totals = np.empty((count, 4))
        for i, rate in enumerate((listed.rate_in, listed.rate_out)):
            totals[:, i] = np.bincount(listed.broker, rate, count)
            totals[:, i + 2] = np.bincount(listed.broker, rate * size, count)
        who, tick_s = reported.broker, self.parameters.measuring.tick_s
        counted = totals[who], np.bincount(listed.broker, minlength=count)[who]
        ticks = np.round(reported.written_s / tick_s).astype(np.int64) - 1
        self.reports.resume(who, reported.usage, counted, ticks)
        leader.resume(listed)
        # Halves of bundles that will be split stand behind those of which anything was said.
        said = leader.unloaded_s[: standing.unloaded_s.size]
        said[:] = np.maximum(said, standing.unloaded_s)

    def pass_until(self, time_s: float) -> None:
        """Let time pass until the tick in which something is due."""
        tick_s = self.parameters.measuring.tick_s
        until = min(self.n_ticks, int((time_s + 1e-6) // tick_s))
        longest = min(
            self.windows.host_ticks, self.windows.stats_ticks, self.reports.gate.ticks_max
        )
        while self.tick < until:
            self._stretch(min(until, self.tick + longest))

    def truth(self) -> LastMinute:
        """Return the last minute, with bundles where they are now or are on their way to."""
        if self._truth is None:
            minute = len(self._background)
            count = max(1, min(minute, self.tick))
            ticks = np.arange(max(0, self.tick - minute), max(1, self.tick))
            rows = self.flows.rows(self.tick, self.tick + 1, max(minute, self.windows.stats_ticks))
            step = ticks // self.flows.step_ticks - rows.first
            weights = np.bincount(step, minlength=len(rows.work)) / ticks.size
            background = self._background[-count:].mean(axis=0)
            physics = self.parameters.physics
            self._truth = LastMinute(self.cluster, rows, weights, background, physics)
        return self._truth

    def _stretch(self, end: int) -> None:
        """Let some ticks pass in which nothing changes hands."""
        first, cluster = self.tick, self.cluster
        tick_s, windows = self.parameters.measuring.tick_s, self.windows
        cluster.forget_moves_before((first - windows.stats_ticks - 1) * tick_s)
        cluster.message_bytes = self.flows.sizes(end - 1)
        rows, flow = self.forecast.flow(first, end)
        self.records.flow(flow, cluster)
        self._background = np.concatenate((self._background, flow.background))[
            -len(self._background) :
        ]
        sampled, counted = windows.close(flow, rows)
        was_behind = self.reports.is_behind.copy()
        server = counted.of_all(cluster.server)
        # Nearly always all of them are listed, and to pick them would take as long as to count.
        listed = server if counted.is_listed.all() else server[counted.is_listed]
        measured = Measured(
            sampled=sampled,
            counted=counted,
            totals=self._totals(counted, server),
            bundles=np.bincount(listed, minlength=cluster.nobody),
        )
        writes = self.reports.stretch(measured, cluster.reports, end)
        self.leader.take(writes, was_behind, counted)
        if self.listener is not None:
            self.listener.passed(measured, first, end)
        self.records.count("reports", writes.tick.size)
        self.tick, self._truth = end, None

    def _totals(self, counted: Counted, server: Ints) -> Floats:
        """Return what brokers counted, (n_brokers, 4), of bundles that they serve."""
        size = counted.of_all(self.cluster.message_bytes)
        totals = np.empty((self.cluster.nobody, 4))
        for i, rate in enumerate((counted.rate_in, counted.rate_out)):
            totals[:, i] = np.bincount(server, rate, self.cluster.nobody)
            totals[:, i + 2] = np.bincount(server, rate * size, self.cluster.nobody)
        return totals
