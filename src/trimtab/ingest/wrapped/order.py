"""Log lines in the order in which they were written, whatever the order in their file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab.ingest.wrapped.entries import Entry
from trimtab.ingest.wrapped.times import nanoseconds

#: Threads mix lines by less; whoever goes back by more is out of order.
_MIXED_NS = 1_000_000_000
#: Characters of a line in the distribution's layout that are its time.
_TIME_LENGTH = 28


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return log lines with the oldest first, those of one moment in the order of their file.

    Where the file has the newest first, lines are counted from its end; where they stand in
    another order, such as broker by broker, they are counted by time.
    """
    times = [_time(entry) for entry in entries]
    if _is_backward(times):
        last = max((entry.number for entry in entries), default=0)
        entries = [entry._replace(number=last + 1 - entry.number) for entry in reversed(entries)]
        times.reverse()
    keys = _keys(entries, times)
    if not _is_mixed_up(keys):
        return list(entries)
    places = sorted(range(len(entries)), key=keys.__getitem__)
    return [entries[place]._replace(number=i) for i, place in enumerate(places, 1)]


def _keys(entries: Sequence[Entry], times: Sequence[int | None]) -> list[int]:
    """Return by what lines are ordered: when they were collected.

    Where a collector does not say it, the lines of a broker are taken to stand in their order.
    """
    latest: dict[str, int] = {}
    keys = []
    for entry, time in zip(entries, times, strict=True):
        before = latest.get(entry.broker, 0)
        if time is not None and (entry.time_ns is not None or time > before):
            latest[entry.broker] = time
        keys.append(latest.get(entry.broker, 0))
    return keys


def _time(entry: Entry) -> int | None:
    """Return when a line was collected or, where nobody says so, printed."""
    if entry.time_ns is not None:
        return entry.time_ns
    return nanoseconds(entry.text[:_TIME_LENGTH].rstrip(" ["))


def is_newest_first(lines: Sequence[str]) -> bool:
    """Return whether the lines of a log stand with the newest first."""
    return _is_backward([_time(Entry(0, line)) for line in lines])


def _is_backward(times: Sequence[int | None]) -> bool:
    known = [time for time in times if time is not None]
    steps = [later - earlier for earlier, later in pairwise(known)]
    falls, rises = (sum(1 for step in steps if sign * step > 0) for sign in (-1, 1))
    return falls > rises and known[0] - known[-1] > 0


def _is_mixed_up(keys: Sequence[int]) -> bool:
    """Return whether lines stand behind others that were collected later."""
    latest = 0
    for key in keys:
        if latest - key > _MIXED_NS:
            return True
        latest = max(latest, key)
    return False
