"""Rows of `log_events` as columns: many messages become arrays at once.

The same rows as `broker_log` makes one by one, for the messages that come in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from trimtab.ingest.broker_log import messages_of_class
from trimtab.ingest.messages.message import ABSENT, COLUMNS, Message, converters
from trimtab.ingest.outcome import Origin
from trimtab.tables import INGESTED

_SCHEMA = INGESTED["log_events"]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A message, laid out for reading many lines of it."""

    message: Message
    #: The message's needle, and the same as it stands in a file.
    text: str
    needle: bytes
    #: Column or number → how it is read, in the order of the pattern's groups; None for a
    #: message whose lines are read singly.
    converters: dict[str, Callable[[str], Any]] | None

    def values(self, text: str) -> list[Any] | None:
        """Read the values of a message, in the order of the converters; None if it is another.

        Raises:
            ValueError: one of them is broken.
        """
        found = self.message.pattern.fullmatch(text)
        if found is None:
            return None
        parts = zip((self.converters or {}).values(), found.groups(), strict=True)
        return [
            None if part is None or part in ABSENT else convert(part) for convert, part in parts
        ]


class Source(NamedTuple):
    """Who printed a line."""

    thread: str
    level: str
    #: Simple name of the class.
    logger: str
    #: What it may print, in the order in which it is tried.
    forms: tuple[Form, ...]


class Event(NamedTuple):
    """A line that is a message, read."""

    #: Number of the line, from 1.
    line: int
    #: Microseconds since 1970.
    time_us: int
    source: Source
    text: str
    form: Form
    #: In the order of the form's converters.
    values: list[Any]


@lru_cache(maxsize=4096)
def forms_of(name: str) -> tuple[Form, ...]:
    """Give the messages that a class may print."""
    return tuple(
        Form(
            message,
            message.needle,
            message.needle.encode(),
            None if message.attributes else converters(message),
        )
        for message in messages_of_class(name)
    )


def event_rows(events: Sequence[Event], origin: Origin) -> pa.Table:
    """Make the rows of events of one file, in the order of their lines."""
    # No two have the same line, so that nothing else is compared.
    lines, times, sources, texts, forms, values = zip(*sorted(events), strict=True)
    columns: dict[str, Sequence[Any]] = {
        "time": times,
        "line": lines,
        "thread": [source.thread for source in sources],
        "level": [source.level for source in sources],
        "logger": [source.logger or None for source in sources],
        "kind": [form.message.kind for form in forms],
        "text": texts,
        **_filled(forms, values),
    }
    for name, value in (("file", origin.file), ("log_broker", origin.log_broker)):
        columns[name] = pa.repeat(pa.scalar(value, pa.string()), len(lines))
    arrays = [
        _maps(columns[column.name])
        if pa.types.is_map(column.type)
        else pa.array(columns[column.name], column.type)
        for column in _SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _filled(forms: Sequence[Form], values: Sequence[list[Any]]) -> dict[str, list[Any]]:
    """Return the columns that messages fill."""
    columns: dict[str, list[Any]] = {name: [None] * len(forms) for name in COLUMNS}
    for row, (form, given) in enumerate(zip(forms, values, strict=True)):
        numbers = {}
        for name, value in zip(form.converters or (), given, strict=True):
            if value is None:
                continue
            if name.startswith("n_"):
                numbers[name[2:]] = value
            else:
                columns[name][row] = value
        columns["numbers"][row] = numbers or None
    return columns


def _maps(maps: Sequence[dict[str, Any] | None]) -> pa.Array:
    """Lay maps of names to numbers, or to their texts, out one behind the other."""
    names: list[str] = []
    numbers: list[Any] = []
    begins: list[int | None] = []
    for each in maps:
        begins.append(None if each is None else len(names))
        if each is not None:
            names += each
            numbers += each.values()
    begins.append(len(names))
    return pa.MapArray.from_arrays(
        pa.array(begins, pa.int32()),
        pa.array(names, pa.string()),
        # Arrow reads numbers four times as fast as Python, to the same bit.
        pa.array(numbers).cast(pa.float64()),
    )
