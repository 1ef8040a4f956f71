"""A record whose message is no whole log line → the JSON line that a broker would have printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.ingest.wrapped.objects import at, first_at

#: Where collectors put thread, level and logger when they take a line apart.
_LOGGERS = (
    "logger", "loggerName", "log.logger", "logger_name", "logger.name", "attributes.logger.name",
    "attributes.logger", "fields.logger", "log.logger.name",
)  # fmt: skip
_LEVELS = (
    "level", "log.level", "severity", "severityText", "status", "attributes.level", "loglevel",
)  # fmt: skip
_THREADS = (
    "thread", "threadName", "process.thread.name", "thread_name", "logger.thread_name",
    "attributes.thread", "thread.name",
)  # fmt: skip
_MESSAGES = ("message", "msg", "body", "log")
#: Objects whose values are attributes of the message.
_ATTRIBUTES = ("attributes", "fields", "contextMap", "mdc", "labels")


def as_log_line(record: Mapping[str, Any], message: Any, time: datetime | None) -> str:
    """Return a record as a line of JSON with the keys that a broker's own layouts have.

    Args:
        record: what holds time, level, logger and message.
        message: its text; an object where that holds it.
        time: when the collector had it, where the record itself does not say.
    """
    if isinstance(message, str):
        text: Any = message
    else:
        text = first_at(record, _MESSAGES)
    stamp = first_at(record, ("@timestamp", "timestamp", "time", "instant", "timeMillis"))
    parts: dict[str, Any] = {
        "@timestamp": stamp if time is None else time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "thread": _text(record, _THREADS),
        "level": _level(_text(record, _LEVELS)),
        "logger": _text(record, _LOGGERS),
        "message": text if isinstance(text, str) else None,
    }
    line = {name: value for name, value in parts.items() if value is not None}
    return json.dumps(line | _attributes(record, line))


def _text(record: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    values = (at(record, path) for path in paths)
    return next((value for value in values if isinstance(value, str) and value), None)


def _level(text: str | None) -> str | None:
    return None if text is None else text.upper()


def _attributes(record: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further values of a record, those of the message's attributes among them."""
    known = {*line, "msg", *_LOGGERS, *_LEVELS, *_THREADS, "timestamp", "time", "ts"}
    inner = [value for name in _ATTRIBUTES if isinstance(value := record.get(name), dict)]
    return {
        name: value
        for each in (record, *inner)
        for name, value in each.items()
        if name not in known and isinstance(value, str | int | float)
    }
