"""What one Spark task does: read its splits, parse their lines, give Arrow batches.

Runs in Spark's Python workers and, without Spark, in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from trimtab.ingest.actions import action
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.confs import conf_line, runtime_config
from trimtab.ingest.entries import Row
from trimtab.ingest.load_reports import load_report
from trimtab.ingest.metrics import prom_line, query_range
from trimtab.ingest.outcome import Continuation, Origin, Other, Outcome, Rejected, Rows
from trimtab.ingest.splits import DamagedError, Split, lines_of, read_blocks
from trimtab.ingest.store import store_broker, store_bundles, store_leader, store_ownership
from trimtab.tables import INGESTED

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
#: Source → the parser of a whole document; its rows say their line within it.
DOCUMENT_PARSERS: dict[str, Parser] = {
    "runtime-config": runtime_config,
    "metrics-export": query_range,
}

#: Tables whose rows come from the workers; the driver writes the other two itself.
PARSED = tuple(name for name in INGESTED if name not in {"recording", "files"})
#: Classes of lines, in the order of the accounting.
CLASSES = ("rows", "other", "continuation", "rejected")
#: Rows that wait for a batch: enough for Arrow to be cheap, few enough for memory.
_BATCH_ROWS = 8192
#: Characters of a rejected line that are kept.
_REJECT_LENGTH = 500

_ACCOUNT = pa.struct(
    [
        ("bytes", pa.int64()),
        ("is_damaged", pa.bool_()),
        ("lines", pa.int64()),
        *((name, pa.int64()) for name in CLASSES),
        ("table_rows", pa.map_(pa.string(), pa.int64())),
    ]
)
#: What a task gives: in each row either rows of one table, packed as an Arrow stream, or
#: one split's accounting.  So one Spark job gives every table, and a task that runs twice
#: counts once.  The rows are packed because Spark would take each of them apart into all
#: columns of all tables, which costs ten times what parsing them does.
ENVELOPE = pa.schema(
    [
        ("split", pa.int32()),
        ("table", pa.string()),
        ("rows", pa.binary()),
        ("account", _ACCOUNT),
    ]
)


@dataclass(slots=True)
class _Found:
    """What one split has given so far."""

    split: int
    file: str
    bytes: int = 0
    is_damaged: bool = False
    #: Lines by counting their ends; the classes must add up to it.
    lines: int = 0
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    table_rows: dict[str, int] = field(default_factory=dict)
    #: Table → rows that wait for a batch.
    waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    waiting_rows: int = 0

    def add(self, rows: Iterable[Row], line: int) -> None:
        """Take rows that came from a line."""
        for table, row in rows:
            # A row of a document brings its own line.
            self.waiting.setdefault(table, []).append({"file": self.file, "line": line} | row)
            self.table_rows[table] = self.table_rows.get(table, 0) + 1
            self.waiting_rows += 1

    def reject(self, reason: str, text: str, line: int) -> None:
        """Take a line that could not be read."""
        self.add([("rejects", {"reason": reason, "text": text[:_REJECT_LENGTH]})], line)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Give what waits, a row of the envelope for each table."""
        for table in PARSED:
            if rows := self.waiting.pop(table, None):
                schema = INGESTED[table]
                columns = [_array(rows, column) for column in schema]
                packed = pa.BufferOutputStream()
                with pa.ipc.new_stream(packed, schema) as stream:
                    stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                yield self._envelope(table=table, rows=packed.getvalue().to_pybytes())
        self.waiting_rows = 0

    def account(self) -> pa.RecordBatch:
        """Give the accounting, once nothing waits any more."""
        counts = {"bytes": self.bytes, "is_damaged": self.is_damaged, "lines": self.lines}
        table_rows = list(self.table_rows.items())
        return self._envelope(account=counts | self.classes | {"table_rows": table_rows})

    def _envelope(self, **filled: Any) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"split": self.split} | filled], ENVELOPE)


