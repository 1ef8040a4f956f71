"""What the parsing of one split has given so far: rows that wait, and what became of each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from trimtab.files.tables import INGESTED
from trimtab.ingest.columns import laid_out, table_of
from trimtab.ingest.entries import Row
from trimtab.ingest.outcome import Continuation, Origin, Other, Outcome, Rejected, Rows
from trimtab.ingest.sieve import Columns

#: Tables whose rows come from the workers; the driver writes the others itself.
PARSED = tuple(name for name in INGESTED if name not in {"recording", "files", "store_files"})
#: Classes of lines, in the order of the accounting.
CLASSES = ("rows", "other", "continuation", "rejected")
#: Characters of a rejected line that are kept.
_REJECT_LENGTH = 500
#: Lines without a logger that are shown, and so many characters of each.
_NAMELESS_LINES, _NAMELESS_LENGTH = 2, 120


class TableRows(NamedTuple):
    """Rows of one table."""

    table: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class SplitAccount:
    """What became of the lines of one split, and the digest of its bytes."""

    bytes: int
    is_damaged: bool
    lines: int
    rows: int
    other: int
    continuation: int
    rejected: int
    #: Table → rows that its lines gave.
    table_rows: Mapping[str, int]
    #: Where the bytes of the digest end, which `again` adds.
    end: int = 0
    #: Empty where the file cannot be read.
    digest: str = ""
    #: Bytes that were known and not parsed again.
    bytes_known: int = 0
    #: The files of an earlier run stand for it.
    is_linked: bool = False
    #: Lines of which nobody says who printed them, and the first of them.
    nameless: int = 0
    nameless_lines: Sequence[str] = ()


#: Table → rows that wait for a batch.
Waiting: TypeAlias = dict[str, list[dict[str, Any]]]
#: What a split gives: rows, and its accounting last of all.
SplitItem: TypeAlias = TableRows | SplitAccount


@dataclass(slots=True)
class SplitResult:
    """What one split has given so far."""

    origin: Origin
    bytes: int = 0
    is_damaged: bool = False
    #: Lines by counting their ends; the classes must add up to it.
    lines: int = 0
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    table_rows: dict[str, int] = field(default_factory=dict)
    nameless: int = 0
    nameless_lines: list[str] = field(default_factory=list)
    #: Rows of files before it may wait here, too.
    waiting: Waiting = field(default_factory=dict)
    waiting_rows: int = 0
    #: Table → rows that wait for a batch as tables.
    tables: dict[str, list[pa.Table]] = field(default_factory=dict)

    def add_table(self, table: str, rows: pa.Table) -> None:
        """Add rows of a table that are laid out."""
        if not len(rows):
            return
        self.tables.setdefault(table, []).append(rows)
        self.table_rows[table] = self.table_rows.get(table, 0) + len(rows)
        self.waiting_rows += len(rows)

    def add_columns(self, columns: Mapping[str, Columns]) -> None:
        """Add rows of some tables in columns."""
        for table, those in columns.items():
            self.add_table(table, laid_out(table, those, self.origin.file))

    def take(self, outcome: Outcome, text: str, line: int) -> None:
        """Add what became of a line."""
        match outcome:
            case Other(has_logger):
                self.classes["other"] += 1
                if not has_logger:
                    self.add_nameless(1, [text])
            case Continuation():
                self.classes["continuation"] += 1
            case Rejected(reason):
                self.classes["rejected"] += 1
                self.reject(reason, text, line)
            case Rows(rows):
                self.classes["rows"] += 1
                self.add(rows, line)

    def add(self, rows: Iterable[Row], line: int) -> None:
        """Add rows that came from a line."""
        for table, row in rows:
            # A row of a document brings its own line.
            self.waiting.setdefault(table, []).append(
                {"file": self.origin.file, "line": line} | row
            )
            self.table_rows[table] = self.table_rows.get(table, 0) + 1
            self.waiting_rows += 1

    def add_nameless(self, count: int, lines: Iterable[str]) -> None:
        """Count lines without a logger, and keep the first ones."""
        self.nameless += count
        self.nameless_lines += [line[:_NAMELESS_LENGTH] for line in lines]
        del self.nameless_lines[_NAMELESS_LINES:]

    def reject(self, reason: str, text: str, line: int) -> None:
        """Add a line that could not be read."""
        self.add([("rejects", {"reason": reason, "text": text[:_REJECT_LENGTH]})], line)

    def batches(self) -> Iterator[TableRows]:
        """Yield what waits, table by table."""
        for table in PARSED:
            tables = self.tables.pop(table, [])
            is_mixed = bool(tables) and table in self.waiting
            if rows := self.waiting.pop(table, None):
                tables.append(table_of(table, rows))
            if tables:
                joined = pa.concat_tables(tables)
                # Arrow's sort is stable: rows of one line keep their order.
                yield TableRows(table, joined.sort_by("line") if is_mixed else joined)
        self.waiting_rows = 0

    def account(self) -> SplitAccount:
        """Return the accounting, once nothing waits any more."""
        counts: dict[str, Any] = {"bytes": self.bytes, "lines": self.lines, **self.classes}
        table_rows = dict(sorted(self.table_rows.items()))
        counts |= {"nameless": self.nameless, "nameless_lines": tuple(self.nameless_lines)}
        return SplitAccount(is_damaged=self.is_damaged, table_rows=table_rows, **counts)
