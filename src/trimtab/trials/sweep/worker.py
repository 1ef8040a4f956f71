"""What a Spark task does: run the tasks of its partition, each for itself, and give rows.

Runs in Spark's Python workers and, without Spark, in tests.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import pyarrow as pa

from trimtab.files.packing import packed
from trimtab.files.tables import SWEPT
from trimtab.spark.runner import Lent
from trimtab.trials.sweep.task import Ran, Status, Task, Work

#: Tasks that one Spark task runs, one after the other.
Partition: TypeAlias = tuple[Task, ...]

#: What workers give: a row of outcomes with the time that it took.
ROWS = pa.schema([*SWEPT["outcomes"], SWEPT["timings"].field("wall_s")])

#: Of which a run that does not end is told again that its time is up, in case it was busy
#: with something in which an exception is lost.
_RINGS_EVERY_S = 1.0
#: A run that no exception reaches, in a loop of compiled code, loses its process after this
#: many times what a run may take.
_PATIENCE = 3.0

_PACKAGE = str(Path(__file__).parents[2])


class _OutOfTimeError(BaseException):
    """A run took too long.  Not an `Exception`, lest the run catch it itself."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a Spark task does with each task of its partition."""

    work: Work
    #: s that a run may take.
    time_limit_s: float


def run_partition(call: Call, partitions: Sequence[Partition], number: int) -> bytes:
    """Return the rows of `ROWS` of a partition, which is run, packed."""
    # Spark collects garbage after every partition, and would walk through all that libraries
    # are made of: half of what a partition costs.
    if not gc.get_freeze_count():
        gc.freeze()
    rows = [row_of(call, task) for task in partitions[number]]
    return packed(pa.Table.from_pylist(rows, ROWS))


def run_lent(call: Lent[Call], partitions: Sequence[Partition], number: int) -> bytes:
    """Return the same by what was lent to the worker."""
    return run_partition(call.value, partitions, number)


def row_of(call: Call, task: Task) -> dict[str, Any]:
    """Return the row of one task, which is run; whatever it does, its row says so.

    Quirks:
        A run is interrupted between two steps of Python.  One that stays in compiled code
        is not, and ends its process in the end; Spark says so to the driver.
    """
    start = time.perf_counter()
    try:
        with _limited(call.time_limit_s):
            ran = call.work(task)
        row = _row(task, Status.CUT if ran.is_cut else Status.OK, None) | _outcomes(ran)
    except _OutOfTimeError:
        row = _row(task, Status.TIMEOUT, f"not done after {call.time_limit_s:g} s")
    except (Exception, SystemExit) as error:
        row = _row(task, Status.ERROR, _failure(error))
    return row | {"wall_s": time.perf_counter() - start}


def lost_row(task: Task) -> dict[str, Any]:
    """Return the row of a task whose process ended, each time that it was tried."""
    return _row(task, Status.ERROR, "the process that ran it ended") | {"wall_s": None}


def _row(task: Task, status: Status, error: str | None) -> dict[str, Any]:
    return asdict(task) | {"status": str(status), "error": error}


def _outcomes(ran: Ran) -> dict[str, Any]:
    """Return outcomes of which every one has its column.

    Raises:
        ValueError: one has none, which Arrow would pass over.
    """
    unknown = ran.outcomes.keys() - set(ROWS.names)
    if unknown:
        raise ValueError(f"no column of the outcomes table: {', '.join(sorted(unknown))}")
    return {**ran.outcomes, "numbers": None if ran.numbers is None else dict(ran.numbers)}


def _failure(error: BaseException) -> str:
    """Return in one line what failed, and where in this package."""
    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if each.filename.startswith(_PACKAGE)]
    if not ours or ours[-1].filename == __file__:
        return text
    where = os.path.relpath(ours[-1].filename, _PACKAGE)
    return f"{text} ({where}, line {ours[-1].lineno})"


@contextmanager
def _limited(limit_s: float) -> Iterator[None]:
    """Interrupt the block after a while.

    Raises:
        _OutOfTimeError: the block was not done in time.
    """

    def ring(signal_number: int, frame: FrameType | None) -> None:
        del signal_number, frame
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, ring)
    # Each run sets its own; nothing of it is to be printed, so it goes where nobody looks.
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(_PATIENCE * limit_s, exit=True, file=nowhere)
        signal.setitimer(signal.ITIMER_REAL, limit_s, _RINGS_EVERY_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)
