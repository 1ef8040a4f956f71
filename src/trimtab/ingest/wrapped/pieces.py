"""A line of a collector's file → the log lines that are packed in it, however deep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timedelta, tzinfo
from typing import Any, NamedTuple

from msgspec import DecodeError
from msgspec.json import decode

from trimtab.ingest.wrapped.objects import at, broker_of, first_at, labels_of, plain
from trimtab.ingest.wrapped.shapes import DATED, LABELS, Shape, of_form
from trimtab.ingest.wrapped.structured import as_log_line
from trimtab.ingest.wrapped.times import moment, nanoseconds

#: Collectors pack what other collectors have packed, but not for ever.
_DEPTH_MAX = 5
#: A line in the distribution's layout, which nothing has wrapped.
_STANDARD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[,.]\d{3}[+-]\d{4} \[", re.ASCII)
_DATED = re.compile(DATED, re.ASCII)
#: A time of day alone, as Pulsar's console prints it.
_UNDATED = re.compile(r"(?:\x1b\[[\d;]*m)?(\d\d):(\d\d):(\d\d)[.,]\d", re.ASCII)
#: A line that belongs to the one before it.
_CONTINUATION = re.compile(
    r"\s|$|(?:Caused by|Suppressed|Wrapped by):|\.\.\. \d+ |at [\w.$/<>]+\(|(?:[a-z_]\w*\.)+[A-Z]"
    r"[\w$]*(?::\s|:?$)|[A-Z][\w$]*(?:Exception|Error)(?::\s|:?$)"
)
_PAIR = re.compile(r'([A-Za-z_@][\w.@-]*)=(?:"((?:[^"\\]|\\.)*)"|(\S*))', re.ASCII)
_TEXT, _JSON, _LOGFMT = of_form("text"), of_form("json"), of_form("logfmt")
_NO_RANK = len(LABELS)


class Piece(NamedTuple):
    """A log line, unwrapped; it may have further lines in it, such as a stack trace."""

    text: str
    #: When the collector had it; None where it does not say.
    time_ns: int | None
    #: Whose it is by its labels; empty where none says so.
    broker: str = ""
    #: Of the label, see `broker_of`.
    rank: int = _NO_RANK
    #: The next piece of the same broker is the rest of this line.
    goes_on: bool = False


class Unwrapping:
    """What unwraps the lines of one file, and remembers the prefixes that stood before dated ones.

    A prefix that proves nothing by itself, such as two words, counts before a stack trace where
    it stood before a dated line.
    """

    def __init__(self, zone: tzinfo = UTC) -> None:
        """Take the zone of times that are printed without one."""
        self._zone = zone
        #: Shape → what stood before and behind the time in its prefixes → the prefix as expression.
        self._prefixes: dict[Shape, dict[tuple[str, str], re.Pattern[str]]] = {}

    def pieces(self, text: str) -> list[Piece] | None:
        """Return what is packed in a line; None if nothing has wrapped it."""
        return self._pieces(text, 0)

    def pieces_of(self, value: Any) -> list[Piece] | None:
        """Return what is packed in a value of JSON; None where no shape fits."""
        return self._of_value(value, (), 0)

    def row(self, shape: Shape, cells: Mapping[str, Any]) -> list[Piece]:
        """Return what is packed in a row of a table."""
        return self._of_record(shape, cells, (), 0)

    def _pieces(self, text: str, depth: int) -> list[Piece] | None:
        if depth > _DEPTH_MAX or _STANDARD.match(text):
            return None
        if text.startswith(("{", "[{", "[ {")):
            value = decoded(text)
            return None if value is None else self._of_value(value, (), depth)
        for shape in _TEXT:
            match = shape.pattern.match(text) or self._known(shape, text)
            if match is not None:
                return self._of_text(shape, match, text, depth)
        if "msg=" in text and (pairs := _pairs(text)):
            return self._of_first(_LOGFMT, pairs, (), depth)
        return None

    # ------------------------------------------------------------------ prefixes

    def _known(self, shape: Shape, text: str) -> re.Match[str] | None:
        """Return an unsure prefix that stood before a dated line of this file."""
        matches = (pattern.match(text) for pattern in self._prefixes.get(shape, {}).values())
        return next((match for match in matches if match is not None), None)

    def _remember(self, shape: Shape, match: re.Match[str]) -> None:
        """Know a prefix again, whatever the time in it."""
        prefix = match[0]
        start, end = match.span("time") if "time" in shape.pattern.groupindex else (0, 0)
        head, tail = prefix[:start], prefix[end:]
        known = self._prefixes.setdefault(shape, {})
        if (head, tail) in known:
            return
        time = r"(?P<time>[\dTZ:.+-]{19,40})" if end > start else ""
        broker = re.escape(match.groupdict().get("broker") or "")
        whole = f"{re.escape(head)}{time}{re.escape(tail)}"
        if broker:
            whole = whole.replace(broker, f"(?P<broker>{broker})", 1)
        known[head, tail] = re.compile(whole)

    def _of_text(
        self, shape: Shape, match: re.Match[str], text: str, depth: int
    ) -> list[Piece] | None:
        groups = match.groupdict()
        line = groups.get("line") or text[match.end() :]
        if not shape.is_sure:
            self._remember(shape, match)
        rank, broker = broker_of([groups.get("labels")])
        if groups.get("broker"):
            rank, broker = 0, groups["broker"]
        piece = Piece(
            line, nanoseconds(groups.get("time")), broker, rank, groups.get("part") == "P"
        )
        return self._inner(piece, depth)

    # ---------------------------------------------------------------------- JSON

    def _of_value(self, value: Any, around: tuple[Any, ...], depth: int) -> list[Piece] | None:
        if isinstance(value, list):
            several = [self._of_value(item, around, depth) for item in value]
            if not any(several):
                return None
            return [
                piece
                for item, pieces in zip(value, several, strict=True)
                for piece in (pieces or [Piece(json.dumps(item), None)])
            ]
        return self._of_first(_JSON, value, around, depth) if isinstance(value, dict) else None

    def _of_first(
        self, shapes: Sequence[Shape], value: Any, around: tuple[Any, ...], depth: int
    ) -> list[Piece] | None:
        """Return what the first shape that fits gives."""
        for shape in shapes:
            if all(at(value, key) is not None for key in shape.keys):
                if shape.records:
                    return self._of_records(shape, value, around, depth)
                if not shape.beside or value.keys() <= {*shape.keys, *shape.beside}:
                    return self._of_record(shape, value, around, depth)
        return None

    def _of_records(
        self, shape: Shape, value: Any, around: tuple[Any, ...], depth: int
    ) -> list[Piece]:
        pieces: list[Piece] = []
        for record, parents in _records(value, shape.records, around):
            if shape.line:
                pieces += self._of_record(shape, record, parents, depth)
            else:
                inner = self._of_value(record, parents, depth + 1)
                pieces += inner or [Piece(json.dumps(record), None)]
        return pieces

    def _of_record(
        self, shape: Shape, record: Any, around: tuple[Any, ...], depth: int
    ) -> list[Piece]:
        line = plain(at(record, shape.line))
        time_ns = nanoseconds(first_at(record, shape.times))
        everywhere = (record, *around)
        places = [at(each, path) for path in shape.labels for each in everywhere]
        rank, broker = broker_of([*places, *everywhere])
        if isinstance(line, list):
            line = _of_bytes(line)
        if isinstance(line, str) and (shape.is_cut or self._is_whole(line)):
            goes_on = shape.is_cut and not line.endswith("\n")
            return self._inner(Piece(line.rstrip("\r\n"), time_ns, broker, rank, goes_on), depth)
        holder = line if isinstance(line, dict) else _holder(record, shape.line)
        text = as_log_line(holder, line, None if time_ns is None else moment(time_ns))
        return [Piece(text, time_ns, broker, rank)]

    @staticmethod
    def _is_whole(line: str) -> bool:
        """Return whether a record's line says all that a line of a log says, or is part of one."""
        return bool(_DATED.match(line) or _CONTINUATION.match(line))

    def _inner(self, piece: Piece, depth: int) -> list[Piece]:
        """Return what is packed in a piece, or the piece itself."""
        inner = None if piece.goes_on else self._pieces(piece.text, depth + 1)
        if inner is None:
            return [piece._replace(text=self._dated(piece.text, piece.time_ns))]
        return [
            each._replace(
                time_ns=piece.time_ns if piece.time_ns is not None else each.time_ns,
                broker=each.broker if each.rank < piece.rank else piece.broker,
                rank=min(each.rank, piece.rank),
            )
            for each in inner
        ]

    def _dated(self, text: str, time_ns: int | None) -> str:
        """Return a line with the time of day alone with the day on which the collector had it."""
        match = None if time_ns is None else _UNDATED.match(text)
        if match is None or time_ns is None:
            return text
        collected = moment(time_ns).astimezone(self._zone)
        hour, minute, second = (int(match[i]) for i in (1, 2, 3))
        late_s = (collected.hour - hour) * 3600 + (collected.minute - minute) * 60
        late_s += collected.second - second
        # Collected up to half a day later, or earlier by a clock that is not kept.
        days = round(late_s / 86_400)
        day = (collected + timedelta(days=days)).date()
        begin = match.start(1)
        return f"{text[:begin]}{day.isoformat()} {text[begin:]}"


