"""What a Spark task does with a group of splits: parse them, and write their rows as a part.

Rows go from the parser to the disk in one process; Spark carries the accounting alone.
Only where the lines before a split are not counted yet, because another task reads them, do
rows wait in a file of their own, and a second job puts them into their part.

Spark's own writer is not used: it lists a column's encodings in the order of a Java hash
set, so that two runs over the same rows give different bytes; it needs a job a table; and
it drops the meaning and the unit of the columns.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa

from trimtab.files.packing import unpacked, unpressed
from trimtab.files.partitions import Part
from trimtab.files.places import draft_of, put
from trimtab.ingest.pieces import Group, moved, run_group
from trimtab.ingest.split_result import SplitAccount, TableRows

#: Rows that wait: of one split and table in each row, as they lie.
_KEPT = pa.schema([("split", pa.int32()), ("table", pa.string()), ("rows", pa.binary())])
#: New objects after which Python looks for garbage in cycles; more than wait for a batch, for
#: parsing makes rows and no cycles.
_COLLECTED_AFTER = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of a recording go."""

    #: Folder of tables; on a cluster, on a disk that all workers see.
    tables: Path
    cluster: str
    recording: str

    @property
    def waiting(self) -> Path:
        """Return the folder of rows that wait, which is gone once all are written."""
        return self.tables / ".waiting"

    def part(self, number: int) -> str:
        """Return the name of one of its parts."""
        return f"{self.recording}-{number:05}"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group."""

    #: Of its splits, in their order.
    accounts: Sequence[SplitAccount] = ()
    #: Table → rows that are in the group's part.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: Its rows are not in the part yet: they wait for the number of lines before them.
    waits: bool = False
    #: Why they cannot be written.
    fault: str = ""


class _UnwritableError(Exception):
    """The disk does not take what is to be written."""


def write_group(place: Place, groups: Sequence[Group], number: int) -> Written:
    """Parse a group and write its rows: a part, which is a file for each table and day.

    A task that is tried again writes the same bytes, and no file under its final name
    is ever half written.  A disk that is full is a `fault` and not tried again.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    group = groups[number]
    # Of what begins within a file, another task counts the lines before.
    write = _keep_waiting if group.pieces[0].split.start else _write_part
    try:
        return write(place, number, group)
    except _UnwritableError as fault:
        return Written(fault=str(fault))
    finally:
        _leave_what_is_loaded(len(sys.modules))


def write_waiting(place: Place, offsets: Mapping[int, int], numbers: Sequence[int]) -> Written:
    """Write the rows of some groups that wait, otherwise as `write_group`.

    The offsets are the lines of the file before a split; one that is not there is a first one.
    """
    rows: Counter[str] = Counter()
    try:
        for number in numbers:
            rows.update(_write_kept(place, number, offsets))
    except _UnwritableError as fault:
        return Written(fault=str(fault))
    return Written(rows=rows)


def _write_part(place: Place, number: int, group: Group) -> Written:
    """Parse a group that begins with the beginning of a file, and write its rows."""
    part = Part(place.tables, place.cluster, place.part(number))
    accounts: list[SplitAccount] = []
    lines = 0
    for piece, item in run_group(group):
        before = lines if piece.split.start else 0
        if isinstance(item, TableRows):
            _add(part, item, before)
        else:
            accounts.append(item)
            lines = before + item.lines
    with _writing():
        part.close()
    return Written(accounts, part.rows)


def _keep_waiting(place: Place, number: int, group: Group) -> Written:
    """Parse a group that begins within a file, and keep its rows for `_write_kept`."""
    path = _kept(place, number)
    draft = draft_of(path)
    accounts: list[SplitAccount] = []
    with _writing():
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = pa.ipc.new_stream(file := pa.OSFile(str(draft), "wb"), _KEPT)
    for piece, item in run_group(group):
        if isinstance(item, SplitAccount):
            accounts.append(item)
            continue
        row = {"split": piece.number, "table": item.table, "rows": unpressed(item.rows)}
        with _writing():
            stream.write_batch(pa.RecordBatch.from_pylist([row], _KEPT))
    with _writing():
        stream.close()
        file.close()
        put(draft, path)
    # A part that is to be kept as it is has no rows.
    return Written(accounts, waits=not any(account.is_linked for account in accounts))


def _write_kept(place: Place, number: int, offsets: Mapping[int, int]) -> Mapping[str, int]:
    """Write rows that waited, and return the count of them by table."""
    part = Part(place.tables, place.cluster, place.part(number))
    with _kept(place, number).open("rb") as file:
        for batch in pa.ipc.open_stream(file):
            [row] = batch.to_pylist()
            rows = TableRows(row["table"], unpacked(row["rows"]))
            _add(part, rows, offsets.get(row["split"], 0))
    with _writing():
        part.close()
    return part.rows


def _kept(place: Place, number: int) -> Path:
    return place.waiting / f"{number:05}.arrow"


def _add(part: Part, table_rows: TableRows, lines_before: int) -> None:
    rows = moved(table_rows.rows, lines_before)
    with _writing():
        part.add(table_rows.table, rows)


@cache
def _leave_what_is_loaded(modules: int) -> None:
    """Have this process look for no garbage in what is loaded, once for each count of modules.

    PySpark has it walk all that is there after each task, which takes as long as parsing some
    megabytes; before the first task, half of the libraries are not loaded.
    """
    gc.freeze()


@contextmanager
def _writing() -> Iterator[None]:
    """Raise an error of its own for what the disk does not take."""
    try:
        yield
    except OSError as fault:
        raise _UnwritableError(fault.strerror or str(fault)) from None
