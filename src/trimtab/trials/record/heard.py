"""The parts of a simulation that decide, listened to while they do.

The leader of a recording must decide by exactly what is written down, and what is written
down must say what it knew.  So it hears of whole reports, one after the other, and holds the
maps that a reader of the recording holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trimtab.lab.simulate.leader import Leader
from trimtab.lab.simulate.placing import Chosen, Placing
from trimtab.lab.simulate.reports import Writes
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.strategies import Strategies
from trimtab.lab.simulate.timetable import Due, Round, Timetable
from trimtab.lab.simulate.windows import Counted
from trimtab.pulsar.bundles import is_system_bundle, namespace
from trimtab.pulsar.leader.load import broker_load, cluster_load
from trimtab.pulsar.leader.view import LeaderView, Report
from trimtab.pulsar.model import (
    ClusterLoad,
    Decision,
    Flags,
    Floats,
    Ints,
    LostRoundError,
    Placement,
)
from trimtab.trials.record.clock import LeaderClock
from trimtab.trials.record.listener import Listener, Selected, Unloading, Write
from trimtab.trials.record.shedder_lines import Shed

# What a broker reports of memory it has, MiB, and of its CPU, percent of a core.
_MEMORY_MIB, _DIRECT_MIB, _CPU_PERCENT = 4096.0, 8192.0, 800.0
_KBIT = 8.0 / 1000.0


class HeardTimetable(Timetable):
    """Knows what time it is, and when the next round is due."""

    clock: LeaderClock
    now_s: float = 0.0

    def enter(self, time_s: float, due: Due) -> None:
        """Let something be done at a time."""
        super().enter(time_s, due)
        if isinstance(due, Round):
            self.clock.round_s = time_s

    def next(self, before_s: float) -> tuple[float, Due] | None:
        """Take what is due first."""
        found = super().next(before_s)
        self.now_s = before_s if found is None else found[0]
        return found


class HeardLeader(Leader):
    """A leader that knows what its reports say, and nothing else."""

    #: What becomes of a report before it is written.
    reported: Callable[[int, float, Report], Report]
    strategies: HeardStrategies

    def listen(self, simulation: Simulation, clock: LeaderClock, listener: Listener) -> None:
        """Begin to tell, before any time has passed."""
        self.simulation, self.clock, self.listener = simulation, clock, listener
        self.view = LeaderView()
        #: A bundle is looked up or shed: s at which, and whether it is a round of shedding.
        self.acts_s, self.is_round = 0.0, False
        #: What was selected last, in a round.
        self.target: int | None = None
        random = np.random.default_rng((simulation.world.seed, 7))
        self.early_ms = random.integers(20, 980, self.cluster.nobody).tolist()
        none = np.empty(0, np.int64), np.empty(0), np.empty(0)
        #: Broker → bundles, messages/s in and out, as it counted last.
        self.stats: dict[int, tuple[Ints, Floats, Floats]] = dict.fromkeys(
            range(self.cluster.nobody), none
        )
        nic = self.cluster.machines.nic * _KBIT
        ones = np.ones(self.cluster.nobody)
        self.limits = np.stack(
            (_CPU_PERCENT * ones, _MEMORY_MIB * ones, _DIRECT_MIB * ones, nic, nic), axis=1
        )
        self.names = np.array(self.cluster.bundles.names, np.object_)
        for broker in self.order.tolist():
            self._write(broker, -60.0, np.zeros(3), np.zeros(4))
        self._follow()

    # -------------------------------------------------------------- what it hears

    def take(self, writes: Writes, was_behind: Flags, counted: Counted) -> None:
        """Take what brokers measured and wrote in a stretch."""
        super().take(writes, was_behind, counted)
        fresh = self._counted(counted)
        tick_s = self.measuring.tick_s
        ends = (writes.tick + 1) * tick_s
        early = np.array(self.early_ms)[writes.broker]
        for i in np.argsort(ends * 1000.0 - early, kind="stable").tolist():
            broker = int(writes.broker[i])
            if writes.is_fresh[i]:
                self.stats[broker] = fresh[broker]
            self._write(broker, float(ends[i]), writes.usage[i], writes.totals[i])
        self.stats.update(fresh)
        self.listener.passed(self.simulation.tick * self.measuring.tick_s)

    def join(self, broker: int) -> None:
        """Meet a broker."""
        super().join(broker)
        self.stats[broker] = np.empty(0, np.int64), np.empty(0), np.empty(0)
        self._write(broker, self._timetable.now_s, np.zeros(3), np.zeros(4))
        self._follow()

    def drop(self, broker: int) -> None:
        """Lose a broker, with all that it said."""
        super().drop(broker)
        time_ms = self.clock.happens(self._timetable.now_s)
        self.view.drop(self.cluster.machines.names[broker])
        self.listener.left(time_ms, broker)
        self._follow()

    def recompute(self, times: int) -> None:
        """Feed every average once more; once alone stands for storing them."""
        super().recompute(times)
        if times == 1:
            time_ms = self.clock.happens(self._timetable.now_s)
            self.view.recompute()
            self.listener.flushed(time_ms, self.view)

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note a change of owner."""
        super().move(bundle, source, target)
        name = self.cluster.bundles.names[bundle]
        self.view.own.discard(name)
        if target >= 0 and target == self.simulation.chief:
            self.view.own.add(name)
        time_ms = self.clock.happens(self._timetable.now_s)
        self.listener.owned(time_ms, bundle, source, target)

    def preallocate(self, bundle: int, broker: int) -> None:
        """Give a bundle to a broker that does not report it yet."""
        super().preallocate(bundle, broker)
        names = self.cluster.bundles.names[bundle], self.cluster.machines.names[broker]
        self.view.give(*names)

    def unloaded(self, bundle: int, time_s: float) -> None:
        """Remember when a bundle was unloaded, and tell that it was."""
        super().unloaded(bundle, time_s)
        time_ms = self.clock.happens(self.acts_s)
        self.view.recently_unloaded[self.cluster.bundles.names[bundle]] = time_ms / 1000.0
        source, took_s = int(self.cluster.owner[bundle]), time_s - self.acts_s
        self.listener.unloading(Unloading(time_ms, bundle, source, self.target, took_s))
        self.target, self.acts_s = None, time_s
        self.clock.unseen_ms = round(took_s * 1000.0)

    def start_anew(self) -> None:
        """Be another broker."""
        super().start_anew()
        self.view.given.clear()
        self.view.recently_unloaded.clear()
        self.follow_leader(self.clock.happens(self._timetable.now_s))

    def follow_leader(self, time_ms: int) -> None:
        """Tell who leads from some time on, and have the view know what it owns itself."""
        chief = self.simulation.chief
        self.view.own = {self.cluster.bundles.names[i] for i in self.cluster.owned(chief).tolist()}
        self.clock.unseen_ms = 0
        self.listener.elected(time_ms, chief)

    # -------------------------------------------------------------- what it shows

    def load(self, unloaded_before_s: float) -> ClusterLoad:
        """Lay out what it knows."""
        grace_s = self.simulation.settings.grace_period_s
        self.acts_s, self.target = unloaded_before_s + grace_s, None
        time_ms = self.clock.happens(self.acts_s)
        self.view.forget_unloads_before(time_ms / 1000.0 - grace_s)
        return cluster_load(self.view, lambda bundle: is_system_bundle(bundle, self.release))

    def selecting(self) -> int:
        """Stamp a selection."""
        return self.clock.happens(self.acts_s)

    @property
    def _timetable(self) -> HeardTimetable:
        timetable = self.simulation.timetable
        assert isinstance(timetable, HeardTimetable)
        return timetable

    def _counted(self, counted: Counted) -> dict[int, tuple[Ints, Floats, Floats]]:
        """Sort what was counted by broker."""
        listed = np.flatnonzero(counted.is_listed)
        server = self.cluster.server[counted.bundles[listed]]
        listed = listed[np.argsort(server, kind="stable")]
        closing = np.flatnonzero(counted.tick >= 0)
        ends = np.searchsorted(np.sort(server), closing, side="right").tolist()
        starts = np.searchsorted(np.sort(server), closing, side="left").tolist()
        columns = counted.bundles[listed], counted.rate_in[listed], counted.rate_out[listed]
        return {
            broker: (columns[0][a:b], columns[1][a:b], columns[2][a:b])
            for broker, a, b in zip(closing.tolist(), starts, ends, strict=True)
        }

    def _write(self, broker: int, end_s: float, usage: Floats, totals: Floats) -> None:
        """Have a broker write its report, and the leader hear of it."""
        time_ms = self.clock.is_written(end_s, self.early_ms[broker])
        report = self.reported(broker, end_s, self.report(broker, usage, totals))
        self.view.take(report)
        self.listener.wrote(Write(time_ms, broker, report))

    def report(self, broker: int, usage: Floats, totals: Floats) -> Report:
        """Have a broker say what it knows.

        Args:
            broker: its position.
            usage: (3,) percent of CPU, NIC in and NIC out.
            totals: (4,) messages/s in and out, bytes/s in and out.
        """
        bundles, rate_in, rate_out = self.stats[broker]
        size = self.cluster.bundles.message_bytes[bundles]
        samples = np.stack(
            (
                rate_in,
                rate_out,
                rate_in * size,
                rate_out * size,
                self.cluster.bundles.topics[bundles],
            ),
            axis=1,
        )
        measuring = self.measuring
        percent = np.array(
            [usage[0], measuring.memory_percent, measuring.direct_memory_percent, *usage[1:]]
        )
        names = tuple(self.names[bundles].tolist())
        return Report(
            broker=self.cluster.machines.names[broker],
            usage=percent / 100.0 * self.limits[broker],
            limit=self.limits[broker],
            totals=totals.copy(),
            bundles=names,
            measured=names,
            samples=samples,
        )

    def _follow(self) -> None:
        """Walk brokers as the view does."""
        position = {name: i for i, name in enumerate(self.cluster.machines.names)}
        self.order = np.array([position[name] for name in self.view.order()], np.int64)
        self.set_order = np.array([position[name] for name in self.view.set_order()], np.int64)


