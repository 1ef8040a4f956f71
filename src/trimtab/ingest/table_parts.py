"""A table of a recording, or of a folder of tables, cut into parts that are read one by one.

What is read of a recording is parsed on the way and written nowhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.files.batches import batches
from trimtab.files.datasets import stored
from trimtab.files.partitions import CLUSTER, DAY, has_days
from trimtab.files.places import named_by_arrow
from trimtab.files.tables import INGESTED
from trimtab.ingest.accounting import check_lines, file_accounts, meta_account
from trimtab.ingest.archives import ARCHIVES
from trimtab.ingest.columns import table_of
from trimtab.ingest.days import with_days
from trimtab.ingest.pieces import moved
from trimtab.ingest.pipeline import meta_rows, splits_of
from trimtab.ingest.recording import Recording, open_recording
from trimtab.ingest.recording_toml import RecordingError
from trimtab.ingest.shared_lines import with_shared_lines
from trimtab.ingest.shares import shared_out
from trimtab.ingest.split_result import SplitAccount
from trimtab.ingest.splits import Split
from trimtab.ingest.worker import parse_split
from trimtab.spark.runner import Here

#: Bytes of Parquet files, and of what is parsed, that one task reads.
_STORED_BYTES = 32 << 20
_PARSED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Files of a table that ingest wrote."""

    table: str
    files: tuple[Path, ...]

    def datasets(self) -> Iterator[ds.Dataset]:
        """Return the rows, to be read when they are asked for."""
        yield stored(self.table, self.files)


@dataclass(frozen=True, slots=True)
class ParsedPart:
    """Whole files of a recording, by their splits."""

    cluster: str
    table: str
    files: tuple[tuple[Split, ...], ...]

    def datasets(self) -> Iterator[ds.Dataset]:
        """Return the rows, parsed as they are asked for."""
        for splits in self.files:
            for rows in _parsed(self.table, splits):
                yield ds.InMemoryDataset(with_folders(rows, self.cluster))


@dataclass(frozen=True, slots=True)
class MadePart:
    """Rows that are there before any file is parsed."""

    cluster: str
    table: str
    rows: tuple[dict[str, Any], ...]

    def datasets(self) -> Iterator[ds.Dataset]:
        """Return the rows."""
        rows = table_of(self.table, list(self.rows))
        yield ds.InMemoryDataset(with_folders(rows, self.cluster))


Part: TypeAlias = StoredPart | ParsedPart | MadePart


def is_folder_of_tables(path: Path) -> bool:
    """Return whether there are tables as ingest writes them."""
    return next(path.glob(f"*/{CLUSTER}=*"), None) is not None


def parts_of(path: Path, table: str, condition: ds.Expression | None) -> list[Part]:
    """Return the parts of a table; those that cannot have a row of a condition may be left out.

    Args:
        path: a folder of tables, or a recording: a folder or a log.
        table: its name.
        condition: on the table's columns, cluster and day among them.

    Raises:
        RecordingError: there is nothing to read.
    """
    if is_folder_of_tables(path):
        return _stored(path, table, condition)
    if path.name.endswith(ARCHIVES):
        raise RecordingError(
            f"{path}: found an archive, expected what is in it: unpack it, or give it to "
            "`trimtab ingest` and read the tables"
        )
    with open_recording(path) as recording:
        return _of_recording(recording, table)


def _stored(folder: Path, table: str, condition: ds.Expression | None) -> list[Part]:
    if not (folder / table).is_dir():
        raise RecordingError(f"{folder}: has no table {table}")
    fragments = stored(table, folder / table).get_fragments(filter=condition)
    files = [named_by_arrow(folder, name) for name in sorted(it.path for it in fragments)]
    grouped = batches(files, lambda file: file.stat().st_size, _STORED_BYTES)
    return [StoredPart(table, group) for group in grouped]


def _of_recording(opened: Recording, table: str) -> list[Part]:
    if table not in INGESTED:
        raise RecordingError(
            f"{opened.root}: found table {table}, expected one of {', '.join(INGESTED)}: "
            "the others are in the tables of what was explained"
        )
    recording, _ = with_shared_lines(with_days(opened))
    if table == "recording":
        return [MadePart(recording.cluster, table, tuple(meta_rows(recording)))]
    splits, store_files = shared_out(Here(), splits_of(recording))
    if table == "store_files":
        return [MadePart(recording.cluster, table, tuple(store_files))]
    by_file = itertools.groupby(splits, key=lambda split: (split.source, split.path))
    grouped = batches([tuple(those) for _, those in by_file], _weight, _PARSED_BYTES)
    parts: list[Part] = [ParsedPart(recording.cluster, table, group) for group in grouped]
    if table == "files":
        accounts = tuple(each.row for each in meta_account(recording))
        parts.insert(0, MadePart(recording.cluster, table, accounts))
    return parts


def _weight(splits: Sequence[Split]) -> int:
    return sum(split.weight for split in splits)


def _parsed(table: str, splits: Sequence[Split]) -> Iterator[pa.Table]:
    """Return the rows that a file gives of a table, which may be its accounting."""
    accounts: list[SplitAccount] = []
    lines = 0
    for split in splits:
        for item in parse_split(split):
            if isinstance(item, SplitAccount):
                accounts.append(item)
                lines += item.lines
            elif item.table == table:
                yield moved(item.rows, lines)
    if table == "files":
        files = file_accounts(splits, accounts)
        check_lines(files)
        yield table_of(table, [each.row for each in files])


def with_folders(rows: pa.Table, cluster: str) -> pa.Table:
    """Return rows with the columns that the folders of stored ones tell."""
    rows = rows.append_column(CLUSTER, pa.repeat(pa.scalar(cluster, pa.string()), len(rows)))
    if not has_days(rows.schema):
        return rows
    return rows.append_column(DAY, pc.cast(rows["time"], pa.date32(), safe=False))
