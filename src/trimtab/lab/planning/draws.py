"""Plans → how high the peak may be after each of them, drawn from all that is not sure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.lab.frontier import Moves, Question
from trimtab.lab.planning.columns import Column, Doubts
from trimtab.pulsar.model import Floats, Ints

#: Draws of one question.
DRAWS = 500


def drawn_peaks(
    question: Question,
    columns: Sequence[Column],
    plans: Sequence[Moves],
    random: np.random.Generator,
) -> Floats:
    """Return the peak after each plan, (n_plans, DRAWS) percent.

    Properties:
        What is not sure is drawn once for all plans, so that they can be compared draw by draw.
        A plan of no moves has the peak of now, as unsure as it is measured.
    """
    counted = question.is_counted
    peaks = np.zeros((len(plans), DRAWS))
    for column, factors in zip(columns, _factors(columns, plans, random), strict=True):
        noise = random.standard_normal((DRAWS, counted.size))
        usage = np.nan_to_num(column.usage) + noise * column.deviation
        for place, moves in enumerate(plans):
            after = _after(question, column, moves, usage, factors)
            peak = after[:, counted].max(axis=1, initial=0.0)
            peaks[place] = np.maximum(peaks[place], np.minimum(peak, 100.0))
    return peaks


class _Factors:
    """By what costs and speeds are multiplied in each draw; the same at all hours of a resource."""

    def __init__(self, doubts: Doubts, bundles: Ints, random: np.random.Generator) -> None:
        unknowns = len(doubts.covariance)
        shared = random.multivariate_normal(
            np.zeros(unknowns), doubts.covariance, DRAWS, method="eigh"
        )
        own = doubts.own * random.standard_normal((bundles.size, DRAWS))
        drawn = np.maximum(1.0 + doubts.following[bundles] @ shared.T + own, 0.0)
        self.cost = dict(zip(bundles.tolist(), drawn, strict=True))
        noise = random.standard_normal((doubts.speed.size, DRAWS))
        self.speed = np.maximum(1.0 + doubts.speed[:, None] * noise, 0.0)


def _factors(
    columns: Sequence[Column], plans: Sequence[Moves], random: np.random.Generator
) -> list[_Factors]:
    bundles = np.unique(np.concatenate([moves.bundle for moves in plans]))
    drawn = dict[int, _Factors]()
    for column in columns:
        if id(column.doubts) not in drawn:
            drawn[id(column.doubts)] = _Factors(column.doubts, bundles, random)
    return [drawn[id(column.doubts)] for column in columns]


def _after(
    question: Question, column: Column, moves: Moves, usage: Floats, factors: _Factors
) -> Floats:
    """Return the usage of one resource after moves, (DRAWS, n_brokers)."""
    if moves.bundle.size == 0:
        return usage
    after = usage.copy()
    for bundle, to in zip(moves.bundle.tolist(), moves.to.tolist(), strict=True):
        source = int(question.owner[bundle])
        points = column.cost[bundle] * factors.cost[bundle]
        after[:, source] -= column.speed[source] * points * factors.speed[source]
        after[:, to] += column.speed[to] * points * factors.speed[to]
    return after


def drawn_usages(
    question: Question, columns: Sequence[Column], moves: Moves, random: np.random.Generator
) -> Floats:
    """Return the usage of source and destination before and after each move in its turn.

    Returns:
        (n_moves, 2, 2, DRAWS) percent: before and after, source and destination.
    """
    n = moves.bundle.size
    drawn = np.zeros((n, 2, 2, DRAWS))
    for column, factors in zip(columns, _factors(columns, [moves], random), strict=True):
        noise = random.standard_normal((DRAWS, question.is_counted.size))
        usage = np.nan_to_num(column.usage) + noise * column.deviation
        for i in range(n):
            pair = [int(question.owner[moves.bundle[i]]), int(moves.to[i])]
            after = _after(
                question,
                column,
                Moves(moves.bundle[i : i + 1], moves.to[i : i + 1]),
                usage,
                factors,
            )
            drawn[i] = np.maximum(drawn[i], np.stack((usage[:, pair].T, after[:, pair].T)))
            usage = after
    return drawn
