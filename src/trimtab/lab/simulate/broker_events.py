"""What happens to brokers: they join, leave and are killed, lead, and are made to differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from trimtab.lab.simulate.move import Moment, described, gap_s, lookup_gap_s, settled, unload_s
from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Exit, Flush, Handover, Lookup, Round, SessionEnd
from trimtab.lab.simulate.world import Event, Kind
from trimtab.lab.steering import Change, Member


def happen(simulation: Simulation, time_s: float, event: Event) -> None:
    """Let an event of the scenario happen."""
    simulation.records.count(f"events: {event.kind}")
    _HAPPENINGS[event.kind](simulation, time_s, event)


def elect(simulation: Simulation, time_s: float, wanted: int = -1) -> None:
    """Make the wanted broker the leader, or the first that runs if it does not."""
    there = np.flatnonzero(simulation.cluster.reports)
    if there.size == 0:
        simulation.chief = -1
        return
    simulation.chief = wanted if wanted in there else int(there[0])
    if simulation.term > 0:
        simulation.leader.start_anew()
        simulation.strategies.reset()
    simulation.term += 1
    settings = simulation.settings
    simulation.timetable.enter(time_s + simulation.round_s, Round(simulation.term))
    simulation.timetable.enter(time_s + settings.averages_interval_s, Flush(simulation.term))
    simulation.records.count("elections")


def end_session(simulation: Simulation, time_s: float, due: SessionEnd) -> None:
    """Notice that a broker is gone, unless it has been started again since."""
    cluster = simulation.cluster
    is_back = cluster.is_up[due.broker] or cluster.started[due.broker] != due.started
    if is_back or not cluster.is_registered[due.broker]:
        return
    owned = cluster.owned(due.broker)
    _deregister(simulation, time_s, due.broker)
    for bundle in owned.tolist():
        cluster.give(bundle, -1, math.inf)
        simulation.leader.move(bundle, due.broker, -1)
        since_s = simulation.killed_s[due.broker]
        lookup = Lookup(bundle, -1, since_s, lookup_gap_s(simulation))
        simulation.timetable.enter(time_s, lookup)


def _join(simulation: Simulation, time_s: float, event: Event) -> None:
    cluster = simulation.cluster
    for broker in event.subjects:
        if cluster.is_registered[broker] and not cluster.is_up[broker]:
            end_session(simulation, time_s, SessionEnd(broker, int(cluster.started[broker])))
        if cluster.is_registered[broker]:
            simulation.records.count("joins of a broker that is there")
            continue
        if cluster.is_up[broker]:
            # It is still leaving.
            simulation.timetable.enter(time_s + 1.0, Event(time_s, Kind.JOIN, (broker,)))
            continue
        was_there = cluster.started[broker] > 0 or bool(simulation.world.machines.is_up[broker])
        came = Change.RETURN if was_there else Change.JOIN
        simulation.members.append(Member(time_s, broker, came))
        cluster.start(broker, simulation.tick)
        simulation.windows.start(broker, simulation.tick)
        simulation.reports.start(broker, simulation.tick)
        simulation.leader.join(broker)
        simulation.records.count("reports")
        simulation.strategies.forget(simulation.leader.known())
        if simulation.chief < 0:
            elect(simulation, time_s, broker)


def _leave(simulation: Simulation, time_s: float, event: Event) -> None:
    cluster = simulation.cluster
    for broker in event.subjects:
        if not cluster.reports[broker]:
            simulation.records.count("leaves of a broker that is not there")
            continue
        _deregister(simulation, time_s, broker)
        at_s = time_s
        for bundle in cluster.owned(broker).tolist():
            lookup = Lookup(bundle, broker, at_s, lookup_gap_s(simulation))
            simulation.timetable.enter(at_s, lookup)
            at_s += unload_s(simulation, broker)
        simulation.timetable.enter(at_s, Exit(broker))


def _kill(simulation: Simulation, time_s: float, event: Event) -> None:
    cluster = simulation.cluster
    for broker in event.subjects:
        if not cluster.reports[broker]:
            simulation.records.count("kills of a broker that is not there")
            continue
        cluster.stop(broker)
        simulation.killed_s[broker] = time_s
        if broker == simulation.chief:
            simulation.term += 1
        session_s = float(simulation.random.uniform(*simulation.parameters.clients.session_s))
        ended = SessionEnd(broker, int(cluster.started[broker]))
        simulation.timetable.enter(time_s + session_s, ended)


def _deregister(simulation: Simulation, time_s: float, broker: int) -> None:
    """Take a broker out of the registry; the cluster hears of it at once."""
    cluster = simulation.cluster
    cluster.is_registered[broker] = False
    simulation.members.append(Member(time_s, broker, Change.LEAVE))
    simulation.leader.drop(broker)
    simulation.strategies.forget(simulation.leader.known())
    if broker == simulation.chief:
        elect(simulation, time_s)


def _background(simulation: Simulation, time_s: float, event: Event) -> None:
    del time_s
    simulation.cluster.extra[list(event.subjects)] += event.value
    # Flows that have been worked out ahead hold no more.
    simulation.cluster.version += 1


def _capacity(simulation: Simulation, time_s: float, event: Event) -> None:
    del time_s
    simulation.cluster.capacity[list(event.subjects)] *= event.value
    simulation.cluster.version += 1


def _lead(simulation: Simulation, time_s: float, event: Event) -> None:
    there = np.flatnonzero(simulation.cluster.reports)
    others = (*event.subjects, *there[there != simulation.chief].tolist())
    elect(simulation, time_s, others[0] if others else -1)


def _split(simulation: Simulation, time_s: float, event: Event) -> None:
    cluster, leader = simulation.cluster, simulation.leader
    for parent in event.subjects:
        if parent in simulation.parents:
            simulation.records.count("splits of a bundle that is no more")
            continue
        simulation.parents.add(parent)
        owner = int(cluster.owner[parent])
        leader.forget(parent)
        cluster.give(parent, -1, math.inf)
        for half in simulation.halves[parent]:
            # Pulsar unloads the halves right after (loadBalancerAutoUnloadSplitBundlesEnabled).
            cluster.give(half, owner, time_s)
            lookup = Lookup(half, owner, time_s, lookup_gap_s(simulation))
            simulation.timetable.enter(time_s, lookup)
        simulation.records.count("splits")


def _unload(simulation: Simulation, time_s: float, event: Event) -> None:
    """Hand bundles over by hand; the leader does not leave them alone for it."""
    cluster, target = simulation.cluster, int(event.value)
    for bundle in event.subjects:
        source = int(cluster.owner[bundle])
        is_served = source >= 0 and cluster.is_up[source]
        if not is_served or not cluster.is_up[target] or source == target:
            simulation.records.count("unloads by hand in vain")
            continue
        gap = max(gap_s(simulation), unload_s(simulation, source))
        due = Handover(bundle, source, target, gap)
        move = described(simulation, due, Chosen(target, is_fallback=False), Moment(time_s, -1))
        settled(simulation, [move])
        simulation.timetable.enter(time_s, replace(due, move=move))


def _shedding(simulation: Simulation, time_s: float, event: Event) -> None:
    del time_s
    simulation.sheds = event.value != 0


_HAPPENINGS: Mapping[Kind, Callable[[Simulation, float, Event], None]] = {
    Kind.JOIN: _join,
    Kind.LEAVE: _leave,
    Kind.KILL: _kill,
    Kind.BACKGROUND: _background,
    Kind.CAPACITY: _capacity,
    Kind.LEADER: _lead,
    Kind.SPLIT: _split,
    Kind.UNLOAD: _unload,
    Kind.SHEDDING: _shedding,
}