class HeardStrategies(Strategies):
    """Strategies that tell what they decide."""

    leader: HeardLeader
    #: What the placer answered last.
    placement: Placement | None = None

    def place(self, load: ClusterLoad, bundle: str, candidates: Ints) -> Placement:
        """Name the brokers for a bundle."""
        self.placement = super().place(load, bundle, candidates)
        return self.placement

    def shed(self, load: ClusterLoad) -> Decision:
        """Decide one round."""
        before = self._shedder_memory
        self.leader.is_round = True
        try:
            decision = super().shed(load)
        except LostRoundError:
            self.leader.is_round = False
            raise
        shed = Shed(str(self.balancer.shedder), load, decision, self._shedder_settings, before)
        self.leader.listener.decided(self.leader.clock.now_ms, shed)
        return decision

    def completed(self) -> None:
        """Hear that the leader has gone through all that was shed."""
        super().completed()
        self.leader.is_round = False


class HeardPlacing(Placing):
    """Placement by what the leader knows at the very moment."""

    def listen(self) -> None:
        """Begin to tell."""
        #: Bundles of this round that are on their way already: whoever asks is a client.
        self.asked: list[tuple[int, bool]] = []
        self.scores: dict[str, float] = {}

    def choose(self, load: ClusterLoad, bundle: int) -> Chosen | None:
        """Choose a broker for a bundle."""
        leader = self._heard
        name = leader.cluster.bundles.names[bundle]
        leader.view.meet(name)
        time_ms = leader.selecting()
        is_again = name in leader.view.recently_unloaded and leader.is_round
        self.asked, self.scores = [], {}
        chosen = super().choose(broker_load(leader.view), bundle)
        broker = None if chosen is None else chosen.broker
        is_lookup = is_again or not leader.is_round
        leader.listener.selected(
            Selected(time_ms, bundle, tuple(self.asked), broker, is_lookup, self.scores)
        )
        if is_again and broker is not None:
            leader.view.give(name, leader.cluster.machines.names[broker])
        leader.target = broker
        return chosen

    def _candidates(self, bundle: int) -> tuple[Ints, Ints]:
        """List everybody, and whom even distribution leaves; positions in the load."""
        view = self._heard.view
        place = {name: i for i, name in enumerate(view.order())}
        everybody = np.array([place[name] for name in view.set_order()], np.int64)
        if not self.settings.distributes_evenly:
            return everybody, everybody
        left = view.brokers_with_fewest(namespace(self._heard.cluster.bundles.names[bundle]))
        return everybody, np.array([place[name] for name in left], np.int64)

    def _drawn(self, load: ClusterLoad, bundle: int, candidates: Ints) -> tuple[int, bool] | None:
        """Draw among those that the placer names; positions in the load."""
        drawn = super()._drawn(load, bundle, candidates)
        strategies = self._heard.strategies
        if strategies.placement is not None:
            names = [load.brokers[i] for i in candidates.tolist()]
            scores = strategies.placement.scores.tolist()
            self.scores = dict(zip(names, scores, strict=True))
        self.asked.append((candidates.size, drawn is not None and drawn[1]))
        return drawn

    @property
    def _heard(self) -> HeardLeader:
        assert isinstance(self.leader, HeardLeader)
        return self.leader


def listened(
    simulation: Simulation,
    start_ms: int,
    listener: Listener,
    reported: Callable[[int, float, Report], Report],
) -> Simulation:
    """Have a simulation of which no time has passed tell all that its leader hears and does.

    Args:
        simulation: is changed.
        start_ms: epoch milliseconds at which it begins.
        listener: who hears it.
        reported: what becomes of each broker's reports before they are written.
    """
    clock = LeaderClock(start_ms, start_ms - 120_000)
    timetable = HeardTimetable()
    timetable.clock = clock
    simulation.timetable = timetable
    old = simulation.leader
    leader = HeardLeader(old.cluster, old.reports, old.measuring, old.release, old.shows_averages)
    leader.unloaded_s = old.unloaded_s
    strategies = HeardStrategies(simulation.balancer)
    strategies.leader, leader.strategies = leader, strategies
    placing = HeardPlacing(
        leader,
        strategies,
        simulation.settings,
        simulation.placing.weights,
        simulation.placing.random,
    )
    placing.listen()
    simulation.leader, simulation.strategies, simulation.placing = leader, strategies, placing
    leader.reported = reported
    leader.listen(simulation, clock, listener)
    return simulation
