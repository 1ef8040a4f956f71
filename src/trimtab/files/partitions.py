"""Where a table's rows lie: in Hive's folders for cluster and day, which every reader knows.

`<table>/cluster=<name>/day=<date>/part-<name>.parquet` for tables that have a time, and
without the day for those that have none.  Ingest and diagnosis write by this module, and
what is read is found by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trimtab.files.places import draft_of, put

#: The day of rows without a time: Hive's word for a null.
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
#: The day of a part without rows: of a table with no other day than a null, Arrow cannot
#: tell the type and refuses it.
_FIRST_DAY = "1970-01-01"
#: Column whose day, in UTC, a row lies under.
TIME = "time"
#: Columns that a reader makes of the folders.
CLUSTER, DAY = "cluster", "day"
_CLUSTER, _DAY = f"{CLUSTER}=", f"{DAY}="
#: What may not stand in a folder's name as it is: what Hive and Spark escape.
_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")
#: Rows in a row group; readers skip and parallelize by row groups.
_GROUP_ROWS = 1 << 16
#: The same of a table whose rows have lists of records, of a large cluster thousands each.
_LONG_GROUP_ROWS = 1 << 10


def escaped(value: str) -> str:
    """Return a value as Hive writes it in the name of a folder.

    >>> escaped("shop/eu 1%")
    'shop%2Feu 1%25'
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", value)


def cluster_folder(tables: Path, table: str, cluster: str) -> Path:
    """Return the folder of a table's rows of one cluster."""
    return tables / table / f"{_CLUSTER}{escaped(cluster)}"


def part_files(tables: Path, table: str, cluster: str) -> list[Path]:
    """Return the files of a table's rows of one cluster, day by day and part by part."""
    return sorted(cluster_folder(tables, table, cluster).rglob("part-*.parquet"))


def clusters(tables: Path) -> list[str]:
    """Return the clusters whose rows a folder of tables holds."""
    names = {path.name.removeprefix(_CLUSTER) for path in tables.glob(f"*/{_CLUSTER}*")}
    return sorted(map(unquote, names))


def part_name(name: str) -> str:
    """Return the name of a part's files."""
    return f"part-{escaped(name)}.parquet"


def has_days(schema: pa.Schema) -> bool:
    """Return whether a table's rows lie under days: whether they have a time."""
    return TIME in schema.names


def write_rows(
    tables: Path, cluster: str, name: str, rows: Mapping[str, pa.Table | Iterable[pa.Table]]
) -> dict[str, int]:
    """Return the count of rows by table, written as one part; the same call again changes nothing.

    Each file appears whole, and what an earlier call wrote of these tables under the same
    name and this one does not is removed.  A part of a table that has no rows is one file
    without rows, so that a reader finds the table and its columns.

    Args:
        tables: folder of tables; made if need be.
        cluster: name of the cluster, as it is.
        name: the part's name, such as "night-00001": no two writers' are the same.
        rows: table → rows, in the table's schema; or tables of them, one at least, one behind the
            other, which need not be in memory together.

    Returns:
        Table → rows written.

    Raises:
        OSError: it cannot be written.
    """
    part = Part(tables, cluster, name)
    for table, those in rows.items():
        for each in [those] if isinstance(those, pa.Table) else those:
            part.add(table, each)
            schema = each.schema
        if not part.rows[table]:
            part.add_nothing(table, schema)
    paths = part.close()
    for table in rows:
        for path in cluster_folder(tables, table, cluster).rglob(part_name(name)):
            if path not in paths:
                path.unlink()
    return part.rows


@dataclass(slots=True)
class Part:
    """One part of tables that is being written: a file for each table and day that has rows.

    The bytes of a file follow from its rows and their order, and not from how they came.
    """

    tables: Path
    cluster: str
    name: str
    #: Table → rows taken.
    rows: dict[str, int] = field(default_factory=dict)
    _files: dict[Path, _File] = field(default_factory=dict)

    def add(self, table: str, rows: pa.Table) -> None:
        """Take rows of a table."""
        self.rows[table] = self.rows.get(table, 0) + len(rows)
        for folder, those in parted(rows):
            self._file(table, folder, rows.schema).add(those)

    def add_nothing(self, table: str, schema: pa.Schema) -> None:
        """Make a file without rows, from which a reader learns the table's columns."""
        self._file(table, f"{_DAY}{_FIRST_DAY}" if has_days(schema) else "", schema)

    def close(self) -> list[Path]:
        """Return the files, which are put in their places."""
        for file in self._files.values():
            file.close()
        for path, file in self._files.items():
            put(file.draft, path)
        return list(self._files)

    def _file(self, table: str, folder: str, schema: pa.Schema) -> _File:
        place = cluster_folder(self.tables, table, self.cluster) / folder
        path = place / part_name(self.name)
        if path not in self._files:
            place.mkdir(parents=True, exist_ok=True)
            self._files[path] = _File(draft_of(path), schema)
        return self._files[path]


@dataclass(slots=True)
class _File:
    """One Parquet file that is being written."""

    draft: Path
    schema: pa.Schema
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_rows: int = 0
    writer: pq.ParquetWriter = None

    def add(self, rows: pa.Table) -> None:
        """Take rows; write those that fill row groups."""
        self.waiting.append(rows)
        self.waiting_rows += len(rows)
        size = _group_rows(self.schema)
        if self.waiting_rows >= size:
            full = self.waiting_rows // size * size
            rows = pa.concat_tables(self.waiting)
            self._write(rows.slice(0, full))
            self.waiting = [rows.slice(full)]
            self.waiting_rows -= full

    def close(self) -> None:
        """Write what waits."""
        if self.waiting_rows or self.writer is None:
            self._write(pa.concat_tables(self.waiting or [self.schema.empty_table()]))
        self.writer.close()

    def _write(self, rows: pa.Table) -> None:
        self.writer = self.writer or pq.ParquetWriter(self.draft, self.schema, compression="zstd")
        # Where rows are cut into chunks, the writer ends pages.
        self.writer.write_table(rows.combine_chunks(), row_group_size=_group_rows(self.schema))


def _group_rows(schema: pa.Schema) -> int:
    """Return the count of rows in a row group."""
    kinds = (field.type for field in schema)
    is_long = any(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) for kind in kinds)
    return _LONG_GROUP_ROWS if is_long else _GROUP_ROWS


def parted(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Return rows by the folder within the cluster's that they belong to; their order stays."""
    if not len(rows):
        return
    if not has_days(rows.schema):
        yield "", rows
        return
    days = rows.column(TIME).cast(pa.date32(), safe=False)
    for day in sorted(pc.unique(days).to_pylist(), key=str):
        mine = pc.is_null(days) if day is None else pc.equal(days, pa.scalar(day, pa.date32()))
        at = np.flatnonzero(pc.fill_null(mine, False).to_numpy())
        span = at[0], at[-1] + 1 - at[0]
        those = rows.slice(*span)
        # Rows may have lists of all brokers: most of them, if they lie together, are not copied;
        # a few are, or they would hold all others in memory until they are written.
        if span[1] > len(at) or 2 * len(at) < len(rows):
            those = those.filter(mine.slice(*span))
        yield f"{_DAY}{NO_DAY if day is None else day.isoformat()}", those
