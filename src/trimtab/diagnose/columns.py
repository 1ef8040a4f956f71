"""Columns of a table as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.model import Floats


def floats(table: pa.Table, name: str, absent: float) -> Floats:
    """Return a column of numbers, with another number where there is none."""
    values: Floats = pc.fill_null(table[name].cast(pa.float64()), absent).to_numpy()
    return values


def beside(table: pa.Table, names: Sequence[str], absent: float) -> Floats:
    """Return columns of numbers beside each other, (n_rows, n_names)."""
    return np.stack([floats(table, name, absent) for name in names], axis=1)


def heard(table: pa.Table) -> pa.ChunkedArray:
    """Return when each write was made, or where that is not told, seen."""
    return pc.coalesce(table["written"], table["time"])
