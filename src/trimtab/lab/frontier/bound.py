"""Peaks that no so many moves come below, and moves that no plan does with less."""

from __future__ import annotations

import heapq

import numpy as np

from trimtab.lab.frontier.question import ROUNDING, Holdings, Question, taken
from trimtab.pulsar.model import Floats

_HALVINGS = 50
# Bundles of a broker, the largest, of which it is asked whether anybody can take them.
_LARGEST = 8


class Bound:
    """What every plan has to do, whatever else it does.

    A broker comes below a peak only by giving up its surplus, for which it needs as many moves
    as its largest bundles that make it up; of these only those count that anybody could take
    without getting above the peak.  And all that is given up has to find room.
    """

    def __init__(self, question: Question, holdings: Holdings, moves_max: int) -> None:
        """Sum up what is asked for again and again."""
        self.question, self.holdings, self.moves_max = question, holdings, moves_max
        self.level = _level(question)
        self.floor = _floor(question, holdings, moves_max - 1)
        self._stairs: dict[int, Floats] = {}

    def peaks(self) -> Floats:
        """Return for each number of moves a peak that no so many come below, (moves_max + 1,).

        Properties:
            Never above the peak that any such moves reach; never rises.
        """
        usage = self.question.usage.max(axis=1)
        heap = [(-float(usage[b]), b, 0) for b in np.flatnonzero(self.question.is_counted).tolist()]
        heapq.heapify(heap)
        peaks = np.full(self.moves_max + 1, self.level)
        for count in range(self.moves_max + 1):
            highest, broker, given = heap[0] if heap else (0.0, -1, 0)
            peaks[count] = max(self.level, -highest)
            if -highest <= self.level:
                break
            stairs = self.stairs(broker)
            given = min(given + 1, stairs.size - 1)
            heapq.heapreplace(heap, (-float(stairs[given]), broker, given))
        return peaks

    def moves(self, peak: float) -> float:
        """Return how many moves it takes at least to come below a peak; infinite if none do."""
        if peak < self.level - ROUNDING:
            return np.inf
        usage = self.question.usage.max(axis=1)
        above = np.flatnonzero(self.question.is_counted & (usage > peak + ROUNDING))
        return float(sum(self._given_up(broker, peak) for broker in above.tolist()))

    def _given_up(self, broker: int, peak: float) -> float:
        enough = np.flatnonzero(self.stairs(broker) <= peak + ROUNDING)
        return float(enough[0]) if enough.size else np.inf

    def stairs(self, broker: int) -> Floats:
        """Return how low a broker could come by giving up 0, 1, … bundles."""
        if broker not in self._stairs:
            self._stairs[broker] = self._made(broker)
        return self._stairs[broker]

    def _made(self, broker: int) -> Floats:
        q = self.question
        own = self.holdings.of(broker)
        points = taken(q, own, broker)
        largest = np.argsort(-points.max(axis=1, initial=0.0), kind="stable")[:_LARGEST]
        place = np.full(own.size, -np.inf)
        place[largest] = [self._place(int(own[i])) for i in largest]
        count = min(own.size, self.moves_max)
        lowest = np.full(count + 1, np.inf)
        giants = np.unique(place[place > self.level])
        for bar in (self.level, *giants[np.isfinite(giants)].tolist()):
            without = _stairs(q.usage[broker], points[place <= bar], count)
            lowest = np.minimum(lowest, np.maximum(without, bar if bar > self.level else 0.0))
        return np.minimum.accumulate(lowest)

    def _place(self, bundle: int) -> float:
        """Return the lowest usage at which anybody else can have a bundle, whatever else moves."""
        q = self.question
        after = (self.floor + q.speed * q.cost[bundle]).max(axis=1)
        who = q.allowed[q.kind[bundle]] & q.is_counted & (after <= q.ceiling + ROUNDING)
        who[q.owner[bundle]] = False
        return float(after[who].min(initial=np.inf))


def _stairs(usage: Floats, points: Floats, count: int) -> Floats:
    """Return what is left of a usage without 0, 1, … of the largest; each column by itself."""
    largest = -np.sort(-points, axis=0)[:count]
    left = usage - np.concatenate((np.zeros((1, usage.size)), np.cumsum(largest, axis=0)))
    stairs = left.max(axis=1)
    return np.concatenate((stairs, np.full(count + 1 - stairs.size, stairs[-1])))


def _level(question: Question) -> float:
    """Return the lowest peak at which there is room for all that is above it."""
    q = question
    takes = q.allowed.any(axis=0) & q.is_counted
    ceiling = np.where(takes, q.ceiling, -np.inf)[:, None]
    weight = np.divide(1.0, q.speed, out=np.zeros_like(q.speed), where=q.speed > 0)
    weight = weight * q.is_counted[:, None]
    low, high = 0.0, q.peak
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        surplus = np.maximum(q.usage - middle, 0.0)
        room = np.maximum(np.minimum(ceiling, middle) - q.usage, 0.0)
        if ((weight * surplus).sum(axis=0) <= (weight * room).sum(axis=0) + ROUNDING).all():
            high = middle
        else:
            low = middle
    return low


def _floor(question: Question, holdings: Holdings, count: int) -> Floats:
    """Return how low each column of a broker could come by giving up so many bundles."""
    floor = question.usage.copy()
    if count <= 0:
        return floor
    for broker in np.flatnonzero(np.diff(holdings.start)).tolist():
        points = taken(question, holdings.of(broker), broker)
        if len(points) > count:
            points = -np.partition(-points, count - 1, axis=0)[:count]
        floor[broker] -= points.sum(axis=0)
    return floor
