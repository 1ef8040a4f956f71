"""Recordings → each a task, explained unless it was before → the table of all nights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.explanation.fleet.nights import Content, content, nights_of
from trimtab.explanation.fleet.row import FAILED, Row, failed_row
from trimtab.explanation.fleet.work import PAGE, ROW, More, Task, explain_night, keep, kept
from trimtab.files.places import files_below
from trimtab.files.tables import FLEET
from trimtab.files.whole_files import write_whole
from trimtab.spark.choice import has_spark, shared_runner, shared_spark
from trimtab.spark.program import digest
from trimtab.spark.runner import Here, Runner, WorkerGoneError, plain_faults, progress, results

TABLE, LINES = "nights.parquet", "nights.jsonl"
_SCHEMA = FLEET["nights"]
_TIMES = ("begin", "end")


@dataclass(frozen=True, slots=True)
class Start:
    """Who is to run the tasks, as the options have it."""

    cores: int
    master: str | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """What became of the nights that were named."""

    rows: tuple[Row, ...]
    #: Nights that were explained now; the others stand as an earlier run left them.
    n_explained: int
    #: Bytes of recordings: read to be explained, and looked at in all.
    n_bytes: int
    n_bytes_all: int
    table: Path
    lines: Path

    @property
    def failed(self) -> list[Row]:
        """Return the rows of nights that could not be explained."""
        return [row for row in self.rows if row["status"] == FAILED]

    @property
    def tables(self) -> list[Path]:
        """Return the folders of tables of the nights that are explained."""
        folders = [row["folder"] for row in self.rows if row["status"] != FAILED]
        return [self.table.parent / folder / "tables" for folder in folders]

    @property
    def headline(self) -> str:
        """Return in one line what was done."""
        clusters = len({row["cluster"] for row in self.rows})
        return (
            f"{len(self.rows):,} nights of {clusters} clusters: {self.n_explained:,} explained now "
            f"({self.n_bytes / 1e6:,.1f} of {self.n_bytes_all / 1e6:,.1f} MB), "
            f"{len(self.rows) - self.n_explained:,} as before, {len(self.failed)} failed."
        )


def explain_fleet(
    words: Sequence[str], output: Path, start: Start, more: Sequence[More] = ()
) -> Fleet:
    """Return what became of the nights that patterns and paths name; each is explained once.

    A night stands in CLUSTER/NIGHT of the output folder as `explain` writes it, with its row
    in night.json.  One whose bytes and program are those of its row stays as it is; one that
    failed is tried again.  The table has all nights of the folder, those of earlier runs too.

    Raises:
        NightsError: as `nights_of`.
        JavaError, SparkError: there is no Java, or Spark failed for no night's sake.
        OSError: the folder cannot be written.
    """
    output.mkdir(parents=True, exist_ok=True)
    program = digest()
    nights = nights_of(words)
    contents = _contents([night.path for night in nights], start)
    tasks = [
        Task(night, output, {"digest": known.digest, "program": program}, tuple(more))
        for night, known in zip(nights, contents, strict=True)
    ]
    sizes = {task.night.folder: known.n_bytes for task, known in zip(tasks, contents, strict=True)}
    due = [task for task in tasks if not _is_done(task)]
    # The longest first: no core is to wait for one at the end.
    due.sort(key=lambda task: (-sizes[task.night.folder], task.night.folder))
    if due:
        _explain_all(due, start)
    by_folder = {row["folder"]: row for row in all_rows(output)}
    table, lines = write_table(output, list(by_folder.values()))
    return Fleet(
        rows=tuple(by_folder[task.night.folder] for task in tasks),
        n_explained=len(due),
        n_bytes=sum(sizes[task.night.folder] for task in due),
        n_bytes_all=sum(sizes.values()),
        table=table,
        lines=lines,
    )


def all_rows(output: Path) -> list[Row]:
    """Return the rows of all nights in a folder, by cluster and time."""
    rows = filter(None, map(kept, output.glob(f"*/*/{ROW}")))
    return sorted(rows, key=lambda row: (row["cluster"], row.get("begin") or "", row["folder"]))


def write_table(output: Path, rows: Sequence[Row]) -> tuple[Path, Path]:
    """Return where the table of nights is, which is written as Parquet and as lines of JSON."""
    whole = [{name: row.get(name) for name in _SCHEMA.names} for row in rows]
    packed = pa.BufferOutputStream()
    pq.write_table(table_of(whole), packed, compression="zstd")
    text = "".join(json.dumps(row) + "\n" for row in whole)
    return (
        write_whole(output / TABLE, packed.getvalue().to_pybytes()),
        write_whole(output / LINES, text),
    )


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Return rows of nights as a table, with times as times and maps as lists of pairs."""
    columns = []
    for field in _SCHEMA:
        values: list[Any] = [row.get(field.name) for row in rows]
        if field.name in _TIMES:
            values = [None if it is None else datetime.fromisoformat(it) for it in values]
        elif pa.types.is_map(field.type):
            values = [None if it is None else list(it.items()) for it in values]
        columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _is_done(task: Task) -> bool:
    """Return whether a night stands already as it would be explained."""
    row = kept(task.folder / ROW)
    if row is None or row["status"] == FAILED or not (task.folder / PAGE).is_file():
        return False
    # A folder that was moved tells of the same recording.
    return all(row.get(name) == value for name, value in task.basis.items())


def _contents(paths: Sequence[Path], start: Start) -> list[Content]:
    """Return the digest of each recording; on a cluster its workers look at them."""
    if start.master is None:
        return [content(path) for path in paths]
    with shared_spark(cores=start.cores, master=start.master) as spark, plain_faults():
        return results(spark, content, paths)


def _explain_all(due: Sequence[Task], start: Start) -> None:
    """Explain nights: few of them one after the other with all cores, else each as a task."""
    for task in due:
        # What it tells of is no more.
        (task.folder / ROW).unlink(missing_ok=True)
    are_few = len(due) < start.cores and start.master is None
    with _runner(due, start, are_few=are_few) as runner:
        if are_few or isinstance(runner, Here):
            for task in due:
                explain_night(runner, task)
            return
        try:
            _run(runner, due)
        except WorkerGoneError:
            # Whose fault it was is not known: each that has no row yet gets a job of its own.
            for task in due:
                if kept(task.folder / ROW) is None:
                    _explain_alone(runner, task)


def _runner(due: Sequence[Task], start: Start, *, are_few: bool) -> AbstractContextManager[Runner]:
    if are_few or not has_spark():
        files = [file for task in due for file in _files(task.night.path)]
        return shared_runner(files, cores=start.cores, master=start.master)
    return shared_spark(cores=start.cores, master=start.master)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else files_below(path)


def _run(runner: Runner, tasks: Sequence[Task]) -> None:
    """Explain nights in workers, each of which is one task; their rows lie in their folders."""
    with progress(runner, f"explaining {len(tasks)} nights"), plain_faults():
        results(runner, partial(explain_night, Here()), tasks)


def _explain_alone(runner: Runner, task: Task) -> None:
    try:
        _run(runner, [task])
    except WorkerGoneError:
        name = task.night.path.name
        keep(task, failed_row(task.night.cluster, name, "the process that explained it ended"))
