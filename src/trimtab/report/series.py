"""The picture of the input as series that a chart can draw: sorted, thinned, in columns.

Only positions are worked out here, never a load: what a broker used between two reports is
what it last reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trimtab.report.input import Fields, shown_name
from trimtab.report.words import moment, number

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Between rounds that are further apart no line is drawn.
SILENCE_US = 30 * 60 * 10**6


@dataclass(frozen=True, slots=True)
class Series:
    """What one broker used, in order of time."""

    broker: str
    #: (n,) µs since 1970.
    times: Ints
    #: (n,) fraction; NaN from when the broker was gone.
    usages: Floats

    def at(self, time: datetime) -> float | None:
        """Return the usage last reported at `time`; None if nothing was, or it was gone."""
        position = int(np.searchsorted(self.times, microseconds(time), side="right"))
        usage = float(self.usages[position - 1]) if position else math.nan
        return None if math.isnan(usage) else usage

    def ends(self) -> tuple[datetime, datetime]:
        """Return the first and the last time."""
        return _moment(int(self.times[0])), _moment(int(self.times[-1]))

    def known(self) -> Floats:
        """Return the usages of when the broker was there."""
        return self.usages[~np.isnan(self.usages)]

    def mean(self) -> float:
        """Return the mean of what was reported; 0 if nothing was."""
        known = self.known()
        return float(known.mean()) if known.size else 0.0

    def part(self, which: slice | Ints) -> Series:
        """Return some of its points."""
        return Series(self.broker, self.times[which], self.usages[which])

    def points(self) -> list[tuple[datetime, float | None]]:
        """Return each time with the usage, None from when the broker was gone."""
        return [
            (_moment(time), None if math.isnan(usage) else usage)
            for time, usage in zip(self.times.tolist(), self.usages.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a chart shows."""

    start: datetime
    end: datetime

    def seconds(self) -> float:
        """Return its length in seconds."""
        return (self.end - self.start).total_seconds()

    def share(self, time: datetime) -> float:
        """Return where in it a time lies, from 0 to 1."""
        return (time - self.start).total_seconds() / (self.seconds() or 1.0)

    def shares(self, times: Ints) -> Floats:
        """Return where in it some times lie, µs since 1970."""
        return (times - microseconds(self.start)) / 1e6 / (self.seconds() or 1.0)


def reported_series(columns: Fields) -> tuple[Series, ...]:
    """Return series of `{broker: (times, usages)}`: µs since 1970, in order, and fractions.

    Of two points at one time the later one counts.
    """
    return tuple(
        Series(
            shown_name(broker), np.asarray(times, np.int64), np.asarray(usages, np.float64)
        ).part(np.flatnonzero(np.diff(times, append=np.inf)))
        for broker, (times, usages) in columns.items()
    )


def series_of(points: Iterable[Any]) -> tuple[Series, ...]:
    """Gather points of `{time, broker, usage}` into one series a broker.

    A point without a readable time is left out; a usage of null says that the broker was
    gone from then on.
    """
    by_broker: dict[str, tuple[list[datetime], list[float | None]]] = {}
    for point in points:
        time = moment(point.get("time"))
        if time is not None:
            name = shown_name(point.get("broker"))
            if name not in by_broker:
                by_broker[name] = [], []
            times, usages = by_broker[name]
            times.append(time)
            usages.append(number(point.get("usage")))
    return tuple(_series(broker, *columns) for broker, columns in by_broker.items())


def _series(broker: str, times: Sequence[datetime], usages: Sequence[float | None]) -> Series:
    """Return a broker's points in order of time; of two at one time the later one counts."""
    points = dict(zip(map(microseconds, times), usages, strict=True))
    ordered = sorted(points)
    columns = np.array(ordered, np.int64), np.array([points[time] for time in ordered], np.float64)
    return Series(broker, *columns)


