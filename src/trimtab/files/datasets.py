"""A folder of tables → a dataset a table, with cluster and day as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow.dataset import Dataset, dataset, partitioning

from trimtab.files.fields import FieldError, expected_name
from trimtab.files.generations import current
from trimtab.files.partitions import CLUSTER, DAY, has_days
from trimtab.files.places import located
from trimtab.files.tables import DIAGNOSED, INGESTED, JUDGED, TRACED

_SCHEMAS = INGESTED | DIAGNOSED | TRACED | JUDGED


def columns_of(name: str) -> pa.Schema:
    """Return the columns of a table as readers see it: its own, and those that the folders tell.

    Raises:
        FieldError: there is no such table.
    """
    if name not in _SCHEMAS:
        raise FieldError("table", name, expected_name(name, _SCHEMAS))
    of_rows = _SCHEMAS[name]
    return pa.schema([*of_rows, *_of_folders(of_rows)], metadata=of_rows.metadata)


def stored(name: str, files: Path | Sequence[Path]) -> Dataset:
    """Return what a table's folder holds, or some files of it, to be read when asked for rows."""
    return dataset(
        **located(files),
        schema=columns_of(name),
        format="parquet",
        partitioning=partitioning(pa.schema(_of_folders(_SCHEMAS[name])), flavor="hive"),
    )


def _of_folders(of_rows: pa.Schema) -> list[pa.Field]:
    # Said, not guessed: a cluster called 7 is text.
    days = [pa.field(DAY, pa.date32())] if has_days(of_rows) else []
    return [pa.field(CLUSTER, pa.string()), *days]


def tables_in(folder: Path, lines: Mapping[str, int], warnings: Sequence[str]) -> Tables:
    """Return the tables of a folder, in a store those of the generation that counts."""
    return Tables(current(folder), lines, tuple(warnings))


@dataclass(frozen=True, repr=False, eq=False)
class Tables(Mapping[str, Dataset]):
    """The tables of a recording by name, each a `pyarrow.dataset.Dataset`.

    Columns and units are in docs/tables.md, and in the metadata of each dataset's schema.
    """

    #: Where the Parquet files lie; any other reader may open them, too.
    folder: Path
    #: What became of the recording's lines: `lines` are `rows`, `other`, `continuation` and
    #: `rejected`, of so many `files`.
    lines: Mapping[str, int] = field(default_factory=dict)
    #: What may not have been read as it was meant.
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Dataset:
        """Return a table that is read when it is asked for rows."""
        if name not in _SCHEMAS or not (self.folder / name).is_dir():
            raise KeyError(name)
        return stored(name, self.folder / name)

    def __iter__(self) -> Iterator[str]:
        """Return the names of the tables that are there, in the order of the docs."""
        return (name for name in _SCHEMAS if (self.folder / name).is_dir())

    def __len__(self) -> int:
        """Return how many tables are there."""
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        """Return the folder and the names."""
        return f"<Tables in {self.folder}: {', '.join(self)}>"
