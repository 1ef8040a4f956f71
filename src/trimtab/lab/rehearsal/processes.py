"""What recorded processes took beyond their traffic, by their age → what others will take.

A process that has just begun compiles itself, and takes far more than its traffic does.  How
much differs from one to the next by more than any formula says, so whole courses are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs.knowledge import CORES
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.usage import means
from trimtab.pulsar.model import MINUTE_S, Floats

# Processes that must have become so old for their age to count as one of its own.
_OF_AN_AGE_MIN = 3
# Windows in which a process warms up, and that are needed behind them to say so.
_YOUNG_MIN, _LATER_MIN = 3, 2


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a broker that was recorded."""

    #: Minutes that it had been there when its first window closed.
    begins_at: int
    #: s from its first report until its first window of the host closed.
    first_s: float
    #: Points of one core that each window took beyond what its traffic costs, in order.
    points: tuple[float, ...]

    @property
    def is_whole(self) -> bool:
        """Return whether its beginning was recorded."""
        return self.begins_at == 0

    def is_of(self, age: int) -> bool:
        """Return whether it was recorded at an age, minutes."""
        return self.begins_at <= age < self.begins_at + len(self.points)


def processes(rebuilt: Rebuilt) -> tuple[Process, ...]:
    """Return what each process of a recording took beyond its traffic, by the likeliest costs."""
    return tuple(_processes(rebuilt))


def _processes(rebuilt: Rebuilt) -> Iterator[Process]:
    used, tick_s = rebuilt.used, rebuilt.grid.tick_s
    costs, broker_of = used.costs, [broker for _, broker in used.spans]
    left = means(used.usage[:1], used.spans) - means(rebuilt.served.cpu(costs)[None], used.spans)
    points = left[:, 0] - costs.rest[broker_of]
    points *= CORES / used.known.brokers.by_cores[broker_of]
    begins = sorted((each.broker, each.tick) for each in rebuilt.surroundings.begins)
    for (broker, tick), (other, until) in zip(begins, [*begins[1:], (-1, 0)], strict=True):
        ends = until if other == broker else rebuilt.grid.n_ticks
        rows = [
            i
            for i, (span, of) in enumerate(used.spans)
            if of == broker and tick <= span.start < ends and not np.isnan(points[i])
        ]
        if rows:
            first = used.spans[rows[0]][0]
            age_s = (first.start - tick) * tick_s
            yield Process(
                begins_at=round(age_s / MINUTE_S),
                first_s=(first.stop - first.start) * tick_s,
                points=tuple(points[rows].tolist()),
            )


def ages(rebuilt: Rebuilt) -> tuple[int, ...]:
    """Return how old its process was when each window that is told began, minutes."""
    begins = sorted((each.tick, each.broker) for each in rebuilt.surroundings.begins)
    told = []
    for span, broker in rebuilt.used.spans:
        ticks = [tick for tick, of in begins if of == broker and tick <= span.start]
        since = span.start - max(ticks, default=span.start)
        told.append(round(since * rebuilt.grid.tick_s / MINUTE_S))
    return tuple(told)


def of_age(like: Sequence[Process], age: int) -> tuple[float, float]:
    """Return mean and variance of what processes of an age take beyond their traffic.

    Of an age that few have become those that became oldest stand for it.
    """
    at = min(age, _oldest(like))
    points = [each.points[at - each.begins_at] for each in like if each.is_of(at)]
    return (float(np.mean(points)), float(np.var(points))) if points else (0.0, 0.0)


def _oldest(like: Sequence[Process]) -> int:
    """Return the age that enough processes have become."""
    ends = sorted((each.begins_at + len(each.points) for each in like), reverse=True)
    return ends[min(_OF_AN_AGE_MIN, len(ends)) - 1] - 1 if ends else 0


def course(
    like: Sequence[Process], begins_at: int, count: int, random: np.random.Generator
) -> Floats:
    """Return what a process takes beyond its traffic in the minutes from an age on, (count,).

    The courses of processes of that age are drawn, each as long as it was recorded; of an age
    that few have become those that became oldest stand for it.

    Properties:
        The same arguments, with a generator in the same state, give the same course.
    """
    oldest = _oldest(like)
    points, age = list[float](), begins_at
    while len(points) < count:
        at = min(age, oldest)
        parts = [each.points[at - each.begins_at :] for each in like if each.is_of(at)]
        drawn = parts[int(random.integers(len(parts)))] if parts else (0.0,)
        points += drawn
        age += len(drawn)
    return np.array(points[:count])


def warming(like: Sequence[Process], random: np.random.Generator) -> Floats:
    """Return what some process took while it was young beyond what it took later, and then 0.

    Those are drawn whose beginning was recorded, and some minutes behind it.

    Properties:
        The same arguments, with a generator in the same state, give the same course.
    """
    whole = [each for each in like if each.is_whole and len(each.points) >= _YOUNG_MIN + _LATER_MIN]
    if not whole:
        return np.zeros(1)
    points = np.array(whole[int(random.integers(len(whole)))].points)
    later = float(points[_YOUNG_MIN:].mean())
    return np.append(points[:_YOUNG_MIN] - later, 0.0)


def at_ticks(points: Floats, first_s: float, tick_s: float, n_ticks: int) -> Floats:
    """Return a course by tick, (n_ticks,): its first value for so many s, then one a minute."""
    time_s = (np.arange(n_ticks) + 0.5) * tick_s
    place = 1 + np.floor((time_s - first_s) / MINUTE_S).astype(np.int64)
    return np.asarray(points[np.clip(place, 0, points.size - 1)])


def percent_of(points: Floats, by_cores: float) -> Floats:
    """Return points of one core as percent of a broker's CPU."""
    return points * by_cores / CORES
