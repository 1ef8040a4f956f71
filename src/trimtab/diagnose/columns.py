"""Columns of a table as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.files.tables import TIME
from trimtab.pulsar.model import Floats, Ints

#: Times, in microseconds, UTC.
Moments: TypeAlias = npt.NDArray[np.datetime64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def floats(table: pa.Table, name: str, absent: float) -> Floats:
    """Return a column of numbers, with another number where there is none."""
    values: Floats = pc.fill_null(table[name].cast(pa.float64()), absent).to_numpy()
    return values


def beside(table: pa.Table, names: Sequence[str], absent: float) -> Floats:
    """Return columns of numbers beside each other, (n_rows, n_names)."""
    values = np.empty((table.num_rows, len(names)))
    for i, name in enumerate(names):
        values[:, i] = floats(table, name, absent)
    return values


def write_times(table: pa.Table) -> pa.ChunkedArray:
    """Return when each write was made, or where that is not told, seen."""
    return pc.coalesce(table["written"], table["time"])


def stamps(column: pa.ChunkedArray) -> Ints:
    """Return a column of times that are all there as µs since 1970."""
    since: Ints = column.cast(TIME).cast(pa.int64()).to_numpy()
    return since


def microseconds(times: Sequence[datetime]) -> Ints:
    """Return times as µs since 1970."""
    return stamps(pa.chunked_array([pa.array(times, TIME)]))


def moments(times: Ints | Moments) -> list[Any]:
    """Return times, or µs since 1970, as Python has them, None where there is none.

    Arrow's own way takes a hundred times as long, and to give each time its zone seven times.
    """
    since = times.astype("datetime64[us]") - np.datetime64(0, "us")
    return [None if each is None else _EPOCH + each for each in since.tolist()]


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: each is one object, however often it stands there."""

    #: (n_different + 1,) the last is None.
    known: npt.NDArray[np.object_]
    #: (n,) positions in `known`.
    codes: npt.NDArray[np.int32]

    def part(self, start: int, end: int) -> list[Any]:
        """Return the texts of some rows; None where there is none."""
        part: list[Any] = self.known[self.codes[start:end]].tolist()
        return part


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers."""

    column: pa.Array

    def part(self, start: int, end: int) -> list[Any]:
        """Return the numbers of some rows; None where there is none."""
        part = self.column.slice(start, end - start)
        values: list[Any] = part.to_pylist() if part.null_count else part.to_numpy().tolist()
        return values


def words(column: pa.Array | pa.ChunkedArray) -> Words:
    """Return the texts of a column, each one object."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    different = np.array([*encoded.dictionary.to_pylist(), None], np.object_)
    return Words(different, pc.fill_null(encoded.indices, len(different) - 1).to_numpy())


def columns(structs: pa.StructArray) -> dict[str, list[Any]]:
    """Return the values of each field of some structs, None where there is none."""
    return {field.name: structs.field(field.name).to_pylist() for field in structs.type}


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of lists of structs, end to end."""

    #: (n_rows + 1,) where each row's begin.
    offsets: Ints
    #: Field of the structs → its values.
    fields: dict[str, pa.Array]


def lists(column: pa.ChunkedArray) -> Lists:
    """Return a column of lists of structs, laid end to end."""
    whole = column.combine_chunks()
    counts = pc.fill_null(pc.list_value_length(whole), 0).to_numpy()
    structs = pc.list_flatten(whole)
    fields = {field.name: pc.struct_field(structs, field.name) for field in structs.type}
    return Lists(np.append(0, np.cumsum(counts)).astype(np.int64), fields)
