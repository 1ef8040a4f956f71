"""What one Spark task does: read its splits, parse their lines, give rows of tables.

Runs in Spark's Python workers and, without Spark, in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from trimtab.files.tables import INGESTED
from trimtab.ingest.actions import action
from trimtab.ingest.averages import listed_averages, store_bundles
from trimtab.ingest.blocks import log_lines
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.columns import laid_out, table_of
from trimtab.ingest.confs import conf_line, helm_values, runtime_config
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
from trimtab.ingest.sifted import Columns, Sieve, every_line
from trimtab.ingest.splits import DamagedError, Split, count_lines, lines_of, read_blocks
from trimtab.ingest.store import store_leader, store_ownership
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
#: Source → what tells most of its lines a block at a time; their parser would say the same.
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
#: Source → what tells a document as a whole, or nothing; its parser would say the same.
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
    """What became of the lines of one split, and by what its bytes are told from others."""

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
Given: TypeAlias = TableRows | SplitAccount


@dataclass(slots=True)
class _Found:
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

    def see(self, table: str, rows: pa.Table) -> None:
        """Take rows of a table that are laid out."""
        if not len(rows):
            return
        self.tables.setdefault(table, []).append(rows)
        self.table_rows[table] = self.table_rows.get(table, 0) + len(rows)
        self.waiting_rows += len(rows)

    def tell(self, columns: Mapping[str, Columns]) -> None:
        """Take rows of some tables in columns."""
        for table, those in columns.items():
            self.see(table, laid_out(table, those, self.origin.file))

    def take(self, outcome: Outcome, text: str, line: int) -> None:
        """Take what became of a line."""
        match outcome:
            case Other():
                self.classes["other"] += 1
            case Continuation():
                self.classes["continuation"] += 1
            case Rejected(reason):
                self.classes["rejected"] += 1
                self.reject(reason, text, line)
            case Rows(made):
                self.classes["rows"] += 1
                self.add(made, line)

    def add(self, rows: Iterable[Row], line: int) -> None:
        """Take rows that came from a line."""
        for table, row in rows:
            # A row of a document brings its own line.
            self.waiting.setdefault(table, []).append(
                {"file": self.origin.file, "line": line} | row
            )
            self.table_rows[table] = self.table_rows.get(table, 0) + 1
            self.waiting_rows += 1

    def reject(self, reason: str, text: str, line: int) -> None:
        """Take a line that could not be read."""
        self.add([("rejects", {"reason": reason, "text": text[:_REJECT_LENGTH]})], line)

    def batches(self) -> Iterator[TableRows]:
        """Give what waits, table by table."""
        for table in PARSED:
            made = self.tables.pop(table, [])
            is_mixed = bool(made) and table in self.waiting
            if rows := self.waiting.pop(table, None):
                made.append(table_of(table, rows))
            if made:
                joined = pa.concat_tables(made)
                # Arrow's sort is stable: rows of one line keep their order.
                yield TableRows(table, joined.sort_by("line") if is_mixed else joined)
        self.waiting_rows = 0

    def account(self) -> SplitAccount:
        """Return the accounting, once nothing waits any more."""
        counts: dict[str, Any] = {"bytes": self.bytes, "lines": self.lines, **self.classes}
        table_rows = dict(sorted(self.table_rows.items()))
        return SplitAccount(is_damaged=self.is_damaged, table_rows=table_rows, **counts)


def parse_split(split: Split) -> Iterator[Given]:
    """Parse one split.

    Lines are numbered from 1 at the start of the split, and so are transactions.  Where a
    file breaks off, what is left of it counts as one rejected line.
    """
    if split.source != ZOOKEEPER:
        yield from parse_blocks(split.origin, split.source, read_blocks(split))
        return
    found = _Found(split.origin)
    yield from _parse_store_file(found, split)
    yield from found.batches()
    yield found.account()


def parse_blocks(origin: Origin, source: str, blocks: Iterable[bytes]) -> Iterator[Given]:
    """Parse blocks of whole lines as `parse_split` does those of a file.

    Args:
        origin: where the lines stand.
        source: what kind of file they are read as.
        blocks: bytes; a DamagedError in place of the next one is accounted for.
    """
    found = _Found(origin)
    if source in DOCUMENT_PARSERS:
        _parse_document(found, source, blocks)
    else:
        yield from _parse_lines(found, source, blocks)
    yield from found.batches()
    yield found.account()


def _parse_lines(found: _Found, source: str, blocks: Iterable[bytes]) -> Iterator[TableRows]:
    parser, origin = LINE_PARSERS[source], found.origin
    sieve = SIEVES.get(source, every_line)
    hits = Hits()
    try:
        for block in blocks:
            sifted = sieve(block, found.lines)
            found.bytes += len(block)
            found.lines += sifted.lines
            found.classes["other"] += sifted.other
            found.classes["continuation"] += sifted.continuation
            found.classes["rows"] += sifted.rows
            found.tell(sifted.columns)
            hits.add(sifted.hits)
            for number, text in sifted.left:
                found.take(_outcome(parser, text, origin), text, number)
            if found.waiting_rows + len(hits.lines) >= _BATCH_ROWS:
                _read_hits(found, hits, parser)
                hits = Hits()
                yield from found.batches()
    except DamagedError as damage:
        found.lines += 1
        found.is_damaged = True
        found.take(Rejected(damage.reason), damage.rest, found.lines)
    _read_hits(found, hits, parser)


def _read_hits(found: _Found, hits: Hits, parser: Parser) -> None:
    """Read all lines that may be messages; those that are odd are left to their parser."""
    if not hits.lines:
        return
    events, left = event_rows(hits, found.origin)
    found.see("log_events", events)
    found.classes["rows"] += len(events)
    for line, written in left:
        [text] = lines_of(written + b"\n")
        found.take(_outcome(parser, text, found.origin), text, line)
    if left:
        for rows in found.waiting.values():
            rows.sort(key=itemgetter("line"))


def _parse_document(found: _Found, source: str, blocks: Iterable[bytes]) -> None:
    """Parse a file that is one document: its lines are all of one class."""
    read = []
    outcome: Outcome | None = None
    try:
        for block in blocks:
            found.bytes += len(block)
            found.lines += count_lines(block)
            read.append(block)
    except DamagedError as damage:
        found.lines += 1
        found.is_damaged = True
        outcome = Rejected(damage.reason)
    lines = [line for block in read for line in lines_of(block)]
    if not any(line.strip() for line in lines) and outcome is None:
        outcome = Other()
    if outcome is None and (sieve := DOCUMENT_SIEVES.get(source)):
        columns = sieve(b"".join(read), found.origin)
        if columns:
            found.classes["rows"] = len(lines)
            found.tell(columns)
            return
    parser = DOCUMENT_PARSERS[source]
    match outcome or _outcome(parser, "\n".join(lines), found.origin):
        case Rows(made):
            found.classes["rows"] = len(lines)
            found.add(made, 1)
        case Rejected(reason):
            found.classes["rejected"] = found.lines
            found.reject(reason, lines[0] if lines else "", 1)
        case _:
            found.classes["other"] = len(lines)


def _parse_store_file(found: _Found, split: Split) -> Iterator[TableRows]:
    """Parse a file of ZooKeeper's; its transactions, or nodes, stand in place of lines."""
    file = StoreFile(split)
    rows = rejected = 0
    try:
        for number, made, reason in file:
            found.add(made, number)
            if reason is None:
                rows += 1
            else:
                rejected += 1
                found.reject(reason, "", number)
            if found.waiting_rows + file.waiting_rows >= _BATCH_ROWS:
                found.tell(file.told())
                yield from found.batches()
    except BrokenFileError as fault:
        rejected += 1
        found.is_damaged = True
        found.reject(str(fault), "", file.count + 1)
    found.tell(file.told())
    found.bytes = file.bytes
    found.lines = file.count + found.is_damaged
    other = found.lines - rows - rejected
    found.classes |= {"rows": rows, "rejected": rejected, "other": other}


def _outcome(parser: Parser, text: str, origin: Origin) -> Outcome:
    """Parse one line; a parser that fails costs this line, and not the whole recording."""
    try:
        return parser(text, origin)
    except Exception as error:
        return Rejected(f"the parser failed: {error!r}")
