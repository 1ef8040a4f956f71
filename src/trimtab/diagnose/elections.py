"""Elections of leaders, by the brokers' logs and by the metadata store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.night import Event

#: What a broker logs when it is elected: one line, or both.
ELECTED = ("elected-leader", "leadership-acquired")
#: What a broker logs when it does not lead any more.
DEPOSED = ("follower", "leadership-released")
#: The two lines of one election are this close.
_SAME_LINES = timedelta(seconds=5)
#: The store's time and the log's line of one election are this close.
_SAME_ELECTION = timedelta(seconds=30)


def first_lines(events: Iterable[Event]) -> list[Event]:
    """Return the first line of every election that is told of, in order of time.

    Two lines of one broker are of one election if they are of different kinds, within five
    seconds, and the leadership was not lost between them.
    """
    firsts: list[Event] = []
    current: dict[str, list[Event]] = {}
    for event in events:
        if event.kind in DEPOSED:
            current.pop(event.log_broker, None)
        elif event.kind in ELECTED:
            lines = current.get(event.log_broker, [])
            is_other_line = bool(lines) and all(event.kind != line.kind for line in lines)
            if is_other_line and event.time - lines[0].time <= _SAME_LINES:
                lines.append(event)
            else:
                current[event.log_broker] = [event]
                firsts.append(event)
    return firsts


def with_elections(
    events: Sequence[Event], leaders: Iterable[Mapping[str, Any]], names: Mapping[str, str]
) -> list[Event]:
    """Return events with the elections added that the metadata store has and no log.

    Args:
        events: in order of time.
        leaders: rows of `leaders`.
        names: log folder → broker id.
    """
    logs = {broker: log for log, broker in names.items()}
    logged = first_lines(events)
    added = []
    for row in _elections(leaders):
        broker, time = row["broker"], _time(row)
        same = [
            event
            for event in logged
            if abs(event.time - time) < _SAME_ELECTION
            and names.get(event.log_broker, event.broker) in {broker, None}
        ]
        if same:
            logged.remove(min(same, key=lambda event: abs(event.time - time)))
            continue
        text = f"{broker} is the leader, says the metadata store"
        log = logs.get(broker, broker)
        added.append(
            Event(time, log, row["file"], row["line"], "elected-leader", text, broker=broker)
        )
    return sorted([*events, *added], key=lambda event: (event.time, event.file, event.line))


def _elections(leaders: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows that are elections: another broker, or a node that was made anew."""
    elections: list[Mapping[str, Any]] = []
    before: Mapping[str, Any] | None = None
    for row in sorted(leaders, key=_time):
        is_same = before is not None and before["broker"] == row["broker"]
        is_same_node = before is not None and (
            row["written"] in {None, before["written"]} or bool(row.get("version"))
        )
        if row["broker"] is not None and not (is_same and is_same_node):
            elections.append(row)
        before = row
    return elections


def _time(row: Mapping[str, Any]) -> datetime:
    """Return when the store took a row, or when it was looked at."""
    time: datetime = row["written"] or row["time"]
    return time
