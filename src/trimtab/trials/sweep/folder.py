"""The folder of a sweep: rows that are done are kept in it, until all are and the tables stand.

Only the driver writes, so that no worker needs a disk that the driver sees.  A part
appears whole or not at all, and rows are known by their task, so that a sweep that was
killed goes on with what is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.files.errors import TrimtabError
from trimtab.files.tables import SWEPT
from trimtab.files.version import __version__
from trimtab.trials.sweep.task import Task
from trimtab.trials.sweep.worker import ROWS

#: Tells a folder of a sweep from any other; holds what its rows rest on.
MARKER = "sweep.json"
_PARTS = ".parts"
_LOCK = ".lock"
_KEY = [field.name for field in fields(Task)]


class SweepError(TrimtabError):
    """The folder of a sweep cannot be used; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """The rows of a sweep that are done."""

    folder: Path

    def tasks(self) -> frozenset[Task]:
        """Return which tasks are done."""
        return frozenset(_tasks(self._rows()))

    def keep(self, rows: pa.Table) -> None:
        """Keep rows, on the disk when this returns."""
        keys = repr([astuple(task) for task in _tasks(rows)]).encode()
        name = hashlib.blake2b(keys, digest_size=16).hexdigest()
        _write(self.folder / _PARTS / f"{name}.parquet", rows.cast(ROWS))

    def finish(self, tasks: Iterable[Task]) -> pa.Table:
        """Return the outcomes of tasks that are all done; write their tables and drop the parts.

        Rows stand in the order of their tasks, so that equal rows give equal bytes.

        Returns:
            The outcomes.
        """
        rows = self._rows()
        places = {task: place for place, task in enumerate(_tasks(rows))}
        rows = rows.take([places[task] for task in sorted(tasks)])
        tables = {name: rows.select(schema.names).cast(schema) for name, schema in SWEPT.items()}
        for name, table in tables.items():
            _write(self._table(name), table)
        shutil.rmtree(self.folder / _PARTS)
        return tables["outcomes"]

    def _rows(self) -> pa.Table:
        """Return what is there: the rows of an earlier sweep that was finished, and the parts."""
        parts = [pq.read_table(part) for part in sorted((self.folder / _PARTS).glob("*.parquet"))]
        if all(self._table(name).is_file() for name in SWEPT):
            outcomes, timings = (pq.read_table(self._table(name)) for name in SWEPT)
            parts.append(outcomes.append_column(ROWS.field("wall_s"), timings["wall_s"]))
        return pa.concat_tables([ROWS.empty_table(), *(part.cast(ROWS) for part in parts)])

    def _table(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


@contextmanager
def opened(folder: Path, basis: Mapping[str, str], *, anew: bool) -> Iterator[SweepFolder]:
    """Open the folder of a sweep for one writer, made if need be.

    Raises:
        SweepError: it holds something else, rows that rest on something else, or somebody
            writes in it.
    """
    marker = folder / MARKER
    if folder.exists() and not folder.is_dir():
        raise SweepError(f"{folder}: it is a file; name a folder")
    # Who dies early leaves a lock and a draft.
    ours = {_LOCK, _draft(marker).name}
    is_new = not folder.is_dir() or all(path.name in ours for path in folder.iterdir())
    if not marker.is_file() and not is_new:
        raise SweepError(
            f"{folder}: not written: it holds something that is not a sweep; "
            "name a folder that does not exist, or one that an earlier sweep wrote"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("w")
    except OSError as error:
        raise SweepError(f"{folder}: cannot be written: {error.strerror}") from None
    with lock:
        try:
            # The lock ends with the process that holds it, however that ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SweepError(f"{folder}: another sweep is writing there") from None
        if anew:
            shutil.rmtree(folder / _PARTS, ignore_errors=True)
            for name in (MARKER, *(f"{table}.parquet" for table in SWEPT)):
                (folder / name).unlink(missing_ok=True)
        _mark(folder, basis)
        (folder / _PARTS).mkdir(exist_ok=True)
        yield SweepFolder(folder)


def _mark(folder: Path, basis: Mapping[str, str]) -> None:
    """Write down what rows rest on, if those that are there rest on the same.

    Raises:
        SweepError: they rest on something else.
    """
    marker = folder / MARKER
    before: dict[str, str] = {}
    if marker.is_file():
        before = json.loads(marker.read_text(encoding="utf-8"))["basis"]
    changed = sorted(name for name in basis if before.get(name, basis[name]) != basis[name])
    if changed:
        raise SweepError(
            f"{folder}: its rows were made with another {' and another '.join(changed)}; "
            "name another folder, or throw them away with --anew"
        )
    document = {"trimtab": __version__, "basis": dict(sorted({**before, **basis}.items()))}
    _replace(marker, (json.dumps(document, indent=2) + "\n").encode())


def _tasks(rows: pa.Table) -> Iterator[Task]:
    for row in rows.select(_KEY).to_pylist():
        yield Task.of(row)


def _write(path: Path, table: pa.Table) -> None:
    packed = pa.BufferOutputStream()
    pq.write_table(table, packed, compression="zstd")
    _replace(path, packed.getvalue().to_pybytes())


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there."""
    draft = _draft(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.draft")
