"""What one Spark task does: read its splits, parse their lines, give rows of tables.

Runs in Spark's Python workers and, without Spark, in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.ingest.actions import action
from trimtab.ingest.averages import listed_averages, store_bundles
from trimtab.ingest.blocks import log_lines
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.bundle_states import topic_state, topic_states
from trimtab.ingest.confs import conf_line, helm_values, runtime_config
from trimtab.ingest.days import of_days
from trimtab.ingest.events import Hits, event_rows
from trimtab.ingest.exports import exported_samples, query_range
from trimtab.ingest.load_reports import (
    answered_reports,
    load_report,
    store_broker,
    stored_reports,
)
from trimtab.ingest.metrics import prom_line
from trimtab.ingest.outcome import Origin, Other, Outcome, Rejected, Rows, SharedLines
from trimtab.ingest.published_loads import published_bundles, published_load
from trimtab.ingest.shared_lines import kept_lines
from trimtab.ingest.sieve import Columns, Sieve, every_line
from trimtab.ingest.split_result import CLASSES, SplitItem, SplitResult, TableRows, Waiting
from trimtab.ingest.splits import DamagedError, Split, count_lines, lines_of, read_blocks
from trimtab.ingest.store import store_leader, store_ownership
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.ingest.wrapped.lines_by_broker import BrokerLines, unwrapped
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
    "store-states": topic_state,
    "store-loads": published_load,
    "store-top-bundles": published_bundles,
    "metrics": prom_line,
    "actions": action,
}
#: Source → what reads most of its lines a block at a time; their parser would say the same.
SIEVES: dict[str, Sieve] = {
    "log": log_lines,
    "load-reports": answered_reports,
    "store-brokers": stored_reports,
    "store-bundles": listed_averages,
    "store-states": topic_states,
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

#: Sources whose lines give rows one by one: those of many files can be laid out together.
ROW_SOURCES = LINE_PARSERS.keys() - SIEVES.keys()

#: Rows that wait for a batch: enough for Arrow to be cheap, few enough for memory.
_BATCH_ROWS = 4096


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
    result = SplitResult(split.origin)
    yield from _parse_store_file(result, split)
    yield from result.batches()
    yield result.account()


def parse_together(splits: Sequence[Split]) -> Iterator[SplitItem]:
    """Yield the accounting of each of some splits as `parse_split` does, and rows in between.

    To lay out the ten rows of a small file takes Arrow as long as to lay out a thousand, so
    that those of many wait for one another.

    Args:
        splits: of `ROW_SOURCES`.
    """
    waiting: Waiting = {}
    for split in splits:
        result = SplitResult(split.origin, waiting=waiting)
        blocks = of_days(split.origin, read_blocks(split), split.start)
        yield from _parse_lines(result, split.source, blocks)
        if split is splits[-1] or sum(map(len, waiting.values())) >= _BATCH_ROWS:
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
    result = SplitResult(origin)
    if source in DOCUMENT_PARSERS:
        _parse_document(result, source, blocks)
    else:
        yield from _parse_lines(result, source, of_days(origin, blocks, place))
    yield from result.batches()
    yield result.account()


def _parse_wrapped(split: Split) -> Iterator[SplitItem]:
    """Yield the rows of a collector's file: those of each broker as those of a log of its own."""
    result = SplitResult(split.origin)
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
    shared = {each.label: each for each in split.origin.shared}
    for whole in logs.brokers:
        log = _without_shared(whole, shared.get(whole.broker))
        result.lines += len(whole.lines) - len(log.lines)
        result.classes["other"] += len(whole.lines) - len(log.lines)
        origin = replace(split.origin, log_broker=log.broker or split.origin.log_broker, shared=())
        for item in parse_blocks(origin, "log", log.blocks()):
            if isinstance(item, TableRows):
                result.add_table(item.table, _numbered(item.rows, log.numbers))
                continue
            result.lines += item.lines
            result.add_nameless(item.nameless, item.nameless_lines)
            for name in CLASSES:
                result.classes[name] += getattr(item, name)
    for rows in result.batches():
        yield TableRows(rows.table, rows.rows.sort_by("line"))
    yield result.account()


def _without_shared(log: BrokerLines, shared: SharedLines | None) -> BrokerLines:
    """Return a broker's lines without those that count elsewhere, by the name that it has there."""
    if shared is None:
        return log
    return BrokerLines(shared.name, *kept_lines(log.lines, log.numbers, shared))


def _numbered(rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    """Return rows with the numbers of their entries in place of those of their lines."""
    column = rows.schema.get_field_index("line")
    entries = pa.array(numbers, pa.int64()).take(pc.subtract(rows.column(column), 1))
    return rows.set_column(column, rows.schema.field(column), entries)


def _parse_lines(
    result: SplitResult, source: str, blocks: Iterable[tuple[Origin, bytes]]
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


def _read_hits(result: SplitResult, hits: Hits, parser: Parser) -> None:
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


def _parse_document(result: SplitResult, source: str, blocks: Iterable[bytes]) -> None:
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


def _parse_store_file(result: SplitResult, split: Split) -> Iterator[TableRows]:
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
