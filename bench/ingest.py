"""How fast logs become tables, beside Polars and DuckDB at the same work."""

from __future__ import annotations

import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import click
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark

from bench.ingest_duckdb import ingest_duckdb
from bench.ingest_polars import ingest_polars
from bench.logs import BAD_SHARE, ROWS_SHARE, TRACES_SHARE, logs
from bench.process_tree import Taken, taken
from bench.table import DifferenceError, Table
from trimtab.ingest.messages import MESSAGES
from trimtab.ingest.pipeline import ingest as ingest_recording
from trimtab.ingest.recording import open_recording
from trimtab.spark.session import opened_spark

_SEED = 7
_SIZE = 1_000_000_000
_CORES = 2
#: What is read: files, and whether they are packed.
_INPUTS: Mapping[str, tuple[int, bool]] = {
    "10 files": (10, False),
    "10 files, gzip": (10, True),
    "1 file": (1, False),
}
#: Times that each side reads each, after a first time that is told apart.
_TIMES = 3
#: What of a row is compared; a map as keys and values, in this order.
_COMPARED = ("file", "line", "time", "log_broker", "thread", "level", "logger", "kind",
             "strategy", "broker", "bundle", "target", "count", "brokers", "text")  # fmt: skip
_MAPS = ("numbers", "scores")

_TEXT = f"""\
{_SIZE:,} bytes of generated logs of Pulsar 4.0.8, {ROWS_SHARE:.1%} of the lines messages that \
become rows, {TRACES_SHARE:.0%} of stack traces, {BAD_SHARE:.2%} broken; seed {_SEED}.
Each side writes the same typed rows, the rejected lines and the accounting of every line to \
Parquet: if a row or a count differs, there is no table.
trimtab knows {{messages}} messages, Polars and DuckDB the 11 that stand in these logs.
Each side lives in a process of its own with {_CORES} threads or tasks at a time; they take \
turns, {_TIMES} times each, and the figures are medians.
The first time of each is before those: with starting Spark's session, or the library, and with \
cold caches and compilers.
Processor time and memory are those of all processes of a side; pages that two of them share \
count twice.
The ratios are those of wall and of processor time to trimtab's: above 1 trimtab is faster.
"""
_HEADINGS = ("read", "side", "wall, s", "MB/s", "CPU, s", "first time, s", "peak of memory, MiB",
             "ratio", "ratio of CPU")  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Side:
    """One that reads logs, in a process of its own."""

    name: str
    connection: Connection
    #: Seconds to start it, and what it took each time.
    started_s: float
    times: list[tuple[float, Taken]]

    def read(self, recording: Path, tables: Path) -> None:
        """Have it read a recording once."""
        shutil.rmtree(tables, ignore_errors=True)
        self.connection.send((recording, tables))
        told = self.connection.recv()
        if isinstance(told, str):
            raise DifferenceError(f"{self.name}: {told}")
        self.times.append(told)


def ingest() -> Table:
    """Measure plain and packed logs, and whether memory grows with the size of a file."""
    versions = (
        f"PySpark {pyspark.__version__}",
        f"pyarrow {pa.__version__}",
        f"Polars {pl.__version__}",
        f"DuckDB {duckdb.__version__}",
    )
    rows = tuple(row for name in _INPUTS for row in _measured(name))
    return Table(_TEXT.format(messages=len(MESSAGES)), versions, _HEADINGS, rows)


def _measured(name: str) -> Iterator[tuple[str, ...]]:
    """Measure all sides at one input."""
    files, is_packed = _INPUTS[name]
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        recording = Path(folder, "recording")
        size = logs(recording, _SIZE, files=files, seed=_SEED, is_packed=is_packed)
        with _started() as sides:
            for _ in range(_TIMES + 1):
                for side in sides:
                    side.read(recording, Path(folder, side.name))
        compare(*(Path(folder, side.name) for side in sides))
    for side in sides:
        row = _row(name, size, side, sides[0])
        click.echo(" | ".join(row))
        yield row


def _row(name: str, size: int, side: _Side, ours: _Side) -> tuple[str, ...]:
    (first_s, _), *_ = side.times
    wall_s, cpu_s = _medians(side)
    our_wall_s, our_cpu_s = _medians(ours)
    peak = max(it.peak_bytes for _, it in side.times)
    return (
        name,
        side.name,
        f"{wall_s:.2f}",
        f"{size / wall_s / 1e6:,.0f}",
        f"{cpu_s:.2f}",
        f"{side.started_s + first_s:.1f}",
        f"{peak / 2**20:,.0f}",
        f"{wall_s / our_wall_s:.2f}",
        f"{cpu_s / our_cpu_s:.2f}",
    )


