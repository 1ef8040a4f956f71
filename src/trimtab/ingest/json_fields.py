"""Columns out of JSON: what `trimtab.files.tables` says of keys, read in either of two ways.

Objects that are as usual come by the thousand: they are decoded against the types of their
fields and laid out column by column.  One that is odd in a single value is read key by key, so
that an error names the key, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from msgspec import Meta, Struct, defstruct

from trimtab.files.tables import INGESTED, KEYS, TIME
from trimtab.ingest.entries import Entry

#: A text that is not empty.
Text = Annotated[str, Meta(min_length=1)]
#: A whole number of 32 bits.
Small = Annotated[int, Meta(ge=1 - 2**31, le=2**31 - 1)]
#: A moment in epoch milliseconds, of the years 1 to 9999.
Milliseconds = Annotated[int, Meta(ge=-62_135_596_800_000, le=253_402_300_799_999)]
#: A whole number that is a float, too.
_Count = Annotated[int, Meta(ge=-(2**53), le=2**53)]
_TEXTS = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class Kind:
    """How the values of a column are read."""

    #: Type of usual values.
    usual: Any
    #: Returns the values at some keys, whatever they are, or says what is odd about one.
    read: Callable[[Entry, Sequence[str]], Sequence[Any]]
    #: Returns the array of usual values and nulls.
    array: Callable[[Iterable[Any]], pa.Array]
    #: Type of a number for numpy, which is faster where there are no nulls.
    numpy: type | None = None


def each(read: Callable[[Entry, str], Any]) -> Callable[[Entry, Sequence[str]], list[Any]]:
    """Return what reads values one after the other."""
    return lambda entry, keys: [read(entry, key) for key in keys]


def moments(milliseconds: Iterable[int | None]) -> pa.Array:
    """Return an array of moments."""
    return pa.array(milliseconds, pa.timestamp("ms", "UTC")).cast(TIME)


def _arrays(kind: pa.DataType) -> Callable[[Iterable[Any]], pa.Array]:
    return partial(pa.array, type=kind)


#: Type of a column → how its values are read.
_KINDS: Mapping[pa.DataType, Kind] = {
    pa.float64(): Kind(float, Entry.numbers, _arrays(pa.float64()), float),
    pa.int64(): Kind(_Count, Entry.counts, _arrays(pa.int64()), int),
    pa.int32(): Kind(Small, each(Entry.small), _arrays(pa.int32())),
    pa.bool_(): Kind(bool, each(Entry.flag), _arrays(pa.bool_())),
    pa.string(): Kind(Text, each(Entry.text), _arrays(pa.string())),
    _TEXTS: Kind(list[str], each(Entry.texts), _arrays(_TEXTS)),
    TIME: Kind(Milliseconds, each(Entry.moment), moments),
}


@dataclass(frozen=True, slots=True)
class _Field:
    """A column, and where its values stand."""

    column: str
    kind: Kind
    #: Key of the object in which they stand, empty for the outer one, and the key there; where
    #: they may stand at either of two keys, both.
    place: str
    keys: Sequence[str]
    #: Not every release writes it.
    is_optional: bool

    def read(self, entry: Entry) -> Any:
        """Return an optional value."""
        present = [key for key in self.keys if entry.has(key)]
        return self.kind.read(entry, present[:1])[0] if present else None

    def array(self, things: Sequence[object]) -> pa.Array:
        """Return the column of usual objects."""
        head = f"{self.place}." if self.place else ""
        columns = [map(attrgetter(head + key), things) for key in self.keys]
        if self.kind.numpy and not self.is_optional:
            return pa.array(np.fromiter(columns[0], self.kind.numpy, len(things)))
        if len(columns) == 1:
            return self.kind.array(columns[0])
        present = ([it for it in values if it is not None] for values in zip(*columns, strict=True))
        return self.kind.array(next(iter(values), None) for values in present)


class Fields:
    """The fields of an object, in the order in which what is odd about them is said."""

    def __init__(self, fields: Iterable[_Field]) -> None:
        """Take fields; those of an object within the object stand together."""
        self._fields = tuple(fields)
        #: Column → null.
        self.nothing: dict[str, Any] = dict.fromkeys(it.column for it in self._fields)
        # Values of one kind that stand together are read together: there are millions of them.
        runs = groupby(self._fields, lambda it: (it.place, it.is_optional or it.kind))
        self._runs = [(place, list(run)) for (place, _), run in runs]
        #: Keys of objects within the object.
        self.places = tuple(dict.fromkeys(place for place, _ in self._runs if place))

    def parted(self) -> tuple[Fields, Fields]:
        """Return the fields that not every release writes, and the others."""
        optional = [it for it in self._fields if it.is_optional]
        return Fields(optional), Fields(it for it in self._fields if not it.is_optional)

    def read(self, entry: Entry) -> dict[str, Any]:
        """Return the columns of an object, whatever stands in it.

        Raises:
            MalformedError: a value is odd, or is not there.
        """
        row: dict[str, Any] = {}
        for place, run in self._runs:
            inner = entry.entry(place) if place else entry
            if run[0].is_optional:
                row |= ((it.column, it.read(inner)) for it in run)
            else:
                values = run[0].kind.read(inner, [it.keys[0] for it in run])
                row |= zip((it.column for it in run), values, strict=True)
        return row

    def arrays(self, things: Sequence[object]) -> dict[str, pa.Array]:
        """Return the columns of usual objects, which are of the type that `usual` gives."""
        return {it.column: it.array(things) for it in self._fields}

    def usual(self, *others: tuple[str, Any] | tuple[str, Any, Any]) -> type[Struct]:
        """Return the type as which usual objects are decoded.

        Args:
            others: what else is wanted of them: key, type, and the default where there is one.
        """
        members: dict[str, list[tuple[Any, ...]]] = {"": []}
        for it in self._fields:
            usual = (it.kind.usual | None, None) if it.is_optional else (it.kind.usual,)
            members.setdefault(it.place, []).extend((key, *usual) for key in it.keys)
        outer = members.pop("")
        inner = [(place, _struct(those)) for place, those in members.items()]
        return _struct([*inner, *outer, *others])


def _struct(members: Sequence[Any]) -> type[Struct]:
    # What is optional need not stand behind the rest.
    return defstruct("Usual", members, kw_only=True, gc=False)


def fields_of(table: str, beside: Iterable[str], **kinds: Kind) -> Fields:
    """Return the fields that a table's columns are read of.

    Args:
        table: of `trimtab.files.tables`.
        beside: columns that come from elsewhere; `file` and `line` always do.
        kinds: column → how its values are read, if not as its type says.

    Raises:
        ValueError: a column is declared that nothing fills.
    """
    keys = KEYS[table]
    check_filled(table, (*beside, *keys))
    schema = INGESTED[table]
    return Fields(
        _field(name, keys[name], kinds.get(name) or _KINDS[schema.field(name).type])
        for name in schema.names
        if name in keys
    )


def _field(column: str, key: str, kind: Kind) -> _Field:
    paths = [path.removesuffix("?").rpartition(".") for path in key.split(" ")]
    return _Field(column, kind, paths[0][0], [path[2] for path in paths], "?" in key)


def check_filled(table: str, columns: Iterable[str]) -> None:
    """Stop where the columns that are filled are not those that are declared.

    Args:
        table: of `trimtab.files.tables`.
        columns: that are filled, beside `file` and `line`.

    Raises:
        ValueError: it names those that are in one of the two alone.
    """
    declared, filled = set(INGESTED[table].names), {"file", "line", *columns}
    if declared != filled:
        raise ValueError(
            f"table {table}: found {sorted(declared - filled)} declared and not filled, "
            f"{sorted(filled - declared)} filled and not declared; expected the same columns "
            "in trimtab.files.tables and in what reads its source"
        )
