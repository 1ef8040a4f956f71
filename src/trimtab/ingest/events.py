"""Rows of `log_events` as columns: many messages become arrays at once.

The same rows as `broker_log` makes one by one, for the messages that come in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from trimtab.files.tables import INGESTED
from trimtab.ingest.broker_log import messages_of_class
from trimtab.ingest.json_fields import check_filled
from trimtab.ingest.messages.java_text import ABSENT, is_usual_map, printed_map, usual_maps
from trimtab.ingest.messages.message import COLUMNS, Message, converters
from trimtab.ingest.outcome import Origin
from trimtab.ingest.standard_times import LENGTH, standard_times

_SCHEMA = INGESTED["log_events"]
#: Columns that say where a message stands, who printed it, and what it is.
_FRAME = ("time", "log_broker", "thread", "level", "logger", "kind", "text")
check_filled("log_events", (*_FRAME, *COLUMNS))
#: A line's place among the hits, and what the groups of an expression have found in it.
_Groups: TypeAlias = tuple[int, tuple[str | None, ...]]
#: Groups of a pattern that stand for nothing.
_NOTHING = ABSENT | {None}


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A message, laid out for reading many lines of it."""

    message: Message
    #: The message's needle as it stands in a file.
    needle: bytes
    #: Column or number → how it is read, in the order of the pattern's groups; None for a
    #: message whose lines are read singly.
    converters: dict[str, Callable[[str], Any]] | None


class Source(NamedTuple):
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


class _Filled(NamedTuple):
    """Lines of one form, read."""

    form: Form
    #: Their places among the hits.
    rows: list[int]
    #: Column, or number → a value a line, as the form's converters give them; maps are Arrow's.
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
    is_left = np.ones(len(texts), np.bool_)
    for form in filled:
        is_left[form.rows] = False
    left = [(hits.lines[i], hits.texts[i]) for i in np.flatnonzero(is_left).tolist()]
    if not filled:
        return _SCHEMA.empty_table(), left
    rows = list(chain.from_iterable(form.rows for form in filled))
    sources = [hits.sources[i] for i in rows]
    columns: dict[str, Sequence[Any] | pa.Array] = {
        "time": times[rows],
        "log_broker": pa.repeat(pa.scalar(origin.log_broker, pa.string()), len(rows)),
        "file": pa.repeat(pa.scalar(origin.file, pa.string()), len(rows)),
        "line": [hits.lines[i] for i in rows],
        "thread": [source.thread for source in sources],
        "level": [source.level for source in sources],
        "logger": [source.logger for source in sources],
        "text": [texts[i] for i in rows],
    }
    arrays = [
        pa.array(columns[column.name], column.type)
        if column.name in columns
        else pa.concat_arrays([_column(form, column) for form in filled])
        for column in _SCHEMA
    ]
    order = np.argsort(columns["line"])
    return pa.Table.from_arrays(arrays, schema=_SCHEMA).take(order), left


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
        for i, match in zip(rows, matches, strict=True):
            if match is None and forms[i][-1] is not form:
                tried.setdefault(forms[i][forms[i].index(form) + 1], []).append(i)
        groups = {i: match.groups() for i, match in zip(rows, matches, strict=True) if match}
        if filled := _filled(form, _with_usual_maps(form, groups)):
            yield filled


def _with_usual_maps(
    form: Form, lines: dict[int, tuple[str | None, ...]]
) -> dict[int, tuple[str | None, ...]]:
    """Return lines without those whose map is broken or odd."""
    group = form.message.pattern.groupindex.get("map")
    if group is None:
        return lines
    return {
        i: groups
        for i, groups in lines.items()
        if (text := groups[group - 1]) is None or text in ABSENT or is_usual_map(text)
    }


def _filled(form: Form, groups: dict[int, tuple[str | None, ...]]) -> _Filled | None:
    """Return the columns of a form's groups; None if there is nothing left.

    A line with a broken value is left out.
    """
    if not groups:
        return None
    try:
        return _Filled(form, list(groups), _converted(form, list(groups.values())))
    except ValueError:
        return _filled(form, dict(_whole(form, list(groups.items()))))


def _whole(form: Form, lines: list[_Groups]) -> list[_Groups]:
    """Return lines without a broken value: by halves, since in most stretches there is none."""
    try:
        _converted(form, [groups for _, groups in lines])
    except ValueError:
        half = len(lines) // 2
        return _whole(form, lines[:half]) + _whole(form, lines[half:]) if half else []
    return lines


def _converted(form: Form, groups: list[tuple[str | None, ...]]) -> dict[str, Any]:
    """Return columns of texts, converted.

    Raises:
        ValueError: a value is broken.
    """
    values: dict[str, Any] = {}
    for (name, convert), texts in zip(
        (form.converters or {}).items(), zip(*groups, strict=True), strict=True
    ):
        if convert is printed_map:
            values[name] = _maps(texts)
        elif not _NOTHING.isdisjoint(texts):
            values[name] = [None if text in _NOTHING else convert(text) for text in texts]
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
        return _numbers(numbers) if numbers else pa.nulls(n, column.type)
    values = filled.values.get(column.name)
    if values is None:
        return pa.nulls(n, column.type)
    return values if column.name == "scores" else pa.array(values, column.type)


def _numbers(columns: dict[str, Sequence[float | None]]) -> pa.Array:
    """Return columns of numbers as a map a row."""
    width, n = len(columns), len(next(iter(columns.values())))
    values = np.array(list(columns.values()), object).T.ravel()
    is_known = values != np.array(None)
    # Row after row, those that are not known left out.
    ends = np.append(0, np.cumsum(is_known)[width - 1 :: width])
    is_empty = np.append(ends[1:] == ends[:-1], [False])
    names = pa.array(list(columns), pa.string())
    return pa.MapArray.from_arrays(
        pa.array(ends, pa.int32(), mask=is_empty),
        names.take(pa.array(np.tile(np.arange(width), n)[is_known])),
        pa.array(values[is_known], pa.float64()),
    )


def _maps(texts: Sequence[str | None]) -> pa.Array:
    """Return printed maps of names to numbers, one behind the other.

    Raises:
        ValueError: one has a name twice.
    """
    printed = [text for text in texts if text is not None and text not in ABSENT]
    counts, names, numbers = usual_maps(printed)
    is_absent = [text in _NOTHING for text in texts]
    sizes = np.zeros(len(texts) + 1, np.int64)
    sizes[1:][~np.array(is_absent)] = counts
    return pa.MapArray.from_arrays(
        pa.array(np.cumsum(sizes), pa.int32(), mask=np.array([*is_absent, False])),
        pa.array(names, pa.string()),
        # Arrow reads numbers four times as fast as Python, to the same bit.
        pa.array(numbers, pa.string()).cast(pa.float64()),
    )
