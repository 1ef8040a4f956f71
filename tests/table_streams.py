"""Readers of streams as Spark would ask them, with offsets that go through JSON in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from trimtab.files.datasets import columns_of
from trimtab.ingest.data_source import TrimtabSource
from trimtab.ingest.growing.table_stream import StreamReader

Offset = dict[str, Any]


def reader_of(path: Path, table: str, **options: str) -> StreamReader:
    """Return a reader for which every file is at rest, unless the options say otherwise."""
    source = TrimtabSource({"path": str(path), "table": table, "rest": "0", **options})
    reader = source.streamReader(source.schema())
    assert isinstance(reader, StreamReader)
    return reader


def following(reader: StreamReader, start: Offset, limit: ReadLimit | None = None) -> Offset:
    """Return the next offset as a checkpoint has it."""
    offset: Offset = json.loads(json.dumps(reader.latestOffset(start, limit or ReadAllAvailable())))
    return offset


def read(reader: StreamReader, parts: Sequence[InputPartition]) -> pa.Table:
    """Return the rows of some tasks."""
    batches = [batch for part in parts for batch in reader.read(part)]
    return pa.Table.from_batches(batches, reader.columns)


def between(path: Path, table: str, start: Offset, end: Offset, **options: str) -> pa.Table:
    """Return the rows between two offsets, as one who knows nothing else reads them."""
    reader = reader_of(path, table, **options)
    return read(reader, reader.partitions(start, end))


def streamed(path: Path, table: str, limit: ReadLimit | None = None, **options: str) -> pa.Table:
    """Return all rows of a table, each batch by a reader that knows the last offset alone."""
    start: Offset = {}
    tables = [columns_of(table).empty_table()]
    while (end := following(reader_of(path, table, **options), start, limit)) != start:
        tables.append(between(path, table, start, end, **options))
        start = end
    return pa.concat_tables(tables)


def rows(table: pa.Table) -> list[str]:
    """Return rows as text, sorted."""
    return sorted(map(repr, table.to_pylist()))
