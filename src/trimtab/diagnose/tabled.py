"""Rows of a replay, as they come → the tables of DIAGNOSED."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.tables import DIAGNOSED

#: Rows that become columns together; a round of a large cluster is thousands of numbers.
_ROWS = 64


def tabled(rows: Iterator[tuple[str, Mapping[str, Any]]]) -> dict[str, pa.Table]:
    """Lay rows out as tables, in the order in which they come.

    Args:
        rows: name of a table of DIAGNOSED, and its row.
    """
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in DIAGNOSED}
    while some := list(islice(rows, _ROWS)):
        for name, schema in DIAGNOSED.items():
            mine = [row for table, row in some if table == name]
            batches[name].append(pa.RecordBatch.from_pylist(mine, schema))
    return {
        name: pa.Table.from_batches(batches[name], schema) for name, schema in DIAGNOSED.items()
    }


def in_order(found: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Put the tables of several tenures together, each by tenure and time."""
    tables = {}
    for name, schema in DIAGNOSED.items():
        table = pa.concat_tables([schema.empty_table(), *(each[name] for each in found)])
        by = [(key, "ascending") for key in ("term", "time", "line") if key in schema.names]
        tables[name] = table.take(pc.sort_indices(table, sort_keys=by))
    return tables