def _medians(side: _Side) -> tuple[float, float]:
    """Return the medians of wall and processor time, in s, without the first time."""
    later = side.times[1:]
    return statistics.median(it for it, _ in later), statistics.median(it.cpu_s for _, it in later)


# ----------------------------------------------------------------------- sides


def read_by_trimtab(connection: Connection) -> None:
    """Read recordings with trimtab, one after the other, in one session of Spark."""
    with opened_spark(cores=_CORES, master=None) as spark:

        def read(recording: Path, tables: Path) -> None:
            with open_recording(recording) as opened:
                ingest_recording(spark, opened, tables)

        _serve(connection, read)


def read_by_polars(connection: Connection) -> None:
    """Read recordings with Polars."""
    _serve(connection, lambda recording, tables: ingest_polars(_logs(recording), tables))


def read_by_duckdb(connection: Connection) -> None:
    """Read recordings with DuckDB."""
    read = partial(ingest_duckdb, threads=_CORES)
    _serve(connection, lambda recording, tables: read(_logs(recording), tables))


_SIDES: Mapping[str, Callable[[Connection], None]] = {
    "trimtab": read_by_trimtab,
    "Polars": read_by_polars,
    "DuckDB": read_by_duckdb,
}


def _logs(recording: Path) -> list[Path]:
    return sorted(recording.glob("logs/*/*"))


def _serve(connection: Connection, read: Callable[[Path, Path], None]) -> None:
    """Say that it can begin, then read whatever is asked for, until nobody asks any more."""
    connection.send("ready")
    while True:
        try:
            recording, tables = connection.recv()
        except EOFError:
            return
        began = time.monotonic()
        try:
            with taken() as found:
                read(recording, tables)
        except Exception as error:
            connection.send(repr(error))
            continue
        connection.send((time.monotonic() - began, found))


@contextmanager
def _started() -> Iterator[tuple[_Side, ...]]:
    """Start all sides, and end them with the block."""
    context = multiprocessing.get_context("spawn")
    sides, processes = [], []
    try:
        for name, serve in _SIDES.items():
            began = time.monotonic()
            near, far = context.Pipe()
            process = context.Process(target=serve, args=(far,), daemon=False)
            process.start()
            processes.append(process)
            far.close()
            near.recv()
            sides.append(_Side(name, near, time.monotonic() - began, []))
        yield tuple(sides)
    finally:
        for side in sides:
            side.connection.close()
        for process in processes:
            process.join()


# ------------------------------------------------------------------ comparison


def compare(ours: Path, *others: Path) -> None:
    """Check that all sides have written the same.

    Raises:
        DifferenceError: an account, a row or a rejected line differs.
    """
    for other in others:
        for table, columns in {
            "files": ("file", "lines", "rows", "other", "continuation", "rejected"),
            "rejects": ("file", "line"),
            "log_events": _COMPARED,
        }.items():
            one = _table(ours / table, columns)
            another = _table(other / f"{table}.parquet", columns)
            for column in one.column_names:
                if one.column(column).to_pylist() != another.column(column).to_pylist():
                    raise DifferenceError(f"{other.name} has another {column} in {table}")


def _table(path: Path, columns: tuple[str, ...]) -> pa.Table:
    """Read a table, its rows in the order of file and line."""
    maps = _MAPS if "kind" in columns else ()
    found = pq.read_table(path, columns=[*columns, *maps])
    if "line" in columns:
        found = found.sort_by([("file", "ascending"), ("line", "ascending")])
    for name in maps:
        pairs = [dict(_pair(each) for each in of or ()) for of in found.column(name).to_pylist()]
        found = found.drop_columns(name).append_column(name, pa.array(map(repr, pairs)))
    if "time" in columns:
        time_us = pc.cast(found.column("time"), pa.int64())
        found = found.set_column(found.column_names.index("time"), "time", time_us)
    return found


def _pair(each: tuple[str, float] | dict[str, float]) -> tuple[str, float]:
    """Read an entry of a map, or of a list of pairs."""
    key, value = each.values() if isinstance(each, dict) else each
    return str(key), float(value)
