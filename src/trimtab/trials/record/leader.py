"""The leader of a recording, which decides by exactly what is written down.

It hears of whole reports, one after the other, and keeps what a reader of the recording keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.reports import Writes
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Due, Round, Timetable
from trimtab.lab.simulate.windows import Counted
from trimtab.pulsar.bundles import is_system_bundle, namespace
from trimtab.pulsar.leader.load import broker_load, cluster_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.map_order import ConcurrentHashMapKeys
from trimtab.pulsar.model import ClusterLoad, Flags, Floats, Ints
from trimtab.trials.record.listener import Listener, Unloading, Write

# What a broker reports of memory it has, MiB, and of its CPU, percent of a core.
_MEMORY_MIB, _DIRECT_MIB, _CPU_PERCENT = 4096.0, 8192.0, 800.0
_KBIT = 8.0 / 1000.0
# Bundles, messages/s in and out of a broker that has counted none yet.
_NO_STATS = (np.empty(0, np.int64), np.empty(0), np.empty(0))


# Writes keep clear of a round that comes, by as much as its time may be in doubt for a reader.
_CLEAR_MS = 50


@dataclass(slots=True)
class LeaderClock:
    """Stamps what the leader hears and does.

    A reader of the recording puts things in order by these stamps, and decides again what
    the leader decided; so they stand in the order in which the simulation did them, and no
    two are the same.
    """

    #: Epoch milliseconds at which the simulation begins.
    start_ms: int
    now_ms: int
    #: s at which the next round is due.
    round_s: float = math.inf
    #: What passes between the last line of a round and its end: a reader who sees no line of
    #: a round takes it to be an interval after the last line.
    unseen_ms: int = 0

    def happens(self, time_s: float) -> int:
        """Return the stamp of something that the leader does or hears of."""
        self.now_ms = max(self.ms(time_s), self.now_ms + 1)
        return self.now_ms

    def is_written(self, end_s: float, early_ms: int) -> int:
        """Return the stamp of a write that the simulation makes at the end of a tick.

        Quirks:
            What a broker writes while a round goes on is stamped behind the round, which
            saw none of it.
        """
        time_ms = self.ms(end_s) - early_ms
        if end_s <= self.round_s < math.inf:
            time_ms = min(time_ms, self.ms(self.round_s) - self.unseen_ms - _CLEAR_MS)
        self.now_ms = max(time_ms, self.now_ms + 1)
        return self.now_ms

    def ms(self, time_s: float) -> int:
        """Return s of the simulation as epoch milliseconds."""
        return self.start_ms + round(time_s * 1000.0)


class ClockedTimetable(Timetable):
    """Knows what time it is, and when the next round is due."""

    clock: LeaderClock
    now_s: float = 0.0

    def enter(self, time_s: float, due: Due) -> None:
        """Let something be done at a time."""
        super().enter(time_s, due)
        if isinstance(due, Round):
            self.clock.round_s = time_s

    def next(self, before_s: float) -> tuple[float, Due] | None:
        """Return what is due first."""
        event = super().next(before_s)
        self.now_s = before_s if event is None else event[0]
        return event


@dataclass(slots=True)
class RecordedLeader:
    """A leader that knows what its reports say, and nothing else."""

    simulation: Simulation
    clock: LeaderClock
    #: Who hear of all that it does, one after the other.
    listeners: tuple[Listener, ...]
    #: What becomes of a report before it is written.
    reported: Callable[[int, float, Report], Report]
    cluster: Cluster = field(init=False)
    view: LeaderView = field(default_factory=LeaderView)
    #: Positions of the brokers that it knows, in the order of its map.
    order: Ints = field(init=False)
    #: A bundle is looked up or shed: s at which, and whether it is a round of shedding.
    acts_s: float = 0.0
    is_round: bool = False
    #: What was selected last, in a round.
    target: int | None = None
    #: (n_brokers,) ms by which a broker writes before its tick is over.
    early_ms: list[int] = field(init=False)
    #: Broker → bundles, messages/s in and out, as it counted last.
    stats: dict[int, tuple[Ints, Floats, Floats]] = field(init=False)
    #: (n_brokers, 5) columns RESOURCES.
    limits: Floats = field(init=False)
    names: NDArray[np.object_] = field(init=False)
    #: Brokers as a map walks them that remembers those that left.
    _keys: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)

    def __post_init__(self) -> None:
        """Set everything up, before any time has passed."""
        cluster = self.cluster = self.simulation.cluster
        random = np.random.default_rng((self.simulation.world.seed, 7))
        self.early_ms = random.integers(20, 980, cluster.nobody).tolist()
        self.stats = dict.fromkeys(range(cluster.nobody), _NO_STATS)
        nic = cluster.machines.nic * _KBIT
        ones = np.ones(cluster.nobody)
        fixed = (limit * ones for limit in (_CPU_PERCENT, _MEMORY_MIB, _DIRECT_MIB))
        self.limits = np.stack((*fixed, nic, nic), axis=1)
        self.names = np.array(cluster.bundles.names, np.object_)
        brokers = cluster.machines.names
        position = {name: i for i, name in enumerate(brokers)}
        for i in np.flatnonzero(cluster.is_registered).tolist():
            self._keys.put(brokers[i])
        for name in self._keys.walk():
            self._write(position[name], -60.0, np.zeros(3), np.zeros(4))
        self._follow()

    # -------------------------------------------------------------- what it hears

    def take(self, writes: Writes, was_behind: Flags, counted: Counted) -> None:
        """Take what brokers measured and wrote in a stretch."""
        del was_behind
        fresh = self._counted(counted)
        tick_s = self.simulation.parameters.measuring.tick_s
        ends = (writes.tick + 1) * tick_s
        early = np.array(self.early_ms)[writes.broker]
        for i in np.argsort(ends * 1000.0 - early, kind="stable").tolist():
            broker = int(writes.broker[i])
            if writes.is_fresh[i]:
                self.stats[broker] = fresh[broker]
            self._write(broker, float(ends[i]), writes.usage[i], writes.totals[i])
        self.stats.update(fresh)
        for each in self.listeners:
            each.passed(self.simulation.tick * tick_s)

    def join(self, broker: int) -> None:
        """Meet a broker."""
        self._keys.put(self.cluster.machines.names[broker])
        self.stats[broker] = _NO_STATS
        self._write(broker, self._timetable.now_s, np.zeros(3), np.zeros(4))
        self._follow()

    def drop(self, broker: int) -> None:
        """Lose a broker, with all that it said."""
        self._keys.remove(self.cluster.machines.names[broker])
        time_ms = self.clock.happens(self._timetable.now_s)
        self.view.drop(self.cluster.machines.names[broker])
        for each in self.listeners:
            each.left(time_ms, broker)
        self._follow()

    def recompute(self, times: int) -> None:
        """Feed every average so many samples more, and store them."""
        time_ms = self.clock.happens(self._timetable.now_s)
        for _ in range(times):
            self.view.recompute()
        for each in self.listeners:
            each.flushed(time_ms, self.view)

    def forget(self, bundle: int) -> None:
        """Go on with a bundle that is no more until its broker's next report leaves it out."""

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note a change of owner."""
        name = self.cluster.bundles.names[bundle]
        self.view.own.discard(name)
        if target >= 0 and target == self.simulation.chief:
            self.view.own.add(name)
        time_ms = self.clock.happens(self._timetable.now_s)
        for each in self.listeners:
            each.owned(time_ms, bundle, source, target)

    def preallocate(self, bundle: int, broker: int) -> None:
        """Give a bundle to a broker that does not report it yet."""
        names = self.cluster.bundles.names[bundle], self.cluster.machines.names[broker]
        self.view.give(*names)

    def meet(self, bundle: int) -> None:
        """Make averages of a bundle that is to be placed and is not known."""
        self.view.meet(self.cluster.bundles.names[bundle])

    def unloaded(self, bundle: int, time_s: float) -> None:
        """Remember when a bundle was unloaded, and tell that it was."""
        time_ms = self.clock.happens(self.acts_s)
        self.view.recently_unloaded[self.cluster.bundles.names[bundle]] = time_ms / 1000.0
        source, took_s = int(self.cluster.owner[bundle]), time_s - self.acts_s
        unloading = Unloading(time_ms, bundle, source, self.target, took_s)
        for each in self.listeners:
            each.unloading(unloading)
        self.target, self.acts_s = None, time_s
        self.clock.unseen_ms = round(took_s * 1000.0)

    def start_anew(self) -> None:
        """Be another broker."""
        # Loads are laid out in the view's order, which may be another one.
        self.order = self._positions(self._keys.walk())
        self.view.preallocated.by_broker.clear()
        self.view.recently_unloaded.clear()
        self.follow_leader(self.clock.happens(self._timetable.now_s))

    def follow_leader(self, time_ms: int) -> None:
        """Set who leads from some time on, and have the view know what it owns itself."""
        chief = self.simulation.chief
        self.view.own = {self.cluster.bundles.names[i] for i in self.cluster.owned(chief).tolist()}
        self.clock.unseen_ms = 0
        for each in self.listeners:
            each.elected(time_ms, chief)

    # -------------------------------------------------------------- what it shows

    def known(self) -> tuple[str, ...]:
        """Return the brokers that it knows, in the order of its map."""
        return self.view.order()

    def load(self, unloaded_before_s: float) -> ClusterLoad:
        """Return what it knows."""
        grace_s = self.simulation.settings.grace_period_s
        self.acts_s, self.target = unloaded_before_s + grace_s, None
        time_ms = self.clock.happens(self.acts_s)
        self.view.forget_unloads_before(time_ms / 1000.0 - grace_s)
        release = self.simulation.balancer.release
        return cluster_load(self.view, lambda bundle: is_system_bundle(bundle, release))

    def load_for_placement(self) -> ClusterLoad:
        """Return the load of brokers, without what only shedding asks."""
        return broker_load(self.view)

    def candidates(self, bundle: int, distributes_evenly: bool) -> tuple[Ints, Ints]:
        """Return everybody, and whom even distribution leaves; positions in the load."""
        view, place = self.view, self.view.rank()
        everybody = np.array([place[name] for name in view.set_order()], np.int64)
        if not distributes_evenly:
            return everybody, everybody
        left = view.brokers_with_fewest(namespace(self.cluster.bundles.names[bundle]))
        return everybody, np.array([place[name] for name in left], np.int64)

    def selecting(self) -> int:
        """Return the stamp of a selection."""
        return self.clock.happens(self.acts_s)

    @property
    def _timetable(self) -> ClockedTimetable:
        timetable = self.simulation.timetable
        assert isinstance(timetable, ClockedTimetable)
        return timetable

    def _counted(self, counted: Counted) -> dict[int, tuple[Ints, Floats, Floats]]:
        """Return what was counted, by broker."""
        listed = np.flatnonzero(counted.is_listed)
        server = self.cluster.server[counted.bundles[listed]]
        listed = listed[np.argsort(server, kind="stable")]
        closing = np.flatnonzero(counted.tick >= 0)
        server = np.sort(server)
        ends = np.searchsorted(server, closing, side="right").tolist()
        starts = np.searchsorted(server, closing, side="left").tolist()
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
        for each in self.listeners:
            each.wrote(Write(time_ms, broker, report))

    def report(self, broker: int, usage: Floats, totals: Floats) -> Report:
        """Return the report of a broker.

        Args:
            broker: its position.
            usage: (3,) percent of CPU, NIC in and NIC out.
            totals: (4,) messages/s in and out, bytes/s in and out.
        """
        bundles, rate_in, rate_out = self.stats[broker]
        size = self.cluster.bundles.message_bytes[bundles]
        topics = self.cluster.bundles.topics[bundles]
        columns = (rate_in, rate_out, rate_in * size, rate_out * size, topics)
        measuring = self.simulation.parameters.measuring
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
            samples=np.stack(columns, axis=1),
        )

    def _follow(self) -> None:
        """Walk brokers as the view does."""
        self.order = self._positions(self.view.order())

    def _positions(self, brokers: Iterable[str]) -> Ints:
        position = {name: i for i, name in enumerate(self.cluster.machines.names)}
        return np.array([position[name] for name in brokers], np.int64)
