"""A recording → Parquet tables, with every line of every file accounted for.

One Spark job parses all files; then each table is written from what it kept.  What a
line means stands in the parsers, what a task does in `worker`.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that every Spark program uses
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab import __version__
from trimtab.ingest.outcome import Origin
from trimtab.ingest.parts import PART, WRITTEN, write_parts
from trimtab.ingest.recording import Recording, UnusedFile
from trimtab.ingest.shares import shared_out
from trimtab.ingest.splits import Split, cut, pack
from trimtab.ingest.worker import CLASSES, ENVELOPE, PARSED, run_tasks
from trimtab.spark import plain_faults, progress
from trimtab.tables import INGESTED

#: Tells a folder of tables of ours from any other; holds the accounting for programs.
MARKER = "accounting.json"
#: Folder within tables that are followed, with the follower's books; hidden from readers.
BOOKS = ".follow"
#: Rejected lines that an `Accounting` carries; all of them are in the table `rejects`.
_SAMPLE_SIZE = 20


class IngestError(Exception):
    """Tables cannot be written, or what was written is not what was read."""


@dataclass(frozen=True, slots=True)
class FileAccount:
    """What became of the lines of one file."""

    file: str
    source: str
    lines: int
    rows: int
    other: int
    continuation: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Accounting:
    """What became of every line of a recording, and of every file."""

    files: tuple[FileAccount, ...]
    #: Table → rows in it.
    tables: dict[str, int]
    #: The first rows of the table `rejects`.
    rejects: tuple[dict[str, Any], ...]
    unused: tuple[UnusedFile, ...]

    @property
    def totals(self) -> dict[str, int]:
        """Return the number of files, and of lines in all and of each class."""
        sums = {name: sum(getattr(it, name) for it in self.files) for name in ("lines", *CLASSES)}
        return {"files": len(self.files)} | sums


def ingest(spark: SparkSession, recording: Recording, tables: Path) -> Accounting:
    """Write a recording's tables, one Parquet folder each, and account for every line.

    The same recording gives the same bytes, whatever the number of cores or the master.
    Rows stand by source, file and line.  The folder appears at once and whole, or not
    at all; one that an earlier run wrote is replaced.

    Args:
        spark: a session of `trimtab.spark.session`.
        recording: an open recording; on a cluster, on a disk that all workers see.
        tables: folder to write, one folder in it for each table of `tables.INGESTED`.

    Raises:
        IngestError: the folder holds something else, or the accounting does not add up.
        SparkError: Spark failed.
    """
    with _whole_or_nothing(tables) as folder, progress(spark, f"reading {recording.name}"):
        with plain_faults():
            splits, store_files = shared_out(spark, _splits(recording))
            accounts, told = _write_parsed(spark, splits, folder)
        files = (*meta_accounts(recording), *_file_accounts(splits, accounts))
        _write(folder, "files", [asdict(file) for file in files])
        _write(folder, "store_files", store_files)
        _write(folder, "recording", meta_rows(recording))
        written = {name: _row_count(folder / name) for name in INGESTED}
        rejects = _head(folder / "rejects", _SAMPLE_SIZE)
        accounting = Accounting(files, written, rejects, recording.unused)
        _check_lines(accounting)
        _check_rows(accounting, accounts, told)
        _check_bytes(splits, accounts)
        _mark(folder, accounting)
    return accounting


# -------------------------------------------------------------------- reading


def _splits(recording: Recording) -> list[Split]:
    """Cut the recording's files, in the order in which their rows are to stand."""
    return [
        split
        for source, files in recording.files.items()
        if source != "recording"
        for file in files
        for split in cut(
            file.path,
            Origin(
                file.name,
                file.log_broker,
                recording.zone,
                recording.day,
                recording.meta.get("store_root", ""),
            ),
            source,
        )
    ]


