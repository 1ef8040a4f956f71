"""Writes of load reports that a recording missed: gaps in the versions of brokers' nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

#: (broker, after, before, why): some write between these two times was not recorded.
Gap: TypeAlias = tuple[str, datetime, datetime, str]


def missed_writes(reports: Iterable[Mapping[str, Any]]) -> tuple[Gap, ...]:
    """Return the gaps in the versions of each broker's node."""
    last: dict[str, Mapping[str, Any]] = {}
    gaps: list[Gap] = []
    for row in sorted(reports, key=write_time):
        gaps += missed_write(last.get(row["broker"]), row)
        last[row["broker"]] = row
    return tuple(gaps)


def missed_write(before: Mapping[str, Any] | None, row: Mapping[str, Any]) -> tuple[Gap, ...]:
    """Return the gap between two rows of one broker that follow on each other, if there is one."""
    if row["is_gone"] or row["version"] is None:
        return ()
    expected = 0 if before is None or before["is_gone"] else before["version"] + 1
    broker, version = row["broker"], row["version"]
    if version <= expected:
        return ()
    if before is None:
        after = datetime.min.replace(tzinfo=UTC)
        why = f"the recording begins after {broker} had written {version} times"
    else:
        after = write_time(before)
        versions = f"version {expected} was expected and {version} found"
        why = f"a write of {broker} was missed: {versions}"
    return ((broker, after, write_time(row), why),)


def write_time(row: Mapping[str, Any]) -> datetime:
    """Return when the leader heard of a row of `load_reports`."""
    time: datetime = row["time"] if row["is_gone"] or row["written"] is None else row["written"]
    return time
