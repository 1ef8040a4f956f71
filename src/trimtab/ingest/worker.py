"""What one Spark task does: read its splits, parse their lines, give rows of tables.

Runs in Spark's Python workers and, without Spark, in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.files.tables import INGESTED
from trimtab.ingest.actions import action
from trimtab.ingest.averages import listed_averages, store_bundles
from trimtab.ingest.blocks import log_lines
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.columns import laid_out, table_of
from trimtab.ingest.confs import conf_line, helm_values, runtime_config
from trimtab.ingest.days import of_days
from trimtab.ingest.entries import Row
from trimtab.ingest.events import Hits, event_rows
from trimtab.ingest.exports import exported_samples, query_range
from trimtab.ingest.load_reports import (
    answered_reports,
    load_report,
    store_broker,
    stored_reports,
)
from trimtab.ingest.metrics import prom_line
from trimtab.ingest.outcome import Continuation, Origin, Other, Outcome, Rejected, Rows
from trimtab.ingest.sieve import Columns, Sieve, every_line
from trimtab.ingest.splits import DamagedError, Split, count_lines, lines_of, read_blocks
from trimtab.ingest.store import store_leader, store_ownership
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.ingest.wrapped.lines_by_broker import unwrapped
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER
from trimtab.ingest.zookeeper import StoreFile
from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError

Parser: TypeAlias = Callable[[str, Origin], Outcome]

#: Source → the parser of one line of it.
LINE_PARSERS: dict[str, Parser] = {
    "conf": conf_line,
    "log": broker_log,
    "load-reports": load_report,
    "store-brokers": store_broker,
    "store-leader": store_leader,
    "store-bundles": store_bundles,
    "store-ownership": store_ownership,
    "metrics": prom_line,
    "actions": action,
}
#: Source → what reads most of its lines a block at a time; their parser would say the same.
SIEVES: dict[str, Sieve] = {
    "log": log_lines,
    "load-reports": answered_reports,
    "store-brokers": stored_reports,
    "store-bundles": listed_averages,
}
#: Source → the parser of a whole document; its rows say their line within it.
DOCUMENT_PARSERS: dict[str, Parser] = {
    "helm-values": helm_values,
    "runtime-config": runtime_config,
    "metrics-export": query_range,
}
#: Source → what reads a document as a whole, or nothing; its parser would say the same.
DOCUMENT_SIEVES: dict[str, Callable[[bytes, Origin], Mapping[str, Columns]]] = {
    "metrics-export": exported_samples
}

#: Tables whose rows come from the workers; the driver writes the others itself.
PARSED = tuple(name for name in INGESTED if name not in {"recording", "files", "store_files"})
#: Classes of lines, in the order of the accounting.
CLASSES = ("rows", "other", "continuation", "rejected")
#: Rows that wait for a batch: enough for Arrow to be cheap, few enough for memory.
_BATCH_ROWS = 4096
#: Characters of a rejected line that are kept.
_REJECT_LENGTH = 500


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


#: What a split gives: rows, and its accounting last of all.
SplitItem: TypeAlias = TableRows | SplitAccount


@dataclass(slots=True)
class _SplitResult:
    """What one split has given so far."""

    origin: Origin
    bytes: int = 0
    is_damaged: bool = False
    #: Lines by counting their ends; the classes must add up to it.
    lines: int = 0
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    table_rows: dict[str, int] = field(default_factory=dict)
    #: Table → rows that wait for a batch.
    waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
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
            case Other():
                self.classes["other"] += 1
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
        return SplitAccount(is_damaged=self.is_damaged, table_rows=table_rows, **counts)


def parse_split(split: Split) -> Iterator[SplitItem]:
    """Yield the rows of one split, then its accounting.

    Lines are numbered from 1 at the start of the split, and so are transactions.  Where a
    file breaks off, what is left of it counts as one rejected line.
    """
    if split.source == WRAPPED:
        yield from _parse_wrapped(split)
        return
    if split.source != ZOOKEEPER:
        yield from parse_blocks(split.origin, split.source, read_blocks(split), split.start)
        return
    result = _SplitResult(split.origin)
    yield from _parse_store_file(result, split)
    yield from result.batches()
    yield result.account()


def parse_blocks(
    origin: Origin, source: str, blocks: Iterable[bytes], place: int = 0
) -> Iterator[SplitItem]:
    """Yield the rows of blocks of whole lines as `parse_split` does those of a file.

    Args:
        origin: where the lines stand.
        source: what kind of file they are read as.
        blocks: bytes; a DamagedError in place of the next one is accounted for.
        place: where in the file the first of them begins.
    """
    result = _SplitResult(origin)
    if source in DOCUMENT_PARSERS:
        _parse_document(result, source, blocks)
    else:
        yield from _parse_lines(result, source, of_days(origin, blocks, place))
    yield from result.batches()
    yield result.account()


def _parse_wrapped(split: Split) -> Iterator[SplitItem]:
    """Yield the rows of a collector's file: those of each broker as those of a log of its own."""
    result = _SplitResult(split.origin)
    content = []
    try:
        for block in read_blocks(split):
            result.bytes += len(block)
            content.append(block)
    except DamagedError as damage:
        result.is_damaged = True
        result.lines = 1
        result.take(Rejected(damage.reason), damage.rest, count_lines(b"".join(content)) + 1)
    logs = unwrapped(lines_of(b"".join(content)), split.origin.zone)
    result.lines += logs.joined
    result.classes["continuation"] += logs.joined
    for log in logs.brokers:
        origin = replace(split.origin, log_broker=log.broker or split.origin.log_broker)
        for item in parse_blocks(origin, "log", log.blocks()):
            if isinstance(item, TableRows):
                result.add_table(item.table, _numbered(item.rows, log.numbers))
                continue
            result.lines += item.lines
            for name in CLASSES:
                result.classes[name] += getattr(item, name)
    for rows in result.batches():
        yield TableRows(rows.table, rows.rows.sort_by("line"))
    yield result.account()


