"""What was written while the leader unloaded: it hears of it once the round is over."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

Write = TypeVar("Write")

#: From a round's first line to the end of its last unload, in order of time.
Spans: TypeAlias = Sequence[tuple[datetime, datetime]]

#: An unload that takes longer than this is not waited for: its end may not be recorded.
_UNLOADED = timedelta(seconds=30)


def unloading(
    ticks: Sequence[tuple[datetime, int | None]],
    unloads: Sequence[tuple[datetime, str]],
    ownership: Iterable[Mapping[str, Any]],
) -> Spans:
    """Return when the leader unloaded.

    Args:
        ticks: when rounds began, in order; None for a silent one.
        unloads: when each unload of the leader's was logged, which is before it begins.
        ownership: rows of `ownership` whose times are exact; one without a broker says that
            an unload is done.  Where there are none a round ends with its last line.

    Properties:
        The spans are disjoint; each begins with a round that is not silent.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding; 4.0.8: unloads are waited for, one
        after the other.
    """
    freed: dict[str, list[datetime]] = {}
    for row in sorted(ownership, key=lambda row: row["time"]):
        if row["bundle"] is not None and row["broker"] is None:
            freed.setdefault(row["bundle"], []).append(row["time"])
    ordered = sorted(unloads)
    times = [time for time, _ in ordered]
    begins = [time for time, _ in ticks]
    spans = []
    for i, (begin, number) in enumerate(ticks):
        end = bisect_left(times, begins[i + 1]) if i + 1 < len(ticks) else len(times)
        if number is None or end <= bisect_left(times, begin):
            continue
        time, bundle = ordered[end - 1]
        done = freed.get(bundle, ())
        at = bisect_left(done, time)
        is_known = at < len(done) and done[at] - time <= _UNLOADED
        spans.append((begin, done[at] if is_known else time))
    return spans


def looks(
    writes: Iterable[tuple[datetime, Write]], spans: Spans
) -> Iterator[tuple[datetime, list[Write]]]:
    """Return when the leader looks at the store, and what is new to it then.

    Looking at reports and unloading exclude each other, so that all that was written
    meanwhile is looked at behind the last unload.

    Args:
        writes: in order of time; each alone is looked at at once, if the leader can.
        spans: from `unloading`.

    Source:
        impl/ModularLoadManagerImpl.java updateAll, whose first step cleanupDeadBrokersData is
        `synchronized` as doLoadShedding is; 3.1.0 to 5.0.0-M1.
    """
    waiting: dict[datetime, list[Write]] = {}
    ahead = iter(spans)
    coming, busy_until = next(ahead, None), None
    for time, write in writes:
        while coming is not None and coming[0] <= time:
            busy_until, coming = coming[1], next(ahead, None)
        if busy_until is not None and busy_until > time:
            waiting.setdefault(busy_until, []).append(write)
        else:
            yield time, [write]
    yield from waiting.items()