def is_dated(text: str) -> bool:
    """Return whether a text begins as a log line does, or as something that packs one."""
    return _DATED.match(text) is not None


def decoded(text: str) -> Any:
    """Return the value of a JSON text; None if it is none."""
    try:
        return decode(text)
    except (DecodeError, ValueError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _records(
    value: Any, paths: Sequence[str], around: tuple[Any, ...]
) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the records of a document, each with the objects around it, the nearest first."""
    if not paths:
        yield value, around
        return
    items = at(value, paths[0])
    for item in items if isinstance(items, list) else ():
        yield from _records(item, paths[1:], (value, *around))


def _holder(record: Any, path: str) -> Mapping[str, Any]:
    """Return the object in which a record's line stands."""
    head, _, _ = path.rpartition(".")
    holder = at(record, head) if head and path not in record else record
    return holder if isinstance(holder, dict) else labels_of(record)


def _of_bytes(line: list[Any]) -> str:
    """Return the text of bytes that journald lists one by one."""
    if all(isinstance(byte, int) and 0 <= byte < 256 for byte in line):
        return bytes(line).decode("utf-8", "replace")
    return json.dumps(line)


def _pairs(text: str) -> dict[str, str]:
    """Return the pairs of logfmt."""
    return {
        name: bare or re.sub(r"\\(.)", r"\1", quoted) for name, quoted, bare in _PAIR.findall(text)
    }
