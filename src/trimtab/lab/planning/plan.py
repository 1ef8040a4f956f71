"""A cluster that is to be relieved → how low it may come, which moves are worth it, what stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.frontier import NO_MOVES, Frontier, Moves, Question, frontier
from trimtab.lab.planning.columns import Column, steady
from trimtab.lab.planning.course import Course, course, in_order
from trimtab.lab.planning.draws import drawn_peaks
from trimtab.lab.planning.obstacle import Obstacle, obstacle
from trimtab.lab.planning.recommend import Recommendation, interval, recommended
from trimtab.pulsar.model import Flags, Floats, Ints

#: What is drawn is drawn from here, so that the same cluster gives the same plan.
_SEED = 20
# Brokers that no move helps and that are left aside, one after the other.
_ASIDE_MAX = 8
# Points that are worth no mention.
_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a plan."""

    moves_max: int
    #: Points by which a move must bring the peak down.
    gain_min: float = 1.0
    #: No move whose gain is within its own uncertainty.
    only_if_sure: bool = True


@dataclass(frozen=True, slots=True)
class Restraints:
    """What may not be done, whatever it brings."""

    #: (n_brokers,) may take bundles, and up to how many percent.
    takes: Flags
    ceiling: Floats
    #: (n_bundles,) may be moved; row of `allowed`, (n_kinds, n_brokers) who may have the kind.
    is_movable: Flags
    kind: Ints
    allowed: Flags


def unrestrained(n_brokers: int, n_bundles: int) -> Restraints:
    """Return restraints under which everything may go everywhere."""
    return Restraints(
        takes=np.ones(n_brokers, np.bool_),
        ceiling=np.full(n_brokers, np.inf),
        is_movable=np.ones(n_bundles, np.bool_),
        kind=np.zeros(n_bundles, np.int64),
        allowed=np.ones((1, n_brokers), np.bool_),
    )


@dataclass(frozen=True, slots=True)
class Planned:
    """How low the peak comes with each number of moves, and which are worth making."""

    question: Question
    columns: tuple[Column, ...]
    frontier: Frontier
    #: (moves_max + 1,) between what the peak lies in nine of ten cases.
    low: Floats
    high: Floats
    recommendation: Recommendation
    #: Those worth making, in the order in which the peak falls soonest.
    moves: Moves
    course: Course
    #: Brokers that no move helps, and the one that is highest in the end, with why.
    aside: tuple[Obstacle, ...]
    last: Obstacle | None


def planned(columns: Sequence[Column], owner: Ints, restraints: Restraints, wish: Wish) -> Planned:
    """Return the moves worth making.

    Brokers that no move brings down do not keep the others from being relieved: they are left
    aside and named.  One whose usage is not known is left alone.

    Args:
        columns: what may be full of brokers.
        owner: (n_bundles,) positions; -1 is nobody.
        restraints: what may not be done.
        wish: what is wanted.

    Properties:
        The same arguments give the same plan.
    """
    question, curve, aside = _relievable(_question(columns, owner, restraints), wish.moves_max)
    # A gain is that of the hours as they are expected: weather comes with or without moves.
    gains = drawn_peaks(question, steady(columns), curve.moves, np.random.default_rng(_SEED))
    choice = recommended(curve.peak, gains, wish.gain_min, wish.only_if_sure)
    moves = in_order(question, curve.moves[choice.moves])
    low, high = interval(drawn_peaks(question, columns, curve.moves, np.random.default_rng(_SEED)))
    further = choice.moves < wish.moves_max
    is_end = further and curve.peak[choice.moves] - curve.peak[-1] < _LEAST
    last = obstacle(question, moves) if is_end else None
    return Planned(
        question=question,
        columns=tuple(columns),
        frontier=curve,
        # Of several brokers that are near the top any may turn out to be the highest.
        low=np.minimum(low, curve.peak),
        high=high,
        recommendation=choice,
        moves=moves,
        course=course(question, columns, moves, np.random.default_rng(_SEED)),
        aside=aside,
        last=last if last is not None and last.bundle >= 0 else None,
    )


def _relievable(
    question: Question, moves_max: int
) -> tuple[Question, Frontier, tuple[Obstacle, ...]]:
    """Return the question without the brokers that no move helps, if that helps the others."""
    whole, first = question, frontier(question, moves_max)
    aside, curve = list[Obstacle](), first
    while curve.bound[-1] >= question.peak - _LEAST:
        highest = obstacle(question, NO_MOVES)
        if highest is None or len(aside) == _ASIDE_MAX:
            return whole, first, ()
        aside.append(highest)
        counted = question.is_counted.copy()
        counted[highest.broker] = False
        question = dataclasses.replace(question, is_counted=counted)
        curve = frontier(question, moves_max)
    return question, curve, tuple(aside)


def _question(columns: Sequence[Column], owner: Ints, restraints: Restraints) -> Question:
    usage = np.stack([column.usage for column in columns], axis=1)
    is_known: Flags = np.asarray(~np.isnan(usage).any(axis=1))
    return Question(
        usage=np.nan_to_num(usage),
        speed=np.stack([column.speed for column in columns], axis=1),
        cost=np.stack([column.cost for column in columns], axis=1),
        owner=owner,
        is_movable=restraints.is_movable,
        kind=restraints.kind,
        allowed=restraints.allowed & restraints.takes,
        ceiling=restraints.ceiling,
        is_counted=is_known,
    )