def _numbered(rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    """Return rows with the numbers of their entries in place of those of their lines."""
    column = rows.schema.get_field_index("line")
    entries = pa.array(numbers, pa.int64()).take(pc.subtract(rows.column(column), 1))
    return rows.set_column(column, rows.schema.field(column), entries)


def _parse_lines(
    result: _SplitResult, source: str, blocks: Iterable[tuple[Origin, bytes]]
) -> Iterator[TableRows]:
    parser = LINE_PARSERS[source]
    sieve = SIEVES.get(source, every_line)
    hits = Hits()
    try:
        for origin, block in blocks:
            content = sieve(block, result.lines)
            result.bytes += len(block)
            result.lines += content.lines
            result.classes["other"] += content.other
            result.classes["continuation"] += content.continuation
            result.classes["rows"] += content.rows
            result.add_columns(content.columns)
            hits.add(content.hits)
            for number, text in content.left:
                result.take(_outcome(parser, text, origin), text, number)
            if result.waiting_rows + len(hits.lines) >= _BATCH_ROWS:
                _read_hits(result, hits, parser)
                hits = Hits()
                yield from result.batches()
    except DamagedError as damage:
        result.lines += 1
        result.is_damaged = True
        result.take(Rejected(damage.reason), damage.rest, result.lines)
    _read_hits(result, hits, parser)


def _read_hits(result: _SplitResult, hits: Hits, parser: Parser) -> None:
    """Read all lines that may be messages; those that are odd are left to their parser."""
    if not hits.lines:
        return
    events, left = event_rows(hits, result.origin)
    result.add_table("log_events", events)
    result.classes["rows"] += len(events)
    for line, text_bytes in left:
        [text] = lines_of(text_bytes + b"\n")
        result.take(_outcome(parser, text, result.origin), text, line)
    if left:
        for rows in result.waiting.values():
            rows.sort(key=itemgetter("line"))


def _parse_document(result: _SplitResult, source: str, blocks: Iterable[bytes]) -> None:
    """Parse a file that is one document: its lines are all of one class."""
    content = []
    outcome: Outcome | None = None
    try:
        for block in blocks:
            result.bytes += len(block)
            result.lines += count_lines(block)
            content.append(block)
    except DamagedError as damage:
        result.lines += 1
        result.is_damaged = True
        outcome = Rejected(damage.reason)
    lines = [line for block in content for line in lines_of(block)]
    if not any(line.strip() for line in lines) and outcome is None:
        outcome = Other()
    if outcome is None and (sieve := DOCUMENT_SIEVES.get(source)):
        columns = sieve(b"".join(content), result.origin)
        if columns:
            result.classes["rows"] = len(lines)
            result.add_columns(columns)
            return
    parser = DOCUMENT_PARSERS[source]
    match outcome or _outcome(parser, "\n".join(lines), result.origin):
        case Rows(rows):
            result.classes["rows"] = len(lines)
            result.add(rows, 1)
        case Rejected(reason):
            result.classes["rejected"] = result.lines
            result.reject(reason, lines[0] if lines else "", 1)
        case _:
            result.classes["other"] = len(lines)


def _parse_store_file(result: _SplitResult, split: Split) -> Iterator[TableRows]:
    """Yield the rows of a file of ZooKeeper's; its transactions, or nodes, stand for lines."""
    file = StoreFile(split)
    rows = rejected = 0
    try:
        for number, new_rows, reason in file:
            result.add(new_rows, number)
            if reason is None:
                rows += 1
            else:
                rejected += 1
                result.reject(reason, "", number)
            if result.waiting_rows + file.waiting_rows >= _BATCH_ROWS:
                result.add_columns(file.waiting_columns())
                yield from result.batches()
    except BrokenFileError as fault:
        rejected += 1
        result.is_damaged = True
        result.reject(str(fault), "", file.count + 1)
    result.add_columns(file.waiting_columns())
    result.bytes = file.bytes
    result.lines = file.count + result.is_damaged
    other = result.lines - rows - rejected
    result.classes |= {"rows": rows, "rejected": rejected, "other": other}


def _outcome(parser: Parser, text: str, origin: Origin) -> Outcome:
    """Return what a line gives; a parser that fails costs this line, not the whole recording."""
    try:
        return parser(text, origin)
    except Exception as error:
        return Rejected(f"the parser failed: {error!r}")
