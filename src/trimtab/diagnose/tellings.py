"""When each broker heard of each record of a bundle's state, and who heard of it late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from trimtab.diagnose.bundle_records import STATE_LINES
from trimtab.diagnose.night import Event, LateTelling

#: Brokers hear of a record within milliseconds of each other; a long pause of one is shorter.
LATE = timedelta(seconds=10)
#: A broker that starts hears of all that there is.
STARTS = frozenset(
    {"broker-starting", "broker-registering", "broker-registered", "load-manager-started"}
)
#: It has heard of it so long after it says that it starts.
_STARTING = timedelta(minutes=1)


def late_tellings(lines: Iterable[Event], names: Mapping[str, str]) -> tuple[LateTelling, ...]:
    """Return what brokers heard of late, in order of time.

    Args:
        lines: of the kinds in `STATE_LINES` and `STARTS`, in order of time.
        names: log folder → broker id.
    """
    first: dict[tuple[object, ...], datetime] = {}
    heard: dict[tuple[object, ...], Event] = {}
    starts: dict[str, list[datetime]] = {}
    for line in lines:
        if line.kind in STARTS:
            starts.setdefault(line.log_broker, []).append(line.time)
        elif line.kind in STATE_LINES and STATE_LINES[line.kind] is not None:
            key = (line.bundle, line.kind, line.numbers["version"], line.numbers["timestamp_ms"])
            first.setdefault(key, line.time)
            heard.setdefault((*key, line.log_broker), line)
    late = [
        LateTelling(names.get(line.log_broker, line.log_broker), line, lag.total_seconds())
        for key, line in heard.items()
        if (lag := line.time - first[key[:-1]]) >= LATE
        and not _was_starting(starts.get(line.log_broker, ()), first[key[:-1]], line.time)
    ]
    return tuple(sorted(late, key=lambda each: (each.line.time, each.broker, each.line.line)))


def _was_starting(starts: Iterable[datetime], since: datetime, until: datetime) -> bool:
    """Return whether a broker started between two times, or just before or after them."""
    return any(since - _STARTING <= time <= until + _STARTING for time in starts)
