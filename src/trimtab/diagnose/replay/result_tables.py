"""Rows of a replay, as they come → the tables of DIAGNOSED."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.files.tables import DIAGNOSED

#: Rows that become columns together; a round of a large cluster is thousands of numbers.
_ROWS = 64


def result_tables(rows: Iterator[tuple[str, Mapping[str, Any]]]) -> dict[str, pa.Table]:
    """Return rows as tables, in the order in which they come.

    Args:
        rows: name of a table of DIAGNOSED, and its row; a list in it may be an Arrow array.
    """
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in DIAGNOSED}
    while some := list(islice(rows, _ROWS)):
        for name, schema in DIAGNOSED.items():
            mine = [row for table, row in some if table == name]
            columns = [_column([row[each.name] for row in mine], each.type) for each in schema]
            batches[name].append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return {
        name: pa.Table.from_batches(batches[name], schema) for name, schema in DIAGNOSED.items()
    }


def _column(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column as an array; a cell may be an array of what its list contains."""
    if not any(isinstance(cell, pa.Array) for cell in cells):
        return pa.array(cells, kind)
    ends = np.cumsum([0, *map(len, cells)])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.concat_arrays(cells), kind)


def in_order(tenures: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the tables of several tenures as one of each name, by tenure and time."""
    tables = {}
    for name, schema in DIAGNOSED.items():
        table = pa.concat_tables([schema.empty_table(), *(each[name] for each in tenures)])
        by = [(key, "ascending") for key in ("term", "time", "line") if key in schema.names]
        tables[name] = table.take(pc.sort_indices(table, sort_keys=by))
    return tables
