"""Arrow tables as bytes, for Spark or a file to carry without looking into them."""

from __future__ import annotations

import pyarrow as pa

#: A sixth of the bytes is a sixth of the work to carry them.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def packed(table: pa.Table) -> bytes:
    """Return a table as bytes; `unpacked` gives it back.

    >>> unpacked(packed(pa.table({"a": [1, 2]}))).to_pydict()
    {'a': [1, 2]}
    """
    return _stream(table.combine_chunks(), _OPTIONS)


def unpressed(table: pa.Table) -> bytes:
    """Return a table as bytes as they lie, where work is dearer than room; `unpacked` reads it."""
    return _stream(table, None)


def _stream(table: pa.Table, options: pa.ipc.IpcWriteOptions | None) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=options) as file:
        file.write_table(table)
    blob: bytes = stream.getvalue().to_pybytes()
    return blob


def unpacked(blob: bytes) -> pa.Table:
    """Return the table that became bytes."""
    return pa.ipc.open_stream(blob).read_all()