def run_tasks(
    tasks: Sequence[tuple[tuple[int, Split], ...]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Parse the splits of the tasks whose numbers Spark sends.

    Args:
        tasks: each task's splits with their numbers.
        batches: numbers of tasks, in the first column.
    """
    for batch in batches:
        for task in batch.column(0).to_pylist():
            for number, split in tasks[task]:
                yield from parse_split(number, split)


def parse_split(number: int, split: Split) -> Iterator[pa.RecordBatch]:
    """Parse one split into batches of `ENVELOPE`, the last of which is its accounting.

    Lines are numbered from 1 at the start of the split.  Where a file breaks off, what
    is left of it counts as one rejected line.
    """
    found = _Found(number, split.origin.file)
    if split.source in DOCUMENT_PARSERS:
        _parse_document(found, split)
    else:
        yield from _parse_lines(found, split)
    yield from found.batches()
    yield found.account()


def _parse_lines(found: _Found, split: Split) -> Iterator[pa.RecordBatch]:
    parser, origin = LINE_PARSERS[split.source], split.origin
    line = rows = other = continuation = rejected = 0
    try:
        for block in read_blocks(split):
            _count(found, block)
            for text in lines_of(block):
                line += 1
                match _outcome(parser, text, origin):
                    case Other():
                        other += 1
                    case Continuation():
                        continuation += 1
                    case Rejected(reason):
                        rejected += 1
                        found.reject(reason, text, line)
                    case Rows(made):
                        rows += 1
                        found.add(made, line)
            if found.waiting_rows >= _BATCH_ROWS:
                yield from found.batches()
    except DamagedError as damage:
        rejected += 1
        found.lines += 1
        found.is_damaged = True
        found.reject(damage.reason, damage.rest, line + 1)
    found.classes = dict(zip(CLASSES, (rows, other, continuation, rejected), strict=True))


def _parse_document(found: _Found, split: Split) -> None:
    """Parse a file that is one document: its lines are all of one class."""
    blocks = []
    outcome: Outcome | None = None
    try:
        for block in read_blocks(split):
            _count(found, block)
            blocks.append(block)
    except DamagedError as damage:
        found.lines += 1
        found.is_damaged = True
        outcome = Rejected(damage.reason)
    lines = [line for block in blocks for line in lines_of(block)]
    if not any(line.strip() for line in lines) and outcome is None:
        outcome = Other()
    parser = DOCUMENT_PARSERS[split.source]
    match outcome or _outcome(parser, "\n".join(lines), split.origin):
        case Rows(made):
            found.classes["rows"] = len(lines)
            found.add(made, 1)
        case Rejected(reason):
            found.classes["rejected"] = found.lines
            found.reject(reason, lines[0] if lines else "", 1)
        case _:
            found.classes["other"] = len(lines)


def _outcome(parser: Parser, text: str, origin: Origin) -> Outcome:
    """Parse one line; a parser that fails costs this line, and not the whole recording."""
    try:
        return parser(text, origin)
    except Exception as error:
        return Rejected(f"the parser failed: {error!r}")


def _array(rows: list[dict[str, Any]], column: pa.Field) -> pa.Array:
    """Return one column of some rows.

    Raises:
        ValueError: a parser gave a value of another type; the message says where.
    """
    try:
        return pa.array([row.get(column.name) for row in rows], column.type)
    except (pa.ArrowException, OverflowError, TypeError):
        for row in rows:
            value = row.get(column.name)
            try:
                pa.array([value], column.type)
            except (pa.ArrowException, OverflowError, TypeError):
                place = f"{row['file']} line {row['line']}, column {column.name}"
                raise ValueError(f"{place}: found {value!r}, expected {column.type}") from None
        raise


def _count(found: _Found, block: bytes) -> None:
    found.bytes += len(block)
    found.lines += block.count(b"\n") + (not block.endswith(b"\n"))