def _parse(spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
    """Parse all splits in Spark's workers: rows of every table, and the accounting."""
    numbers = itertools.count()
    tasks = [tuple((next(numbers), split) for split in task) for task in pack(splits)]
    # A partition is the number of a task: what is to be read travels with the function.
    numbered = spark.range(0, len(tasks), 1, len(tasks))
    return numbered.mapInArrow(partial(run_tasks, tasks), from_arrow_schema(ENVELOPE))


def _accounts(parsed: DataFrame) -> list[Row]:
    """Return the accounting of every split, in their order."""
    rows = parsed.where(F.col("account").isNotNull()).select("split", "account.*").collect()
    return sorted(rows, key=attrgetter("split"))


def _offsets(splits: Sequence[Split], accounts: Sequence[Row]) -> dict[int, int]:
    """Return the lines before each split that is not the first of its file."""
    offsets = {}
    before = 0
    for split, account in zip(splits, accounts, strict=True):
        if split.start:
            offsets[account.split] = before
        before = account.lines + (before if split.start else 0)
    return offsets


# -------------------------------------------------------------------- writing


def _write_parsed(
    spark: SparkSession, splits: Sequence[Split], folder: Path
) -> tuple[list[Row], dict[str, int]]:
    """Parse all splits once and write the tables that the workers give rows of.

    Returns:
        The accounting of every split, and the rows that were written of each table.
    """
    for table in PARSED:
        (folder / table).mkdir()
    parsed = _parse(spark, splits).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        accounts = _accounts(parsed)
        write = partial(write_parts, folder, _offsets(splits, accounts))
        told = parsed.mapInArrow(write, WRITTEN).collect()
    finally:
        parsed.unpersist()
    for table in PARSED:
        _number_parts(folder / table, INGESTED[table])
    return accounts, {
        table: sum(row.rows for row in told if row.table == table) for table in PARSED
    }


def _number_parts(folder: Path, schema: pa.Schema) -> None:
    """Number a table's parts without gaps; a table without rows gets one part too."""
    parts = sorted(folder.glob("part-*"), key=lambda part: (len(part.name), part.name))
    for number, part in enumerate(parts):
        part.rename(folder / PART.format(number))
    # What tasks that were tried again have left.
    for left in folder.glob(".*"):
        left.unlink()
    if not parts:
        pq.write_table(schema.empty_table(), folder / PART.format(0))


def _write(folder: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Write a small table without Spark."""
    (folder / table).mkdir()
    pq.write_table(pa.Table.from_pylist(rows, INGESTED[table]), folder / table / PART.format(0))


def _row_count(folder: Path) -> int:
    return sum(pq.read_metadata(part).num_rows for part in folder.iterdir())


def _head(folder: Path, n: int) -> tuple[dict[str, Any], ...]:
    """Return the first rows of a table."""
    first = pq.ParquetFile(min(folder.iterdir()))
    batch = next(first.iter_batches(batch_size=n), None)
    return tuple(batch.to_pylist()) if batch else ()


@contextmanager
def _whole_or_nothing(tables: Path) -> Iterator[Path]:
    """Give a folder to write in, which takes the place of `tables` when the block ends well."""
    tables = tables.absolute()
    is_there = tables.is_dir() and any(tables.iterdir())
    if (is_there and not (tables / MARKER).is_file()) or (tables.exists() and not tables.is_dir()):
        raise IngestError(
            f"{tables}: not written: it holds something that is not a folder of tables; "
            "name a folder that does not exist, or one that an earlier run wrote"
        )
    if (tables / BOOKS).exists():
        raise IngestError(
            f"{tables}: not written: it follows a recording, of which lines may be gone by now; "
            "name another folder, or remove it yourself"
        )
    partial_folder = tables.with_name(f".{tables.name}.partial")
    earlier = tables.with_name(f".{tables.name}.earlier")
    # What a run that was killed has left.
    for left in (partial_folder, earlier):
        shutil.rmtree(left, ignore_errors=True)
    try:
        partial_folder.mkdir(parents=True)
    except OSError as error:
        raise IngestError(f"{tables}: cannot be written: {error.strerror}") from None
    try:
        yield partial_folder
        if tables.exists():
            tables.rename(earlier)
        partial_folder.rename(tables)
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)


# ----------------------------------------------------------------- accounting


def meta_accounts(recording: Recording) -> list[FileAccount]:
    """Account for recording.toml, which is read when the recording is opened."""
    accounts = []
    for file in recording.files.get("recording", ()):
        lines = [line.strip() for line in file.path.read_text("utf-8-sig").splitlines()]
        rows = sum(1 for line in lines if line and not line.startswith("#"))
        account = FileAccount(file.name, "recording", len(lines), rows, len(lines) - rows, 0, 0)
        accounts.append(account)
    return accounts


def meta_rows(recording: Recording) -> list[dict[str, Any]]:
    """Return the rows of the table `recording`."""
    known = {"name": recording.name} | recording.meta
    return [{"key": key, "value": value} for key, value in known.items()]


def _file_accounts(splits: Sequence[Split], accounts: Sequence[Row]) -> list[FileAccount]:
    """Add up the splits of each file."""
    of_splits = zip(splits, accounts, strict=True)
    return [
        FileAccount(
            file, source, *map(sum, zip(*(_counts(account) for _, account in group), strict=True))
        )
        for (source, file), group in itertools.groupby(
            of_splits, key=lambda it: (it[0].source, it[0].origin.file)
        )
    ]


def _counts(account: Row) -> tuple[int, ...]:
    return account.lines, *(account[name] for name in CLASSES)


def _check_lines(accounting: Accounting) -> None:
    """Stop if the classes of a file's lines do not add up to its lines.

    Raises:
        IngestError: it says which file, what was found and what was expected.
    """
    for file in accounting.files:
        classes = file.rows + file.other + file.continuation + file.rejected
        if file.lines != classes:
            raise IngestError(f"{file.file}: {file.lines} lines, but {classes} accounted for")


def _check_rows(accounting: Accounting, accounts: Sequence[Row], told: Mapping[str, int]) -> None:
    """Stop if a row was lost or came twice between a parser and the disk.

    Raises:
        IngestError: it says which table, what was found and what was expected.
    """
    for table in PARSED:
        parsed = sum(account.table_rows.get(table, 0) for account in accounts)
        on_disk = accounting.tables[table]
        if not parsed == told[table] == on_disk:
            raise IngestError(
                f"table {table}: {parsed} rows parsed, {told[table]} written, {on_disk} on disk"
            )


def _check_bytes(splits: Sequence[Split], accounts: Sequence[Row]) -> None:
    """Stop if the splits of a file did not read each of its bytes once.

    Raises:
        IngestError: it says which file, what was found and what was expected.
    """
    for path, group in itertools.groupby(
        zip(splits, accounts, strict=True), key=lambda it: it[0].path
    ):
        pieces = list(group)
        if any(split.is_gzip or account.is_damaged for split, account in pieces):
            # How many bytes there would be is not known.
            continue
        size = pieces[-1][0].end
        read = sum(account.bytes for _, account in pieces)
        # A log that is still written to may have grown by the rest of its last line.
        if read != size == path.stat().st_size:
            raise IngestError(f"{path}: {size} bytes, but {read} read")


def _mark(folder: Path, accounting: Accounting) -> None:
    """Write the accounting beside the tables, which also marks the folder as ours."""
    told = {
        "trimtab": __version__,
        "totals": accounting.totals,
        "tables": accounting.tables,
        "unused": [asdict(file) for file in accounting.unused],
    }
    text = json.dumps(told, indent=2, ensure_ascii=False)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")
