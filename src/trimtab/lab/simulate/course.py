"""A simulation that is held to what happened: bundles move as told, and the leader looks on.

At any time it may be let go.  The leader then knows and remembers what a leader knows that
has lived through all of it: averages, smoothed usage, counters and bundles just unloaded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.run import begin, do
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Flush, Handover, Lookup, Round
from trimtab.lab.simulate.world import Event, Kind
from trimtab.pulsar.model import Decision, Floats, LostRoundError


@dataclass(frozen=True, slots=True)
class Moved:
    """A bundle got an owner."""

    time_s: float
    bundle: int
    broker: int
    #: The leader unloaded it, so that it is left alone for the grace period.
    is_shed: bool


@dataclass(frozen=True, slots=True)
class Course:
    """What happened to a cluster, as far as its leader and its clients did it."""

    #: s at which the first leader was elected, which may be below 0, and who.
    elected_s: float
    leader: int
    #: In order of time.
    moves: tuple[Moved, ...]
    #: s at which the leader's rounds began, in order, and for how long each waited for unloads.
    round_s: tuple[float, ...]
    waited_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LookedOn:
    """What the leader would have done in a round."""

    time_s: float
    #: None: there was one broker, or the class threw.
    decision: Decision | None
    #: (n_brokers,) the strategy's score; NaN for a broker that the leader does not know.
    scores: Floats


def rounds_of_course(simulation: Simulation, course: Course, until_s: float) -> Iterator[LookedOn]:
    """Yield, at each round of a recorded course, what the leader would have done.

    The leader decides and remembers, but nothing is unloaded; who is looked up gets the
    owner that he got.  At `until_s` the simulation is let go; `run.going_on` may take over.
    """
    begin(simulation, course.elected_s, course.leader)
    rounds, moves = deque(course.round_s), deque(course.moves)
    while True:
        round_s = rounds[0] if rounds else until_s
        move_s = moves[0].time_s if moves else until_s
        time_s = min(round_s, move_s)
        if time_s >= until_s:
            break
        _pass(simulation, time_s)
        while rounds and rounds[0] <= time_s:
            yield _looked_on(simulation, rounds.popleft())
        # Thousands are told of one moment.
        while moves and moves[0].time_s <= time_s:
            _give(simulation, moves.popleft())
    _pass(simulation, until_s)
    _let_go(simulation, until_s, _next_round_s(simulation, course, until_s))


def _next_round_s(simulation: Simulation, course: Course, time_s: float) -> float:
    """Return when the leader's next round begins: as told, else as its clock goes on.

    It sheds an interval after it was elected, and an interval after the end of each round.
    """
    later = [round_s for round_s in course.round_s if round_s >= time_s]
    if later:
        return later[0]
    interval_s = simulation.settings.shedding_interval_s
    elections = [
        event.time_s
        for event in simulation.world.events
        if event.kind is Kind.LEADER and event.time_s <= time_s
    ]
    waits = zip(course.round_s, course.waited_s, strict=False)
    last_s = max([course.elected_s, *elections, *course.round_s, *map(sum, waits)])
    return last_s + interval_s * (1.0 + max(0.0, (time_s - last_s) // interval_s))


def _pass(simulation: Simulation, time_s: float) -> None:
    """Let pass what nobody decides: brokers come and go, leaders are elected."""
    while (due := simulation.timetable.next(time_s)) is not None:
        simulation.pass_until(due[0])
        # An unload by hand is among the moves that are told.
        is_unload = isinstance(due[1], Event) and due[1].kind == Kind.UNLOAD
        if not (isinstance(due[1], Round | Lookup | Handover) or is_unload):
            do(simulation, *due)
    simulation.pass_until(time_s)


def _give(simulation: Simulation, move: Moved) -> None:
    """Give a bundle the owner that it got."""
    cluster, leader = simulation.cluster, simulation.leader
    if move.is_shed:
        leader.unloaded(move.bundle, move.time_s)
        simulation.unloaded_term = simulation.term
    source = int(cluster.owner[move.bundle])
    if source == move.broker or not cluster.is_up[move.broker]:
        return
    gap_s = simulation.parameters.clients.gap_s_median
    cluster.give(move.bundle, move.broker, move.time_s + gap_s)
    leader.move(move.bundle, source, move.broker)


def _looked_on(simulation: Simulation, time_s: float) -> LookedOn:
    """Return what the leader decides; nothing is unloaded."""
    leader, strategies = simulation.leader, simulation.strategies
    scores = np.full(simulation.cluster.nobody, np.nan)
    if strategies.shedder is None or leader.order.size <= 1:
        return LookedOn(time_s, None, scores)
    try:
        decision = strategies.shed(leader.load(time_s - simulation.settings.grace_period_s))
    except LostRoundError:
        return LookedOn(time_s, None, scores)
    strategies.completed()
    scores[leader.order] = decision.scores
    return LookedOn(time_s, decision, scores)


def _let_go(simulation: Simulation, time_s: float, next_s: float) -> None:
    """Let the leader act from now on: its next round is at a time."""
    settings = simulation.settings
    for bundle in np.flatnonzero(simulation.cluster.owner < 0).tolist():
        simulation.timetable.enter(time_s, Lookup(bundle, -1, time_s, 0.0))
    # What was entered for the leader that looked on is of a term that is over; if it has
    # unloaded before, it still has.
    has_unloaded = simulation.unloaded_term == simulation.term
    simulation.term += 1
    simulation.unloaded_term = simulation.term if has_unloaded else simulation.unloaded_term
    simulation.timetable.enter(next_s, Round(simulation.term))
    flush_s = time_s + settings.averages_interval_s
    simulation.timetable.enter(flush_s, Flush(simulation.term))
