"""The lowest peak of small clusters, and the fewest moves: by integer programming."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from trimtab.lab.frontier.question import ROUNDING, Holdings, Moves, Question, limits
from trimtab.pulsar.model import Floats, Ints

#: Choices of a bundle and a broker up to which the program is solved.
CHOICES_MAX = 1500
#: Nodes after which the search gives up and its bound is taken: not seconds, so that the
#: answer does not depend on the machine.
NODES_MAX = 1_000
# Share of the peak, or of the moves, that may be left open.
_GAP = 5e-4


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
    count = LinearConstraint(np.append(np.ones(n), 0.0)[None], -np.inf, moves_max)
    limits = Bounds(np.append(np.zeros(n), between[0]), np.append(np.ones(n), between[1]))
    objective = np.append(np.zeros(n), 1.0)
    solution = _solved(objective, [*rows, count, _once(question, possible, n + 1)], limits)
    return _exact(possible, solution, between[0])


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
    count = LinearConstraint(np.append(np.ones(n), 0.0)[None], least, np.inf)
    limits = Bounds(np.zeros(n + 1), np.append(np.ones(n), 0.0))
    objective = np.append(np.ones(n), 0.0)
    solution = _solved(objective, [*rows, count, _once(question, possible, n + 1)], limits)
    return _exact(possible, solution, least)


def _solved(objective: Floats, constraints: list[LinearConstraint], limits: Bounds) -> Any:  # noqa: ANN401  # SciPy's own
    integrality = np.ones(objective.size, np.int64)
    integrality[-1] = 0
    return milp(
        objective,
        integrality=integrality,
        bounds=limits,
        constraints=constraints,
        options={"node_limit": NODES_MAX, "mip_rel_gap": _GAP},
    )


def _exact(possible: Choices, solution: Any, least: float) -> Exact:  # noqa: ANN401  # SciPy's own
    if solution.status == 2:
        return Exact(None, np.inf)
    bound = least if solution.mip_dual_bound is None else max(least, solution.mip_dual_bound)
    if solution.x is None:
        return Exact(None, float(bound))
    chosen = solution.x[:-1] > 0.5
    return Exact(Moves(possible.bundle[chosen], possible.to[chosen]), float(bound))


def _usages(question: Question, possible: Choices, bar: float | None) -> list[LinearConstraint]:
    """Return that usages stay below the peak, which is the last variable, or below a bar.

    And below ceilings, by what moves add.
    """
    q, (bundle, to) = question, possible
    n, brokers = bundle.size, np.flatnonzero(q.is_counted)
    place = np.full(len(q.usage), -1)
    place[brokers] = np.arange(brokers.size)
    each, owner = np.arange(n), q.owner[bundle]
    at_rows = np.concatenate((place[to], place[owner], np.arange(brokers.size)))
    at_columns = np.concatenate((each, each, np.full(brokers.size, n)))
    peak = np.full(brokers.size, 0.0 if bar is not None else -1.0)
    ceiling = q.ceiling[brokers]
    filled = np.isfinite(ceiling)
    rows = list[LinearConstraint]()
    for column in range(q.usage.shape[1]):
        cost, now = q.cost[bundle, column], q.usage[brokers, column]
        points = q.speed[to, column] * cost, -q.speed[owner, column] * cost
        shape = (brokers.size, n + 1)
        below = coo_array((np.concatenate((*points, peak)), (at_rows, at_columns)), shape=shape)
        rows.append(LinearConstraint(below.tocsr(), -np.inf, (bar or 0.0) - now))
        if filled.any():
            alone = np.concatenate((*points, np.zeros(brokers.size)))
            added = coo_array((alone, (at_rows, at_columns)), shape=shape).tocsr()[filled]
            # Who stands above its ceiling takes nothing.
            room = np.maximum(ceiling - now, 0.0)[filled]
            rows.append(LinearConstraint(added, -np.inf, room))
    return rows


def _once(question: Question, possible: Choices, width: int) -> LinearConstraint:
    """Return that no bundle goes to two brokers."""
    ones, columns = np.ones(possible.bundle.size), np.arange(possible.bundle.size)
    once = coo_array((ones, (possible.bundle, columns)), shape=(question.owner.size, width))
    return LinearConstraint(once.tocsr(), -np.inf, 1.0)
