"""Rows of a replay, as they come → the tables of DIAGNOSED."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.columns import lists
from trimtab.files.packing import unpacked
from trimtab.files.tables import DIAGNOSED
from trimtab.pulsar.model import WITHIN_BAR

#: Rows that become columns together; a round of a large cluster is thousands of numbers.
_ROWS = 64
_ROUNDS = "replayed_rounds"
_QUIET = pa.array(sorted(map(str, WITHIN_BAR)), pa.string())


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


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was decided again, packed: tables of DIAGNOSED by stretch, tenure by tenure."""

    stretches: Sequence[Mapping[str, bytes]] = ()

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables, by tenure and time."""
        return {name: _in_order(schema, self.each(name)) for name, schema in DIAGNOSED.items()}

    def telling(self) -> dict[str, pa.Table]:
        """Return the tables without what no finding of a large cluster looks at.

        Of a round that left no line, only those brokers are there that `_telling` names.
        """
        return {
            name: _in_order(schema, map(_telling, each) if name == _ROUNDS else each)
            for name, schema in DIAGNOSED.items()
            for each in [self.each(name)]
        }

    def each(self, name: str) -> Iterator[pa.Table]:
        """Yield a table a stretch after the other: all rounds together are large."""
        return (unpacked(tables[name]) for tables in self.stretches)


def _telling(rounds: pa.Table) -> pa.Table:
    """Return rounds without most brokers of those that left no line.

    There are those that are not within the bar, the first of the most and of the least used, as
    numpy has them, and two in any case.
    """
    states = lists(rounds["brokers"])
    usage = pc.fill_null(states.fields["usage"], np.nan).to_numpy(zero_copy_only=False)
    is_kept = pc.invert(pc.is_in(states.fields["reason"], _QUIET)).to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(rounds["round"], 0).to_numpy()
    for i, (start, end) in enumerate(pairwise(states.offsets.tolist())):
        if numbers[i]:
            is_kept[start:end] = True
        elif end > start:
            mine = usage[start:end]
            is_kept[[start + mine.argmax(), start + mine.argmin()]] = True
            is_kept[start : min(end, start + 2)] = True
    ends = np.append(0, np.cumsum(is_kept))[states.offsets]
    brokers = pc.list_flatten(rounds["brokers"].combine_chunks()).filter(pa.array(is_kept))
    field = rounds.schema.field("brokers")
    column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), brokers, field.type)
    return rounds.set_column(rounds.schema.get_field_index("brokers"), field, column)


def _in_order(schema: pa.Schema, pieces: Iterable[pa.Table]) -> pa.Table:
    """Return the pieces of a table as one, by tenure and time."""
    table = pa.concat_tables([schema.empty_table(), *pieces])
    by = [(key, "ascending") for key in ("term", "time", "line") if key in schema.names]
    order = pc.sort_indices(table, sort_keys=by)
    # What is in order already is not copied: it may be large.
    is_ordered = bool(np.all(np.diff(order.to_numpy().astype(np.int64)) == 1))
    return table if is_ordered else table.take(order)
