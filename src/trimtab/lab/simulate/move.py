"""Moving one bundle: what it costs, who notices, and what is written down about it."""

from __future__ import annotations

import math
from typing import NamedTuple

from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import Move
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Handover, Lookup
from trimtab.pulsar.model import Floats


def unload_s(simulation: Simulation, source: int) -> float:
    """Return how long the leader waits for an unload, drawn; a starved owner is slow."""
    clients = simulation.parameters.clients
    drawn = float(simulation.random.uniform(*clients.unload_s))
    usage = float(simulation.truth().usage[source])
    idle, idle_then = 100.0 - usage, 100.0 - clients.starved_from
    factor = idle_then / idle if idle > 0 else math.inf
    took_s = drawn * min(max(factor, 1.0), clients.starved_factor_max)
    return min(took_s, simulation.unload_timeout_s)


def gap_s(simulation: Simulation) -> float:
    """Return for how long clients have no broker after an unload with a destination, drawn."""
    clients = simulation.parameters.clients
    typical = math.log(clients.gap_s_median - clients.gap_s_min)
    return clients.gap_s_min + float(simulation.random.lognormal(typical, clients.gap_deviation))


def lookup_gap_s(simulation: Simulation) -> float:
    """Return the same for one without a destination."""
    return float(simulation.random.uniform(*simulation.parameters.clients.lookup_gap_s))


class Moment(NamedTuple):
    """When something is unloaded."""

    time_s: float
    #: Number of the round; -1 for none.
    round: int


def described(simulation: Simulation, at: Handover | Lookup, chosen: Chosen, when: Moment) -> Move:
    """Return a move with usage before and after it by the traffic of the last minute.

    The last minute is changed, so that the next move finds this one done.
    """
    truth = simulation.truth()
    source, target = at.source, chosen.broker
    before = _usage(truth.usage, source), float(truth.usage[target])
    truth.move(at.bundle, source, target)
    after = _usage(truth.usage, source), float(truth.usage[target])
    return Move(
        time_s=when.time_s,
        round=when.round,
        bundle=at.bundle,
        source=source,
        target=target,
        source_before=before[0],
        source_after=after[0],
        target_before=before[1],
        target_after=after[1],
        source_end=after[0],
        target_end=after[1],
        mean=math.nan,
        outage_s=at.gap_s,
        traffic_share=truth.share(at.bundle),
        is_fallback=chosen.is_fallback,
    )


def _usage(usage: Floats, broker: int) -> float:
    """Return a broker's usage; that of nobody is not a number."""
    return float(usage[broker]) if broker >= 0 else math.nan


def settled(simulation: Simulation, moves: list[Move]) -> None:
    """Add to moves what usage is when all of them are done."""
    usage, cluster = simulation.truth().usage, simulation.cluster
    mean = float(usage[cluster.is_up].mean()) if cluster.is_up.any() else math.nan
    for move in moves:
        if move.source >= 0:
            move.source_end = float(usage[move.source])
        move.target_end = float(usage[move.target])
        move.mean = mean


def hand_over(simulation: Simulation, time_s: float, due: Handover) -> None:
    """Let a bundle go from its owner to the new one, if both are still what they were."""
    cluster, leader = simulation.cluster, simulation.leader
    if cluster.owner[due.bundle] != due.source:
        simulation.records.count("overtaken")
        return
    if not cluster.is_registered[due.target]:
        lookup = Lookup(due.bundle, due.source, time_s, lookup_gap_s(simulation))
        simulation.timetable.enter(time_s, lookup)
        return
    cluster.give(due.bundle, due.target, time_s + due.gap_s)
    leader.move(due.bundle, due.source, due.target)
    if due.move is not None:
        simulation.records.moves.append(due.move)


def look_up(simulation: Simulation, time_s: float, due: Lookup) -> None:
    """Give a bundle an owner because a client asks for it."""
    cluster, leader = simulation.cluster, simulation.leader
    if cluster.owner[due.bundle] != due.source:
        simulation.records.count("overtaken")
        return
    chosen = None
    if leader.order.size:
        leader.meet(due.bundle)
        chosen = _looked_up(simulation, time_s, due.bundle)
    if chosen is None:
        # Clients ask again; a broker that leaves goes without them.
        cluster.give(due.bundle, -1, math.inf)
        leader.move(due.bundle, due.source, -1)
        again = Lookup(due.bundle, -1, due.since_s, due.gap_s)
        simulation.timetable.enter(time_s + simulation.records.tick_s, again)
        simulation.records.count("lookups in vain")
        return
    serve_s = time_s + due.gap_s
    if chosen.broker == due.source:
        simulation.records.count("unloads that came back")
    else:
        moved = Handover(due.bundle, due.source, chosen.broker, serve_s - due.since_s)
        move = described(simulation, moved, chosen, Moment(time_s, due.round))
        settled(simulation, [move])
        simulation.records.moves.append(move)
    cluster.give(due.bundle, chosen.broker, serve_s)
    leader.move(due.bundle, due.source, chosen.broker)
    leader.preallocate(due.bundle, chosen.broker)
    simulation.records.count("lookups")


def _looked_up(simulation: Simulation, time_s: float, bundle: int) -> Chosen | None:
    """Return who gets a bundle that a client asks for."""
    if simulation.steering is not None and simulation.steers_placement:
        return simulation.steering.place(time_s, bundle)
    return simulation.placing.choose(simulation.leader.load_for_placement(), bundle)
