"""The leader of the extensible load manager: its rounds of TransferShedder, and its placements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.simulate.extensible.load_data import LoadData
from trimtab.lab.simulate.move import Moment, settled
from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import Move, RoundRecord
from trimtab.lab.simulate.reports import Measured
from trimtab.lab.simulate.shedding import Order, unloaded, unloaded_for_lookup
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.map_order import hash_map_order
from trimtab.pulsar.model import ExtensibleLoad, TransferDecision, Unload
from trimtab.pulsar.place import ExtensiblePlacerEntry, extensible_placer
from trimtab.pulsar.shed import ExtensibleShedderEntry, extensible_shedder

_MS = 1000
#: ms of the leader's clock at the beginning.
BEGIN_MS = 1_000_000_000_000


@dataclass(slots=True)
class _Memory:
    """What a leader remembers, and its successor does not."""

    term: int
    hits: int = 0
    #: Bundle → s, and broker → ms of the leader's clock, of the last unload.
    bundles: dict[int, float] = field(default_factory=dict)
    brokers: dict[str, int] = field(default_factory=dict)


class ExtensibleManager:
    """Steers a simulated cluster as Pulsar's extensible load manager does.

    Quirks:
        A round begins an interval after the one before it began; its unloads run side by side,
        and it waits for all of them.
        A new leader remembers nothing and has no load data until brokers publish theirs,
        which they do when he is elected.

    Source:
        extensions/scheduler/UnloadScheduler.java, ExtensibleLoadManagerImpl.java playLeader,
        4.0.8; read.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Take the wheel.

        Raises:
            LookupError: a class is not in the release.
        """
        balancer = simulation.balancer
        self.simulation = simulation
        self.shedder = _shedder(balancer.shedder, balancer.release)
        self.placer = _placer(balancer.release)
        self.shedder_settings = self.shedder.settings(balancer.conf, balancer.release)
        self.placer_settings = self.placer.settings(balancer.conf, balancer.release)
        simulation.cluster.handovers = []
        simulation.listener = self
        self.loads = LoadData(simulation)
        self.memory = _Memory(simulation.term)
        #: By which load what was decided last; None if nothing was.
        self.decided: tuple[ExtensibleLoad, TransferDecision] | None = None

    def passed(self, measured: Measured, first: int, end: int) -> None:
        """Take what brokers measured in a stretch of ticks."""
        self._lead(first * self.simulation.parameters.measuring.tick_s)
        self.loads.passed(measured, first, end)

    def round(self, time_s: float) -> RoundRecord:
        """Run a round of TransferShedder."""
        simulation, records = self.simulation, self.simulation.records
        number = len(records.rounds)
        scores = np.full(simulation.cluster.nobody, np.nan, np.float32)
        self.decided = None
        if not simulation.sheds:
            return RoundRecord(number, time_s, scores)
        if np.count_nonzero(simulation.cluster.is_registered) <= 1:
            records.count("rounds of a single broker")
            return RoundRecord(number, time_s, scores)
        self._lead(time_s)
        load, memory = self.load(time_s), self.memory
        decision, hits = self.shedder.shed(load, memory.hits, self.shedder_settings)
        self.decided, memory.hits = (load, decision), hits
        for broker in decision.rested:
            memory.brokers.pop(broker, None)
        has_load = self.loads.has_load
        scores[has_load] = self.loads.published[has_load, 0] * 100.0
        unloads = [unload for transfer in decision.transfers for unload in transfer.unloads]
        moves: list[Move] = []
        end_s = max(
            (self._unload(each, Moment(time_s, number), moves) for each in unloads), default=time_s
        )
        if moves:
            settled(simulation, moves)
        return RoundRecord(
            number=number,
            time_s=time_s,
            scores=scores,
            duration_s=end_s - time_s,
            planned=len(unloads),
            moved=len(moves),
            average=decision.average * 100.0,
            reason=str(decision.skipped or ""),
        )

    def place(self, time_s: float, bundle: int) -> Chosen | None:
        """Return who gets a bundle that a client looks up; None if there is nobody."""
        del bundle
        simulation = self.simulation
        registered = np.flatnonzero(simulation.cluster.is_registered)
        if not registered.size:
            return None
        names = [simulation.world.machines.names[i] for i in registered.tolist()]
        load = self.load(time_s)
        position = {name: i for i, name in enumerate(load.brokers)}
        candidates = np.array([position[name] for name in hash_map_order(names)], np.int64)
        placement = self.placer.place(load, candidates, self.placer_settings)
        drawn = placement.best[simulation.placing.random.integers(placement.best.size)]
        return Chosen(simulation.broker_at[load.brokers[int(drawn)]], placement.is_fallback)

    def load(self, time_s: float) -> ExtensibleLoad:
        """Return what the leader has before it."""
        simulation, loads = self.simulation, self.loads
        loads.members_changed(simulation.tick)
        names, at = simulation.world.machines.names, simulation.broker_at
        is_registered = simulation.cluster.is_registered
        walked = [at[name] for name in loads.keys.walk()]
        others = [i for i in np.flatnonzero(is_registered).tolist() if not loads.has_load[i]]
        order = np.array([*walked, *others], np.int64)
        listed = [
            (place, bundle, inward, outward)
            for place, broker in enumerate(order.tolist())
            for bundle, inward, outward in _rows(loads, broker)
        ]
        bundles = np.array([row[1] for row in listed], np.int64)
        bundle_broker = np.array([row[0] for row in listed], np.int64)
        owner, left_alone = simulation.cluster.owner, self._left_alone(time_s)
        published = np.where(loads.has_load[order][:, None], loads.published[order], 0.0)
        return ExtensibleLoad(
            brokers=tuple(names[i] for i in order.tolist()),
            has_load_data=loads.has_load[order],
            is_available=is_registered[order],
            usage=published[:, 0],
            throughput_smoothed=published[:, 1],
            throughput_in=published[:, 2],
            throughput_out=published[:, 3],
            updated_at_ms=np.where(loads.has_load[order], _ms(loads.updated_s[order]), 0),
            now_ms=int(_ms(np.array(time_s))),
            bundles=tuple(simulation.world.bundles.names[i] for i in bundles.tolist()),
            bundle_broker=bundle_broker,
            bundle_throughput_in=np.array([row[2] for row in listed], np.float64),
            bundle_throughput_out=np.array([row[3] for row in listed], np.float64),
            bundle_is_sheddable=np.array(
                [
                    owner[b] == order[place] and b not in left_alone
                    for place, b in zip(bundle_broker.tolist(), bundles.tolist(), strict=True)
                ],
                np.bool_,
            ),
            bundle_has_policy=np.zeros(bundles.size, np.bool_),
            unloaded_at_ms=dict(self.memory.brokers),
        )

    def _left_alone(self, time_s: float) -> set[int]:
        """Return the bundles that were unloaded just now."""
        over_s = time_s - self.simulation.settings.grace_period_s
        self.memory.bundles = {b: s for b, s in self.memory.bundles.items() if s >= over_s}
        return set(self.memory.bundles)

    def _lead(self, time_s: float) -> None:
        """Begin anew if another broker leads now."""
        if self.memory.term != self.simulation.term:
            # Whoever began to lead before anything was published has nothing to be told anew.
            is_another = self.memory.term > 0
            self.memory = _Memory(self.simulation.term)
            if is_another:
                self.loads.publish_all(time_s)

    def _unload(self, unload: Unload, now: Moment, moves: list[Move]) -> float:
        """Unload a bundle, and return when that is done."""
        simulation, memory = self.simulation, self.memory
        bundle, source = simulation.bundle_at[unload.bundle], simulation.broker_at[unload.source]
        if unload.target is None:
            end_s = unloaded_for_lookup(simulation, bundle, now)
        else:
            chosen = Chosen(simulation.broker_at[unload.target], is_fallback=False)
            end_s = unloaded(simulation, None, Order(bundle, source, chosen), now, moves)
        memory.bundles[bundle] = end_s
        done = int(_ms(np.array(end_s)))
        memory.brokers[unload.source] = max(done, memory.brokers.get(unload.source, done))
        return end_s


def _rows(loads: LoadData, broker: int) -> list[tuple[int, float, float]]:
    """Return the bundles that a broker published, with bytes/s in and out."""
    top = loads.tops.get(broker)
    return (
        []
        if top is None
        else list(zip(top.bundles, top.throughput_in, top.throughput_out, strict=True))
    )


def _ms(
    time_s: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the leader's clock at a time."""
    return BEGIN_MS + np.round(time_s * _MS).astype(np.int64)


def _shedder(name: str | None, release: str) -> ExtensibleShedderEntry:
    entry = None if name is None else extensible_shedder(name, release)
    if entry is None:
        raise LookupError(f"{name} is not in {release}")
    return entry


def _placer(release: str) -> ExtensiblePlacerEntry:
    entry = extensible_placer("ExtensionsLeastResourceUsageWithWeight", release)
    if entry is None:
        raise LookupError(f"the extensible load manager is not in {release}")
    return entry
