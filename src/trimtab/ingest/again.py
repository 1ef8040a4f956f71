"""What a Spark task does with splits of which an earlier run may have read some already.

A split whose bytes are the same is not parsed again, and of one that has grown only the
new lines are; the rows of the others are taken from the earlier run's tables.  Where all
splits of a part are the same, the part itself can be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trimtab.files.packing import packed, unpacked
from trimtab.files.tables import INGESTED
from trimtab.ingest.fingerprint import Fingerprint, ends_with_a_line, fingerprint, is_made_of_lines
from trimtab.ingest.splits import Split
from trimtab.ingest.worker import CLASSES, ENVELOPE, parse_split
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER

#: Rows that travel together.
_BATCH_ROWS = 8192


class ChangedError(Exception):
    """A file changed between two looks at it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier run has written of a split."""

    fingerprint: Fingerprint
    #: As in the envelope.
    account: Mapping[str, Any]
    #: Lines of the file before the split.
    lines_before: int
    #: Table and file of each part that may hold its rows.
    parts: Sequence[tuple[str, Path]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A split, and what is known of it."""

    number: int
    split: Split
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The splits of one part."""

    pieces: tuple[Piece, ...]
    #: Number of the part that an earlier run wrote of the very same splits, if one did.
    known_as: int | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A split as it is now."""

    piece: Piece
    now: Fingerprint
    #: What is known of it holds for all of it, or for the lines up to where it ended.
    is_same: bool
    is_longer: bool


def run_group(group: Group) -> Iterator[pa.RecordBatch]:
    """Give the rows of a group's splits, and after those of each its accounting.

    Of a group whose part can be kept only the accounting is given.
    """
    seen = [_look(piece) for piece in group.pieces]
    is_linked = group.known_as is not None and all(each.is_same for each in seen)
    for each in seen:
        if is_linked:
            yield _known_account(each, is_linked=True)
        elif each.is_same:
            yield from _known_rows(each.piece)
            yield _known_account(each, is_linked=False)
        elif each.is_longer:
            yield from _known_rows(each.piece)
            yield from _rest(each)
        else:
            yield from _parsed(each)


def moved(rows: pa.Table, lines: int) -> pa.Table:
    """Return rows with so many lines added to the number of each line."""
    if not lines:
        return rows
    column = rows.schema.get_field_index("line")
    numbers = pc.add(rows.column(column), lines)
    return rows.set_column(column, rows.schema.field(column), numbers)


def _look(piece: Piece) -> _Seen:
    """Compare a split with what is known of it."""
    now = fingerprint(piece.split)
    known = piece.known.fingerprint if piece.known else None
    is_same = known is not None and known == now and bool(now.digest)
    is_longer = (
        known is not None
        and not is_same
        and is_made_of_lines(piece.split)
        and piece.split.start < known.end <= piece.split.end
        and known.end < now.end
        and fingerprint(piece.split, known.end) == known
        and ends_with_a_line(piece.split, known.end)
    )
    if known is not None and not is_same and piece.split.source == ZOOKEEPER:
        # What of it counts was decided for files that were the same.
        file = piece.split.origin.file
        raise ChangedError(f"{file}: it changed while it was read; ingest again")
    return _Seen(piece, now, is_same, is_longer)


def _parsed(seen: _Seen) -> Iterator[pa.RecordBatch]:
    for batch in parse_split(seen.piece.number, seen.piece.split):
        account = batch.column("account")[0].as_py()
        if account is None:
            yield batch
        else:
            yield _account(seen, account, {})


def _rest(seen: _Seen) -> Iterator[pa.RecordBatch]:
    """Parse what a split has grown by."""
    assert seen.piece.known is not None
    known = seen.piece.known.account
    rest = replace(seen.piece.split, start=seen.piece.known.fingerprint.end)
    for batch in parse_split(seen.piece.number, rest):
        row = batch.to_pylist()[0]
        if row["account"] is None:
            rows = unpacked(row["rows"])
            yield _envelope(seen.piece, row["table"], moved(rows, known["lines"]))
            continue
        new = row["account"]
        of_new = dict(new["table_rows"])
        tables = dict.fromkeys([*known["table_rows"], *of_new])
        sums = {name: known[name] + new[name] for name in ("bytes", "lines", *CLASSES)}
        sums["table_rows"] = [
            (table, known["table_rows"].get(table, 0) + of_new.get(table, 0)) for table in tables
        ]
        yield _account(seen, new | sums, {"bytes_known": known["bytes"]})


def _known_rows(piece: Piece) -> Iterator[pa.RecordBatch]:
    """Give the rows of a split that an earlier run has written, by their lines in the split."""
    assert piece.known is not None
    before, account = piece.known.lines_before, piece.known.account
    mine = [
        ("file", "=", piece.split.origin.file),
        ("line", ">", before),
        ("line", "<=", before + account["lines"]),
    ]
    for table, path in piece.known.parts:
        if account["table_rows"].get(table):
            rows = pq.read_table(path, filters=mine, partitioning=None)
            # The cast gives the schema's metadata the order that parsed rows have.
            rows = moved(rows.cast(INGESTED[table]), -before)
            for start in range(0, len(rows), _BATCH_ROWS):
                yield _envelope(piece, table, rows.slice(start, _BATCH_ROWS))


def _known_account(seen: _Seen, *, is_linked: bool) -> pa.RecordBatch:
    assert seen.piece.known is not None
    account = dict(seen.piece.known.account)
    account["table_rows"] = list(account["table_rows"].items())
    known = {"bytes_known": account["bytes"], "is_linked": is_linked}
    return _account(seen, account, known)


def _account(seen: _Seen, account: Mapping[str, Any], known: Mapping[str, Any]) -> pa.RecordBatch:
    found = {"end": seen.now.end, "digest": seen.now.digest}
    defaults = {"bytes_known": 0, "is_linked": False}
    row = {"split": seen.piece.number, "account": {**account, **found, **defaults, **known}}
    return pa.RecordBatch.from_pylist([row], ENVELOPE)


def _envelope(piece: Piece, table: str, rows: pa.Table) -> pa.RecordBatch:
    row = {"split": piece.number, "table": table, "rows": packed(rows)}
    return pa.RecordBatch.from_pylist([row], ENVELOPE)
