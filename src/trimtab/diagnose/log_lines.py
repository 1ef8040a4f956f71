"""Rows of `log_events` → lines by the right clock, and who acquired a bundle by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.night import Event


def log_lines(rows: Iterable[Mapping[str, Any]], ahead: Mapping[str, timedelta]) -> list[Event]:
    """Return lines of the logs, in order of time, file and line.

    `ahead`: log folder → what is taken off the times of its lines.
    """
    none = timedelta(0)
    events = [
        Event(
            **{
                **row,
                "time": row["time"] - ahead.get(row["log_broker"], none),
                "numbers": dict(row["numbers"] or ()),
                "scores": dict(row["scores"] or ()),
                "brokers": tuple(row["brokers"] or ()),
            }
        )
        for row in rows
    ]
    return sorted(events, key=lambda event: (event.time, event.file, event.line))


def acquisitions(
    events: Iterable[Event], names: Mapping[str, str]
) -> dict[str, list[tuple[datetime, str]]]:
    """Return by bundle which brokers say that they acquired it, of lines in order of time."""
    by_bundle: dict[str, list[tuple[datetime, str]]] = {}
    for event in events:
        broker = names.get(event.log_broker)
        if broker is not None and event.bundle is not None:
            by_bundle.setdefault(event.bundle, []).append((event.time, broker))
    return by_bundle
