"""A collector's file → the log lines in it, each with its number, whose it is, and when."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from trimtab.ingest.wrapped.pieces import Piece, Unwrapping, decoded, is_dated
from trimtab.ingest.wrapped.shapes import Shape, of_form

_CSV = of_form("csv")
#: Lines of one row of a table; a quote that is never closed costs no more than these.
_ROW_LINES_MAX = 1_000


class Entry(NamedTuple):
    """A log line in a file, and the lines that belong to it."""

    #: Its line in the file; where a document holds it, its number among those of the document.
    number: int
    text: str
    time_ns: int | None = None
    broker: str = ""


@dataclass(slots=True)
class Entries:
    """What is in a file."""

    entries: list[Entry] = field(default_factory=list)
    #: Lines of the file that are a part of a line that stands elsewhere in it.
    joined: int = 0
    #: Broker → the line that goes on in the next of its pieces.
    _open: dict[str, Entry] = field(default_factory=dict)

    def add(self, number: int, piece: Piece) -> None:
        """Add a piece of a line, or a whole one."""
        begun = self._open.pop(piece.broker, None)
        entry = Entry(number, piece.text, piece.time_ns, piece.broker)
        if begun is not None and is_dated(piece.text):
            # What was to go on was lost.
            self.entries.append(begun)
        elif begun is not None:
            entry = begun._replace(text=begun.text + piece.text)
            self.joined += 1
        if piece.goes_on:
            self._open[piece.broker] = entry
        else:
            self.entries.append(entry)

    def close(self) -> Entries:
        """Return all of it once nothing more comes."""
        self.entries += self._open.values()
        self._open = {}
        return self


def entries_of(lines: Sequence[str], zone: tzinfo = UTC) -> Entries:
    """Return the log lines in the lines of a file.

    A line that nothing has wrapped is one as it stands.
    """
    found, unwrapping = Entries(), Unwrapping(zone)
    if (shape := header_shape(lines[0] if lines else "")) is not None:
        places = _rows(lines, shape, unwrapping)
    elif (values := _documents(lines)) is not None:
        places = enumerate(_of_values(values, unwrapping), 1)
    else:
        places = _of_lines(lines, 1, unwrapping)
    for number, piece in places:
        found.add(number, piece)
    return found.close()


def header_shape(line: str) -> Shape | None:
    """Return the shape of a table by its header; None where it is none of ours."""
    if "," not in line and not line.strip('"').startswith(("_raw", "@message")):
        return None
    names = set(_cells([line.lstrip("\ufeff")]) or ())
    return next((shape for shape in _CSV if names.issuperset(shape.keys)), None)


def _of_lines(
    lines: Sequence[str], first: int, unwrapping: Unwrapping
) -> Iterator[tuple[int, Piece]]:
    for number, text in enumerate(lines, first):
        pieces = unwrapping.pieces(text)
        if pieces is None:
            yield number, Piece(text, None)
        else:
            yield from ((number, piece) for piece in pieces)


# ------------------------------------------------------------------------------ documents


def _documents(lines: Sequence[str]) -> list[Any] | None:
    """Return the values of a file that is JSON over several lines; None if it is not."""
    first = next((line for line in lines if line.strip()), "")
    if not first.startswith(("{", "[")) or decoded(first) is not None:
        return None
    text = "\n".join(lines)
    value = decoded(text)
    if value is not None:
        return [value]
    return _one_after_another(text)


def _one_after_another(text: str) -> list[Any] | None:
    """Return values that stand one behind the other; None where what follows is none."""
    values, place, decoder = [], 0, json.JSONDecoder()
    while (place := place + len(text[place:]) - len(text[place:].lstrip(" \r\n\t,"))) < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None
        values.append(value)
    return values


def _of_values(values: Sequence[Any], unwrapping: Unwrapping) -> Iterator[Piece]:
    for value in values:
        pieces = unwrapping.pieces_of(value)
        if pieces is not None:
            yield from pieces
        else:
            yield Piece(json.dumps(value), None)


# ---------------------------------------------------------------------------------- tables


def _rows(
    lines: Sequence[str], shape: Shape, unwrapping: Unwrapping
) -> Iterator[tuple[int, Piece]]:
    """Yield the log lines of a table, each with the line in which its row begins."""
    header = _cells([lines[0].lstrip("\ufeff")]) or []
    yield 1, Piece("", None)
    place = 1
    while place < len(lines):
        cells, end = _row(lines, place, len(header))
        if cells is None:
            # Not a row: whatever it is, it is read as it stands.
            yield place + 1, Piece(lines[place], None)
        else:
            record = dict(zip(header, cells, strict=True))
            yield from ((place + 1, piece) for piece in unwrapping.row(shape, record))
        place = end


def _row(lines: Sequence[str], place: int, width: int) -> tuple[list[str] | None, int]:
    """Return the cells of the row that begins in a line, or None, and where the next begins."""
    quotes = 0
    for end in range(place, min(place + _ROW_LINES_MAX, len(lines))):
        quotes += lines[end].count('"')
        if quotes % 2:
            continue
        cells = _cells(f"{line}\n" for line in lines[place : end + 1])
        if cells is not None and len(cells) == width:
            return [cell.rstrip("\n") for cell in cells], end + 1
        break
    return None, place + 1


def _cells(lines: Iterable[str]) -> list[str] | None:
    """Return the cells of a row; None where it is none."""
    try:
        return next(csv.reader(lines), [])
    except csv.Error:
        return None
