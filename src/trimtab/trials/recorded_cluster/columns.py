"""Tables of a recording → columns as arrays; names are positions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from trimtab.files.places import located
from trimtab.pulsar.model import Floats, Ints


class Names:
    """Names in their order; -1 is the position of what is none of them."""

    def __init__(self, names: Sequence[str]) -> None:
        """Number names, each once."""
        self.names = tuple(sorted(set(names)))
        self._at = {name: i for i, name in enumerate(self.names)}

    def at(self, name: str | None) -> int:
        """Return the position of a name."""
        return self._at.get(name or "", -1)

    def all(self, names: Sequence[str | None]) -> Ints:
        """Return the positions of many names."""
        return np.array([self.at(name) for name in names], np.int64)

    def of(self, column: pa.ChunkedArray) -> Ints:
        """Return the positions of the names in a column, each of which is looked up once."""
        is_coded = pa.types.is_dictionary(column.type)
        coded = (column if is_coded else column.dictionary_encode()).combine_chunks()
        # What stands for null is the last one: -1.
        place = np.append(self.all(coded.dictionary.to_pylist()), -1)
        at = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.asarray(place[at], np.int64)


def rows(tables: Path, name: str, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a small table, whole or some of its columns."""
    listed: list[dict[str, Any]] = stored_table(tables, name, columns).to_pylist()
    return listed


def is_empty(tables: Path, name: str) -> bool:
    """Return whether a table has no rows."""
    return int(ds.dataset(**located(tables / name), format="parquet").count_rows()) == 0


def stored_table(tables: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a table by file and line, where it has them; it lies day by day."""
    stored = ds.dataset(**located(tables / name), format="parquet")
    names = stored.schema.names if columns is None else list(columns)
    places = [place for place in ("file", "line") if place in stored.schema.names]
    table = stored.to_table(columns=list(dict.fromkeys([*names, *places])))
    if places:
        table = table.sort_by([(place, "ascending") for place in places])
    return table.select(names)


def coded_table(
    tables: Path, name: str, columns: Sequence[str], words: Collection[str]
) -> pa.Table:
    """Return columns of a large table as they lie, those of words as numbers of different ones."""
    form = ds.ParquetFileFormat(dictionary_columns=words)
    return ds.dataset(**located(tables / name), format=form).to_table(columns=list(columns))


def seconds(times: pa.ChunkedArray) -> Floats:
    """Return times as s from 1970; NaN where there is none."""
    micros = times.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return np.asarray(micros, np.float64) / 1e6


def floats(column: pa.ChunkedArray) -> Floats:
    """Return numbers; NaN where there is none."""
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
