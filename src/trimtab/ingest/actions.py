"""What people did to the cluster while it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator

from trimtab.ingest.entries import Entry, Row, of_entry


@of_entry
def action(entry: Entry) -> Iterator[Row]:
    """Yield the row of one action.

    Example line: `{"time": "2026-11-21T06:37:58.806Z", "event": "broker_start",
    "broker": 2, "id": "10.0.0.2:8080"}`

    Quirks:
        A broker's id stands under `broker`, or under `id` where `broker` is a number.
    """
    broker = next((entry.values[key] for key in ("broker", "id") if _is_name(entry, key)), None)
    yield (
        "actions",
        {
            "time": entry.moment("time"),
            "event": entry.text("event"),
            "broker": broker,
            # Escaped to ASCII, so that whatever the entry holds can be written.
            "detail": json.dumps(entry.values),
        },
    )


def _is_name(entry: Entry, key: str) -> bool:
    value = entry.values.get(key)
    return isinstance(value, str) and value.isprintable()
