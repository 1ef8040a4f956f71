"""Rows of all tables of a replay in one, since one job has one result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.tables import DIAGNOSED

#: One nullable struct a table, so that one job gives the rows of all.
ENVELOPE = pa.schema([pa.field(name, pa.struct(list(s))) for name, s in DIAGNOSED.items()])

#: Rows that travel together; a round of a large cluster is thousands of numbers.
_ROWS = 64
_PACKING = pa.ipc.IpcWriteOptions(compression="lz4")


def enveloped(rows: Iterator[tuple[str, Mapping[str, Any]]]) -> Iterator[pa.RecordBatch]:
    """Put rows into envelopes as they come.

    Args:
        rows: name of a table of DIAGNOSED, and its row.

    Yields:
        Some rows each, of the schema ENVELOPE.
    """
    while some := list(islice(rows, _ROWS)):
        yield _envelope(some)


def packed(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Pack envelopes, so that Spark carries them as they are."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, ENVELOPE, options=_PACKING) as file:
        for batch in batches:
            file.write_batch(batch)
    found: bytes = stream.getvalue().to_pybytes()
    return found


def unpacked(found: Iterable[bytes]) -> pa.Table:
    """Unpack envelopes, those of all tasks one behind the other."""
    return pa.concat_tables(pa.ipc.open_stream(each).read_all() for each in found)


def unwrapped(found: pa.Table) -> dict[str, pa.Table]:
    """Take the rows out of their envelopes: each table of DIAGNOSED, by tenure and time."""
    return {name: _ordered(found[name], schema) for name, schema in DIAGNOSED.items()}


def _envelope(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> pa.RecordBatch:
    columns = [
        pa.array([row if table == field.name else None for table, row in rows], field.type)
        for field in ENVELOPE
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENVELOPE)


def _ordered(column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    chunks = [chunk.drop_null() for chunk in column.chunks]
    batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in chunks if len(chunk)]
    if not batches:
        return schema.empty_table()
    table = pa.Table.from_batches(batches).cast(schema)
    by = [(name, "ascending") for name in ("term", "time", "line") if name in schema.names]
    return table.take(pc.sort_indices(table, sort_keys=by))
