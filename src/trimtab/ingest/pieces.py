"""What a Spark task does with splits of which an earlier run may have read some already.

A split whose bytes are the same is not parsed again, and of one that has grown only the
new lines are; the rows of the others are taken from the earlier run's tables.  Where all
splits of a part are the same, the part itself can be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trimtab.files.places import readable
from trimtab.files.tables import INGESTED
from trimtab.ingest.fingerprint import Fingerprint, ends_with_a_line, fingerprint, is_made_of_lines
from trimtab.ingest.split_result import CLASSES, SplitAccount, SplitItem, TableRows
from trimtab.ingest.splits import Split
from trimtab.ingest.worker import ROW_SOURCES, parse_split, parse_together
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER


class ChangedError(Exception):
    """A file changed between two looks at it."""


@dataclass(frozen=True, slots=True)
class EarlierPiece:
    """What an earlier run has written of a split."""

    account: SplitAccount
    #: Lines of the file before the split.
    lines_before: int
    #: Table and file of each part that may hold its rows.
    parts: Sequence[tuple[str, Path]]

    @property
    def fingerprint(self) -> Fingerprint:
        """Return what was known of its bytes."""
        return Fingerprint(self.account.end, self.account.digest)


@dataclass(frozen=True, slots=True)
class Piece:
    """A split, and what is known of it."""

    number: int
    split: Split
    known: EarlierPiece | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The splits of one part."""

    pieces: tuple[Piece, ...]
    #: Number of the part that an earlier run wrote of the very same splits, if one did.
    known_as: int | None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A split as it is now."""

    piece: Piece
    now: Fingerprint
    #: What is known of it holds for all of it, or for the lines up to where it ended.
    is_same: bool
    is_longer: bool


def run_group(group: Group) -> Iterator[tuple[Piece, SplitItem]]:
    """Yield the rows of a group's splits, and after those of each its accounting.

    Rows of files that are parsed together stand with the last of them.  Of a group whose part
    can be kept only the accounting is given.
    """
    comparisons = [_look(piece) for piece in group.pieces]
    is_linked = group.known_as is not None and all(each.is_same for each in comparisons)
    for are_together, run in groupby(comparisons, _is_parsed_with_others):
        if are_together:
            those = list(run)
            yield from _with_pieces(those, parse_together([it.piece.split for it in those]))
            continue
        for each in run:
            if is_linked and each.piece.known:
                account = each.piece.known.account
                yield each.piece, replace(account, bytes_known=account.bytes, is_linked=True)
            else:
                yield from _with_pieces([each], _items(each))


def _is_parsed_with_others(comparison: _Comparison) -> bool:
    """Return whether a split can be parsed together with those beside it.

    Its file's first line must be its own: the lines before are added to the numbers of all rows
    that come at once.
    """
    split = comparison.piece.split
    is_new = not (comparison.is_same or comparison.is_longer)
    return is_new and not split.start and split.source in ROW_SOURCES


def _with_pieces(
    comparisons: Iterable[_Comparison], items: Iterable[SplitItem]
) -> Iterator[tuple[Piece, SplitItem]]:
    """Yield what some splits give, each with its piece, the accounting with what is known now."""
    following = iter(comparisons)
    each = next(following)
    for item in items:
        if isinstance(item, TableRows):
            yield each.piece, item
        else:
            yield each.piece, replace(item, end=each.now.end, digest=each.now.digest)
            each = next(following, each)


def moved(rows: pa.Table, lines: int) -> pa.Table:
    """Return rows with so many lines added to the number of each line."""
    if not lines:
        return rows
    column = rows.schema.get_field_index("line")
    numbers = pc.add(rows.column(column), lines)
    return rows.set_column(column, rows.schema.field(column), numbers)


def _look(piece: Piece) -> _Comparison:
    """Return a split, compared with what is known of it."""
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
    return _Comparison(piece, now, is_same, is_longer)


def _items(comparison: _Comparison) -> Iterator[SplitItem]:
    """Yield the rows of a split and its accounting, parsed as far as they are not known."""
    known = comparison.piece.known
    if known is None or not (comparison.is_same or comparison.is_longer):
        yield from parse_split(comparison.piece.split)
        return
    yield from _known_rows(known, comparison.piece.split.origin.file)
    if comparison.is_same:
        yield replace(known.account, bytes_known=known.account.bytes)
        return
    for item in parse_split(replace(comparison.piece.split, start=known.account.end)):
        if isinstance(item, TableRows):
            yield TableRows(item.table, moved(item.rows, known.account.lines))
        else:
            yield _sum(known.account, item)


def _known_rows(earlier: EarlierPiece, file: str) -> Iterator[TableRows]:
    """Yield the rows of a split that an earlier run has written, by their lines in the split."""
    before, account = earlier.lines_before, earlier.account
    mine = [("file", "=", file), ("line", ">", before), ("line", "<=", before + account.lines)]
    for table, path in earlier.parts:
        if account.table_rows.get(table):
            rows = pq.read_table(readable(path), filters=mine, partitioning=None)
            # The cast gives the schema's metadata the order that parsed rows have.
            yield TableRows(table, moved(rows.cast(INGESTED[table]), -before))


def _sum(earlier: SplitAccount, new: SplitAccount) -> SplitAccount:
    """Return the accounting of a split that has grown."""
    sums = {
        name: getattr(earlier, name) + getattr(new, name) for name in ("bytes", "lines", *CLASSES)
    }
    table_rows = Counter(earlier.table_rows) + Counter(new.table_rows)
    return replace(
        new,
        **sums,
        table_rows=table_rows,
        bytes_known=earlier.bytes,
        nameless=earlier.nameless + new.nameless,
        nameless_lines=[*earlier.nameless_lines, *new.nameless_lines][:2],
    )
