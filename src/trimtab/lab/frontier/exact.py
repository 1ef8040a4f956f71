"""The lowest peak of small clusters, and the fewest moves: by integer programming."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.frontier.integer_program import Effort, Program, Rows, Solution, solved
from trimtab.lab.frontier.question import ROUNDING, Holdings, Moves, Question, limits
from trimtab.pulsar.model import Ints

#: Choices of a bundle and a broker up to which the program is solved.
CHOICES_MAX = 1500
#: Nodes after which the search gives up and its bound is taken, and the share of the peak,
#: or of the moves, that may be left open.
EFFORT = Effort(1_000, 5e-4)


class Exact(NamedTuple):
    """What the program gave: moves, if it found any, and what it proved."""

    moves: Moves | None
    bound: float


class Choices(NamedTuple):
    """Each bundle with each broker that it might go to; all arrays are (n_choices,)."""

    bundle: Ints
    to: Ints


def choices(question: Question, holdings: Holdings, peak: float) -> Choices:
    """Return who might have what, if nobody is to come above a peak."""
    q = question
    bundle = np.repeat(holdings.bundles, len(q.usage))
    to = np.tile(np.arange(len(q.usage)), holdings.bundles.size)
    alone = (q.speed[to] * q.cost[bundle]).max(axis=1, initial=0.0)
    can = q.allowed[q.kind[bundle], to] & (q.owner[bundle] != to)
    can &= alone <= limits(q, peak)[to] + ROUNDING
    return Choices(bundle[can], to[can])


def lowest_peak(
    question: Question, possible: Choices, moves_max: int, between: tuple[float, float]
) -> Exact:
    """Return the moves, at most so many, that make the peak lowest, and what it is not below.

    Args:
        question: a small one.
        possible: who might have what.
        moves_max: at most so many.
        between: peaks that it is not below, and that it has to reach to be worth finding.
    """
    n = possible.bundle.size
    rows = _usages(question, possible, None)
    program = Program(
        objective=np.append(np.zeros(n), 1.0),
        low=np.append(np.zeros(n), between[0]),
        high=np.append(np.ones(n), between[1]),
        constraints=[*rows, _count(n, -np.inf, moves_max), _once(question, possible)],
    )
    return _exact(possible, solved(program, EFFORT), between[0])


def fewest_moves(question: Question, possible: Choices, peak: float, least: float) -> Exact:
    """Return the fewest moves that bring the peak to a bar, and how few they cannot be.

    Args:
        question: a small one.
        possible: who might have what.
        peak: the bar.
        least: moves that it takes at least.
    """
    n = possible.bundle.size
    rows = _usages(question, possible, peak)
    program = Program(
        objective=np.append(np.ones(n), 0.0),
        low=np.zeros(n + 1),
        high=np.append(np.ones(n), 0.0),
        constraints=[*rows, _count(n, least, np.inf), _once(question, possible)],
    )
    return _exact(possible, solved(program, EFFORT), least)


def _exact(possible: Choices, solution: Solution, least: float) -> Exact:
    """Return the moves of a solution, and what it proved."""
    bound = max(least, solution.bound)
    if solution.values is None:
        return Exact(None, bound)
    chosen = solution.values[:-1] > 0.5
    return Exact(Moves(possible.bundle[chosen], possible.to[chosen]), bound)


def _usages(question: Question, possible: Choices, bar: float | None) -> list[Rows]:
    """Return that usages stay below the peak, which is the last variable, or below a bar.

    And below ceilings, by what moves add.
    """
    q, (bundle, to) = question, possible
    n, brokers = bundle.size, np.flatnonzero(q.is_counted)
    place = np.full(len(q.usage), -1)
    place[brokers] = np.arange(brokers.size)
    each, owner = np.arange(n), q.owner[bundle]
    row = np.concatenate((place[to], place[owner]))
    column = np.concatenate((each, each))
    ends = np.arange(brokers.size), np.full(brokers.size, n)
    peak = np.full(brokers.size, 0.0 if bar is not None else -1.0)
    ceiling = q.ceiling[brokers]
    filled = np.isfinite(ceiling)
    at, kept = np.cumsum(filled) - 1, filled[row]
    rows = list[Rows]()
    for resource in range(q.usage.shape[1]):
        cost, now = q.cost[bundle, resource], q.usage[brokers, resource]
        points = np.concatenate((q.speed[to, resource] * cost, -q.speed[owner, resource] * cost))
        rows.append(
            Rows(
                np.append(row, ends[0]),
                np.append(column, ends[1]),
                np.append(points, peak),
                np.full(brokers.size, -np.inf),
                (bar or 0.0) - now,
            )
        )
        if filled.any():
            # Who stands above its ceiling takes nothing.
            room = np.maximum(ceiling - now, 0.0)[filled]
            below = np.full(room.size, -np.inf)
            rows.append(Rows(at[row[kept]], column[kept], points[kept], below, room))
    return rows


def _count(n_choices: int, low: float, high: float) -> Rows:
    """Return between what the number of moves lies."""
    each = np.arange(n_choices)
    return Rows(
        np.zeros_like(each), each, np.ones(n_choices), np.array([low]), np.array([float(high)])
    )


def _once(question: Question, possible: Choices) -> Rows:
    """Return that no bundle goes to two brokers."""
    n, n_bundles = possible.bundle.size, question.owner.size
    never = np.full(n_bundles, -np.inf)
    return Rows(possible.bundle, np.arange(n), np.ones(n), never, np.ones(n_bundles))