def microseconds(time: datetime) -> int:
    """Return a time as µs since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def span_of(times: Iterable[datetime | None]) -> Span | None:
    """Return the time from the first to the last; None if there is no time at all."""
    known = [time for time in times if time is not None]
    return Span(min(known), max(known)) if known else None


def thinned(series: Series, span: Span, columns: int) -> Series:
    """Keep of each column of pixels the first, lowest, highest and last point.

    More points than that cannot be seen, yet the peaks, which a sample at equal distances
    would lose, can.
    """
    if len(series.times) <= 4 * columns:
        return series
    cells = (span.shares(series.times) * columns).astype(np.int64)
    kept: set[int] = set()
    for positions in np.split(np.arange(cells.size), np.flatnonzero(np.diff(cells)) + 1):
        usages = series.usages[positions]
        known, gone = positions[~np.isnan(usages)], positions[np.isnan(usages)]
        by_usage = known[np.argsort(series.usages[known], kind="stable")]
        kept.update(positions[[0, -1]].tolist(), by_usage[:1], by_usage[-1:], gone[:1])
    return series.part(np.array(sorted(kept)))


def stretches(times: Ints) -> list[slice]:
    """Cut a series of rounds where so long nothing was decided that no line may join them.

    A leader decides every minute or few; after half an hour it is another story.
    """
    cuts = np.flatnonzero(np.diff(times) > SILENCE_US) + 1
    edges = [0, *cuts.tolist(), len(times)]
    return [slice(start, end) for start, end in pairwise(edges) if end > start]


def in_columns(every: Sequence[Series], span: Span, columns: int) -> Floats:
    """Return the highest usage in each of `columns` equal stretches of time, a row a series.

    A stretch without a report holds what was last reported; before the first report, and
    after the broker was gone, there is nothing (NaN).
    """
    row = np.repeat(np.arange(len(every)), [len(each.times) for each in every])
    share = span.shares(np.concatenate([each.times for each in every]))
    usage = np.concatenate([each.usages for each in every])
    cell = row * columns + np.clip((share * columns).astype(np.int64), 0, columns - 1)
    # Points stand in order of the cells: where each cell's begin, and where they end.
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    end = np.append(first[1:], len(cell))
    place = np.divmod(cell[first], columns)
    highest, last = np.full((2, len(every), columns), np.nan)
    highest[place] = np.fmax.reduceat(np.maximum(usage, 0.0), first)
    last[place] = usage[end - 1]
    is_reported = np.zeros(highest.shape, np.bool_)
    is_reported[place] = True
    last_column = np.maximum.accumulate(np.where(is_reported, np.arange(columns), -1), axis=1)
    before = np.insert(last_column[:, :-1], 0, -1, axis=1)
    carried = np.where(before < 0, np.nan, np.take_along_axis(last, before, axis=1))
    # What was held when a stretch began counts in it, too.
    both = np.fmax(highest, np.maximum(carried, 0.0))
    filled: Floats = np.where(is_reported, both, carried)
    return filled


def runs(levels: Sequence[int | None]) -> list[tuple[int, int, int]]:
    """Join equal neighbours: (first column, column after the last, level).

    >>> runs([1, 1, None, 2])
    [(0, 2, 1), (3, 4, 2)]
    """
    joined: list[tuple[int, int, int]] = []
    for column, level in enumerate(levels):
        if level is None:
            continue
        if joined and joined[-1][1] == column and joined[-1][2] == level:
            joined[-1] = (joined[-1][0], column + 1, level)
        else:
            joined.append((column, column + 1, level))
    return joined


def ceiling(values: Iterable[float | None]) -> float:
    """Return the end of an axis from 0: the next tenth over all values, at least 0.1."""
    highest = max((value for value in values if value is not None), default=0.0)
    # The tiny term keeps 0.3 (which is 0.30000000000000004 after some sums) at 0.3.
    return max(0.1, math.ceil(highest * 10 - 1e-9) / 10)


def spread_apart(positions: Sequence[float], distance: float) -> list[float]:
    """Move positions down as little as needed for neighbours to be `distance` apart.

    The order of the input is kept; what is moved past the last stays in order.
    """
    placed = list(positions)
    order = sorted(range(len(placed)), key=lambda each: placed[each])
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + distance)
    return placed
