"""Plans → how high the peak may be after each of them, drawn from all that is not sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from trimtab.lab.frontier import Moves, Question
from trimtab.lab.planning.columns import Column, Doubts
from trimtab.pulsar.model import Floats, Ints

#: Draws of one question.
DRAWS = 500
# Brokers that moves do not touch and that are drawn, the highest.
_HIGHEST = 64


def drawn_peaks(
    question: Question,
    columns: Sequence[Column],
    plans: Sequence[Moves],
    random: np.random.Generator,
) -> Floats:
    """Return the peak after each plan, (n_plans, DRAWS) percent.

    Of the brokers those are drawn that moves touch, and of the others the highest.

    Properties:
        What is not sure is drawn once for all plans, so that they can be compared draw by draw.
        A plan of no moves has the peak of now, as unsure as it is measured.
    """
    brokers = _near(question, plans)
    place = np.full(question.is_counted.size, -1)
    place[brokers] = np.arange(brokers.size)
    peaks = np.zeros((len(plans), DRAWS))
    for column, factors in zip(columns, _factors(columns, plans, random), strict=True):
        usage = _usage(column, factors, brokers, random)
        for number, moves in enumerate(plans):
            after = usage.copy()
            for bundle, to in zip(moves.bundle.tolist(), moves.to.tolist(), strict=True):
                source = int(question.owner[bundle])
                after[:, place[source]] -= factors.points(column, bundle, source)
                after[:, place[to]] += factors.points(column, bundle, to)
            peak = np.minimum(after.max(axis=1, initial=0.0), 100.0)
            peaks[number] = np.maximum(peaks[number], peak)
    return peaks


def _near(question: Question, plans: Sequence[Moves]) -> Ints:
    """Return the brokers that count for the peak, in order."""
    highest = np.where(question.is_counted, question.usage.max(axis=1), -np.inf)
    top = np.argsort(-highest, kind="stable")[:_HIGHEST]
    touched = [moves.to for moves in plans] + [question.owner[moves.bundle] for moves in plans]
    near = np.unique(np.concatenate((top[highest[top] >= 0], *touched)))
    return near.astype(np.int64)


class _Factors:
    """By what costs and speeds are multiplied in each draw; the same at all hours of a resource."""

    def __init__(
        self, doubts: Doubts, bundles: Ints, random: np.random.Generator, count: int = DRAWS
    ) -> None:
        unknowns = len(doubts.covariance)
        shared = random.multivariate_normal(
            np.zeros(unknowns), doubts.covariance, count, method="eigh"
        )
        own = doubts.own[bundles, None] * random.standard_normal((bundles.size, count))
        #: (bundles.size, count) and (n_brokers, count).
        self.cost = np.maximum(1.0 + doubts.following[bundles] @ shared.T + own, 0.0)
        self._place = {bundle: i for i, bundle in enumerate(bundles.tolist())}
        noise = random.standard_normal((doubts.speed.size, count))
        self.speed = np.maximum(1.0 + doubts.speed[:, None] * noise, 0.0)
        #: (count, n_brokers) deviations by which usages are off.
        self.level = random.standard_normal((count, doubts.speed.size))

    def points(self, column: Column, bundle: int, broker: int) -> Floats:
        """Return what a bundle takes on a broker, (DRAWS,)."""
        points = column.speed[broker] * column.cost[bundle]
        return np.asarray(points * self.cost[self._place[bundle]] * self.speed[broker], np.float64)


def _usage(column: Column, factors: _Factors, brokers: Ints, random: np.random.Generator) -> Floats:
    """Return the usage of some brokers before any move, (n_draws, n)."""
    level = factors.level[:, brokers]
    usage: Floats = column.usage[brokers] + level * column.deviation[brokers]
    if column.spread[brokers].any():
        usage += random.standard_normal(level.shape) * column.spread[brokers]
    return np.nan_to_num(usage)


def _factors(
    columns: Sequence[Column], plans: Sequence[Moves], random: np.random.Generator
) -> list[_Factors]:
    bundles = np.unique(np.concatenate([moves.bundle for moves in plans]))
    drawn = dict[int, _Factors]()
    for column in columns:
        if id(column.doubts) not in drawn:
            drawn[id(column.doubts)] = _Factors(column.doubts, bundles, random)
    return [drawn[id(column.doubts)] for column in columns]


def drawn_questions(
    question: Question, columns: Sequence[Column], count: int, random: np.random.Generator
) -> Iterator[Question]:
    """Yield the question as it would be if all that is not sure were as it is drawn.

    Properties:
        The same generator draws the same for as many brokers and bundles: what is not known of
        a bundle's cost is so in each question of one night.
    """
    everyone = np.arange(question.owner.size)
    drawn = dict[int, _Factors]()
    for column in columns:
        if id(column.doubts) not in drawn:
            drawn[id(column.doubts)] = _Factors(column.doubts, everyone, random, count)
    factors = [drawn[id(column.doubts)] for column in columns]
    brokers = np.arange(question.is_counted.size)
    usages = [_usage(*each, brokers, random) for each in zip(columns, factors, strict=True)]
    for i in range(count):
        speeds = [
            column.speed * of.speed[:, i] for column, of in zip(columns, factors, strict=True)
        ]
        costs = [column.cost * of.cost[:, i] for column, of in zip(columns, factors, strict=True)]
        yield replace(
            question,
            usage=np.stack([usage[i] for usage in usages], axis=1),
            speed=np.stack(speeds, axis=1),
            cost=np.stack(costs, axis=1),
        )


def drawn_usages(
    question: Question, columns: Sequence[Column], moves: Moves, random: np.random.Generator
) -> Floats:
    """Return the usage of source and destination before and after each move in its turn.

    Returns:
        (n_moves, 2, 2, DRAWS) percent: before and after, source and destination.
    """
    n = moves.bundle.size
    drawn = np.zeros((n, 2, 2, DRAWS))
    brokers = np.unique(np.concatenate((question.owner[moves.bundle], moves.to)))
    ends = np.searchsorted(brokers, np.stack((question.owner[moves.bundle], moves.to), axis=1))
    for column, factors in zip(columns, _factors(columns, [moves], random), strict=True):
        usage = _usage(column, factors, brokers, random)
        for i in range(n):
            bundle, (source, to) = int(moves.bundle[i]), ends[i].tolist()
            before = usage[:, (source, to)].T
            usage[:, source] -= factors.points(column, bundle, int(brokers[source]))
            usage[:, to] += factors.points(column, bundle, int(brokers[to]))
            pair = np.stack((before, usage[:, (source, to)].T))
            drawn[i] = np.maximum(drawn[i], pair)
    return drawn
