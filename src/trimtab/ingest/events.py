"""Rows of `log_events` as columns: many messages become arrays at once.

The same rows as `broker_log` makes one by one, for the messages that come in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from trimtab.files.tables import INGESTED
from trimtab.ingest.broker_log import messages_of_class
from trimtab.ingest.json_fields import check_filled
from trimtab.ingest.messages.java_text import ABSENT, is_usual_map, printed_list, printed_map
from trimtab.ingest.messages.message import COLUMNS, Message, converters
from trimtab.ingest.outcome import Origin
from trimtab.ingest.printed_columns import (
    NOTHING,
    numbers_by_name,
    printed_lists,
    printed_maps,
)
from trimtab.ingest.standard_times import LENGTH, standard_times

_SCHEMA = INGESTED["log_events"]
#: Columns that say where a message stands, who printed it, and what it is.
_FRAME = ("time", "log_broker", "thread", "level", "logger", "kind", "text")
check_filled("log_events", (*_FRAME, *COLUMNS))
#: A line's place among the hits, and what the groups of an expression have found in it.
_Groups: TypeAlias = tuple[int, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A message, laid out for reading many lines of it."""

    message: Message
    #: The message's needle as it stands in a file.
    needle: bytes
    #: Column or number → how it is read, in the order of the pattern's groups; None for a
    #: message whose lines are read singly.
    converters: dict[str, Callable[[str], Any]] | None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Who printed a line."""

    thread: str
    level: str
    #: Simple name of the class.
    logger: str
    #: What it may print, in the order in which it is tried.
    forms: tuple[Form, ...]


@dataclass(slots=True)
class Hits:
    """Lines in the distribution's layout that may be messages, not read yet, in columns."""

    #: Numbers of the lines, from 1.
    lines: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    #: Without their ends.
    texts: list[bytes] = field(default_factory=list)
    #: Where in each the message begins.
    begins: list[int] = field(default_factory=list)
    #: Whose needles stand in each, in the order in which they are tried.
    forms: list[tuple[Form, ...]] = field(default_factory=list)

    def add(self, others: Hits) -> None:
        """Add others behind these."""
        self.lines += others.lines
        self.sources += others.sources
        self.texts += others.texts
        self.begins += others.begins
        self.forms += others.forms


#: What reads many values at once, in place of a converter.
_AT_ONCE: Mapping[Callable[[str], Any], Callable[[Sequence[str | None]], pa.Array]] = {
    printed_map: printed_maps,
    printed_list: printed_lists,
}


class _Filled(NamedTuple):
    """Lines of one form, read."""

    form: Form
    #: Their places among the hits.
    rows: tuple[int, ...]
    #: Column, or number → a value a line, as the form's converters give them; maps and lists
    #: are Arrow's.
    values: dict[str, Any]


@lru_cache(maxsize=4096)
def forms_of(name: str) -> tuple[Form, ...]:
    """Return the messages that a class may print."""
    return tuple(
        Form(message, message.needle.encode(), None if message.attributes else converters(message))
        for message in messages_of_class(name)
    )


def event_rows(hits: Hits, origin: Origin) -> tuple[pa.Table, list[tuple[int, bytes]]]:
    """Return the rows of the lines of one file that are messages as they usually are.

    Returns:
        The rows, in the order of their lines, and number and text of each line that is to be
        read singly.
    """
    heads = np.frombuffer(b"".join([text[:LENGTH] for text in hits.texts]), np.uint8)
    times, exist = standard_times(heads.reshape(-1, LENGTH))
    # Lines have no ends in them, so what is no UTF-8 spoils no other line.
    ours = [text[begin:] for text, begin in zip(hits.texts, hits.begins, strict=True)]
    joined = b"\n".join(ours).decode("utf-8", "replace")
    texts = [text.lstrip(" ").rstrip() for text in joined.split("\n")]
    filled = list(_read(hits.forms, texts, np.flatnonzero(exist).tolist()))
    places = np.fromiter(chain.from_iterable(form.rows for form in filled), np.int64)
    is_left = np.ones(len(texts), np.bool_)
    is_left[places] = False
    left = [(hits.lines[i], hits.texts[i]) for i in np.flatnonzero(is_left).tolist()]
    if not filled:
        return _SCHEMA.empty_table(), left
    lines = np.array(hits.lines)
    order = np.argsort(lines[places])
    places = places[order]
    rows = places.tolist()
    columns = {
        "time": times[places],
        "log_broker": pa.repeat(pa.scalar(origin.log_broker, pa.string()), len(rows)),
        "file": pa.repeat(pa.scalar(origin.file, pa.string()), len(rows)),
        "line": lines[places],
        "text": [texts[i] for i in rows],
        **_printed_by([hits.sources[i] for i in rows]),
    }
    arrays = [
        pa.array(columns[column.name], column.type)
        if column.name in columns
        else pa.concat_arrays([_column(form, column) for form in filled]).take(pa.array(order))
        for column in _SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA), left


