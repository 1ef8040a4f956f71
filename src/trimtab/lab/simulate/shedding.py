"""A round of shedding: the strategy names bundles, the leader moves them one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trimtab.lab.simulate.move import Moment, described, gap_s, lookup_gap_s, settled, unload_s
from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import Move, RoundRecord
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Handover, Lookup
from trimtab.pulsar.map_order import HashMapKeys
from trimtab.pulsar.model import (
    ClusterLoad,
    LostRoundError,
    NoCandidatesError,
    Unload,
    UnreportedCandidateError,
)


class Order(NamedTuple):
    """A bundle that is to go from its owner to another broker."""

    bundle: int
    source: int
    chosen: Chosen


def shed(simulation: Simulation, time_s: float) -> RoundRecord:
    """Run one round.

    Quirks:
        The leader unloads one bundle after the other and waits for each, so a round lasts
        as long as its unloads, and the next begins an interval after its end.
        All choices of a round see the same load, which knows nothing of its moves.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, 4.0.8; read.
    """
    leader, records = simulation.leader, simulation.records
    number = len(records.rounds)
    scores = np.full(simulation.cluster.nobody, np.nan, np.float32)
    if simulation.strategies.shedder is None or not simulation.sheds:
        return RoundRecord(number, time_s, scores)
    if leader.order.size <= 1:
        records.count("rounds of a single broker")
        return RoundRecord(number, time_s, scores)
    load = leader.load(time_s - simulation.settings.grace_period_s)
    try:
        decision = simulation.strategies.shed(load)
    except LostRoundError as lost:
        return RoundRecord(number, time_s, scores, error=lost.throws)
    scores[leader.order] = decision.scores
    error, moves, end_s = "", list[Move](), time_s
    try:
        for unload in _walked(decision.unloads):
            end_s = _unload(simulation, load, unload, Moment(end_s, number), moves)
    except (UnreportedCandidateError, NoCandidatesError) as thrown:
        error = type(thrown).__name__
    simulation.strategies.completed()
    if moves:
        settled(simulation, moves)
    return RoundRecord(
        number=number,
        time_s=time_s,
        duration_s=end_s - time_s,
        planned=len(decision.unloads),
        moved=len(moves),
        average=decision.average,
        scores=scores,
        error=error,
    )


def _walked(unloads: Iterable[Unload]) -> tuple[Unload, ...]:
    """Return unloads as the leader walks them: by source, in the order of a hash map."""
    groups: dict[str, list[Unload]] = {}
    for unload in unloads:
        groups.setdefault(unload.source, []).append(unload)
    sources = HashMapKeys()
    for source in groups:
        sources.put(source)
    return tuple(unload for source in sources.walk() for unload in groups[source])


def _unload(
    simulation: Simulation,
    load: ClusterLoad,
    unload: Unload,
    now: Moment,
    moves: list[Move],
) -> float:
    """Choose where a bundle goes, and unload it; return when the leader goes on."""
    time_s, records = now.time_s, simulation.records
    bundle = simulation.bundle_at[unload.bundle]
    source = simulation.broker_at[unload.source]
    if not simulation.chooses_before_unload:
        return unloaded_for_lookup(simulation, bundle, now)
    chosen = simulation.placing.choose(load, bundle)
    if chosen is None:
        records.count("no broker available")
        return time_s
    if chosen.broker == source:
        records.count("destination is the owner")
        return time_s
    return unloaded(simulation, load, Order(bundle, source, chosen), now, moves)


def unloaded(
    simulation: Simulation,
    load: ClusterLoad | None,
    order: Order,
    now: Moment,
    moves: list[Move],
) -> float:
    """Unload a bundle to where it is to go; return when the leader goes on.

    Without a load nothing goes astray: whoever is looked up goes where it was to go.
    """
    bundle, source, chosen = order
    time_s, records = now.time_s, simulation.records
    owner = int(simulation.cluster.owner[bundle])
    took_s = _waited_s(simulation, source)
    records.count("unloads")
    simulation.leader.unloaded(bundle, time_s + took_s)
    if owner < 0 or not simulation.cluster.is_up[owner]:
        records.count("unloads of a bundle that nobody serves")
        return time_s + took_s
    if load is not None:
        chosen = _astray(simulation, load, bundle, chosen)
    if chosen.broker == owner:
        records.count("unloads that came back")
        return time_s + took_s
    # The owner serves it no more as soon as it begins to unload.
    due = Handover(bundle, owner, chosen.broker, max(gap_s(simulation), took_s))
    moves.append(described(simulation, due, chosen, now))
    simulation.timetable.enter(time_s, replace(due, move=moves[-1]))
    return time_s + took_s


def unloaded_for_lookup(simulation: Simulation, bundle: int, now: Moment) -> float:
    """Unload a bundle and let the next lookup decide, as releases before 3.0.7 do."""
    time_s = now.time_s
    owner = int(simulation.cluster.owner[bundle])
    took_s = _waited_s(simulation, owner) if owner >= 0 else 0.0
    simulation.records.count("unloads")
    simulation.leader.unloaded(bundle, time_s + took_s)
    if owner >= 0 and simulation.cluster.is_up[owner]:
        lookup = Lookup(bundle, owner, time_s, lookup_gap_s(simulation), now.round)
        simulation.timetable.enter(time_s + took_s, lookup)
    return time_s + took_s


def _waited_s(simulation: Simulation, source: int) -> float:
    """Return how long the leader waits for an unload; for its first one, longer."""
    took_s = unload_s(simulation, source)
    if simulation.unloaded_term == simulation.term:
        return took_s
    simulation.unloaded_term = simulation.term
    first_s = simulation.parameters.clients.first_unload_s
    return min(took_s + first_s, simulation.unload_timeout_s)


def _astray(simulation: Simulation, load: ClusterLoad, bundle: int, choice: Chosen) -> Chosen:
    """Return where a bundle goes; for a few, where another lookup puts it (apache/pulsar 24884)."""
    if simulation.random.random() >= simulation.parameters.clients.astray_share:
        return choice
    other = simulation.placing.choose(load, bundle)
    if other is None or other.broker == choice.broker:
        return choice
    simulation.records.count("unloads gone astray")
    return other