def _printed_by(sources: Sequence[Source]) -> dict[str, pa.Array]:
    """Return the columns that say who printed lines."""
    codes = {source: code for code, source in enumerate(dict.fromkeys(sources))}
    places = pa.array([codes[source] for source in sources])
    return {
        "thread": pa.array([source.thread for source in codes]).take(places),
        "level": pa.array([source.level for source in codes]).take(places),
        "logger": pa.array([source.logger for source in codes]).take(places),
    }


def _read(
    forms: Sequence[tuple[Form, ...]], texts: Sequence[str], rows: list[int]
) -> Iterator[_Filled]:
    """Yield messages a form at a time: a line that one does not fit is tried with its next."""
    tried: dict[Form, list[int]] = {}
    for i in rows:
        tried.setdefault(forms[i][0], []).append(i)
    while tried:
        form, rows = tried.popitem()
        # A message in several values is read singly, also where a later one would fit.
        if form.converters is None:
            continue
        matches = list(map(form.message.pattern.fullmatch, map(texts.__getitem__, rows)))
        for i in (i for i, match in zip(rows, matches, strict=True) if match is None):
            if forms[i][-1] is not form:
                tried.setdefault(forms[i][forms[i].index(form) + 1], []).append(i)
        lines = [(i, match.groups()) for i, match in zip(rows, matches, strict=True) if match]
        if filled := _filled(form, _with_usual_maps(form, lines)):
            yield filled


def _with_usual_maps(form: Form, lines: list[_Groups]) -> list[_Groups]:
    """Return lines without those whose map is broken or odd."""
    group = form.message.pattern.groupindex.get("map")
    if group is None:
        return lines
    return [
        (i, groups)
        for i, groups in lines
        if (text := groups[group - 1]) is None or text in ABSENT or is_usual_map(text)
    ]


def _filled(form: Form, lines: list[_Groups]) -> _Filled | None:
    """Return the columns of lines of a form; None if there is nothing left.

    A line with a broken value is left out.
    """
    if not lines:
        return None
    rows, groups = zip(*lines, strict=True)
    try:
        return _Filled(form, rows, _converted(form, groups))
    except ValueError:
        return _filled(form, _whole(form, lines))


def _whole(form: Form, lines: list[_Groups]) -> list[_Groups]:
    """Return lines without a broken value: by halves, since in most stretches there is none."""
    try:
        _converted(form, [groups for _, groups in lines])
    except ValueError:
        half = len(lines) // 2
        return _whole(form, lines[:half]) + _whole(form, lines[half:]) if half else []
    return lines


def _converted(form: Form, groups: Sequence[tuple[str | None, ...]]) -> dict[str, Any]:
    """Return columns of texts, converted.

    Raises:
        ValueError: a value is broken.
    """
    values: dict[str, Any] = {}
    for (name, convert), texts in zip(
        (form.converters or {}).items(), zip(*groups, strict=True), strict=True
    ):
        if convert in _AT_ONCE:
            values[name] = _AT_ONCE[convert](texts)
        elif not NOTHING.isdisjoint(texts):
            values[name] = [None if text in NOTHING else convert(text) for text in texts]
        else:
            values[name] = texts if convert is str else list(map(convert, texts))
    return values


def _column(filled: _Filled, column: pa.Field) -> pa.Array:
    """Return what lines of one form give for a column."""
    n = len(filled.rows)
    if column.name == "kind":
        return pa.repeat(pa.scalar(filled.form.message.kind, pa.string()), n)
    if column.name == "numbers":
        numbers = {name[2:]: of for name, of in filled.values.items() if name.startswith("n_")}
        return numbers_by_name(numbers) if numbers else pa.nulls(n, column.type)
    values = filled.values.get(column.name)
    if values is None:
        return pa.nulls(n, column.type)
    return values if isinstance(values, pa.Array) else pa.array(values, column.type)
