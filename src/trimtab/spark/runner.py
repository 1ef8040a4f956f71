"""Who runs tasks: Spark, or this process itself, with the progress and the errors of either.

A task is a function of one item, and the same for both; so are the results, to the byte.  What is
small is done here before Java would have started, and needs no Spark to be installed: nothing of
it is imported.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from trimtab.files.errors import TrimtabError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from rich.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOG = logging.getLogger("trimtab")

#: Seconds of work after which a progress bar is worth its flicker.
_PROGRESS_AFTER_S = 2.0
_PROGRESS_EVERY_S = 0.25
#: Spark's property of a thread that says which job group its jobs are of.
_GROUP = "spark.jobGroup.id"
_groups = itertools.count()


class SparkError(TrimtabError):
    """A Spark job failed; the message is the last line of what went wrong."""


@dataclass(slots=True)
class Here:
    """This process as one that runs tasks, one after the other: as much of Spark as tasks use."""

    n_done: int = 0
    n_tasks: int = 0

    def parallelize(self, items: Iterable[Item], n_slices: int | None = None) -> HereItems[Item]:
        """Return items for tasks; into how many slices they are cut does not matter here."""
        return HereItems(self, tuple(items))

    def _run(self, task: Callable[[Item], Result], items: tuple[Item, ...]) -> Iterator[Result]:
        self.n_tasks += len(items)
        for item in items:
            yield task(item)
            self.n_done += 1


@dataclass(frozen=True, slots=True)
class HereItems(Generic[Item]):
    """Items that lie in this process."""

    _here: Here
    _items: tuple[Item, ...]

    def map(self, task: Callable[[Item], Result]) -> HereResults[Item, Result]:
        """Return the results to come of a task for each item."""
        return HereResults(self._here, self._items, task)


@dataclass(frozen=True, slots=True)
class HereResults(Generic[Item, Result]):
    """Results that are yet to be made."""

    _here: Here
    _items: tuple[Item, ...]
    _task: Callable[[Item], Result] = field(repr=False)

    def collect(self) -> list[Result]:
        """Return the results, made now, in the order of the items."""
        return list(self._here._run(self._task, self._items))


#: Whoever runs tasks.
Runner: TypeAlias = "SparkContext | Here"


@contextmanager
def plain_faults() -> Iterator[None]:
    """Turn what Spark raises into one line.

    The whole story, Python's and Java's stack traces, stands in its log.

    Raises:
        SparkError: a job in the block failed.
    """
    try:
        yield
    except Exception as fault:
        if "pyspark" not in sys.modules:
            raise
        from py4j.protocol import Py4JError, Py4JNetworkError
        from pyspark.errors import PySparkException

        if isinstance(fault, ConnectionError | Py4JNetworkError):
            message = "Spark's Java ended in the middle of the work; see its log"
        elif isinstance(fault, PySparkException | Py4JError):
            message = last_line(str(fault))
        else:
            raise
        raise SparkError(message) from None


@contextmanager
def progress(
    runner: Runner, label: str, *, counted: Callable[[], tuple[int, int]] | None = None
) -> Iterator[None]:
    """Show how far the block's tasks are, on a terminal and after two seconds.

    Where stderr is not a terminal nothing is shown and nothing is polled.

    Args:
        runner: runs the tasks.
        label: what is done, in a word or two.
        counted: says how much is done, and of how much; by default tasks are counted, of Spark's
            those that the block's own thread starts.
    """
    # What Rich takes for a terminal, without loading it first.
    is_terminal = sys.stderr.isatty() or os.environ.get("FORCE_COLOR")
    # Who is told no warning is shown no bar.
    if not is_terminal or not _LOG.isEnabledFor(logging.WARNING):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    group = f"trimtab-{next(_groups)}"
    if counted is None:
        counted = partial(_counted_here, runner) if isinstance(runner, Here) else None
    if not isinstance(runner, Here):
        runner.setJobGroup(group, label, interruptOnCancel=True)
        counted = counted or partial(finished_tasks, runner, group)
    assert counted is not None
    done = threading.Event()
    bar = Progress(console=Console(stderr=True), transient=True)
    watcher = threading.Thread(target=_watch, args=(counted, bar, label, done))
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        if not isinstance(runner, Here):
            # A group that outlived its block would claim the next command's jobs.
            runner.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]  # null ends it


def second_thread(runner: Runner) -> ThreadPoolExecutor:
    """Return one more thread for tasks, which `progress` counts with those of this thread."""
    if isinstance(runner, Here):
        return ThreadPoolExecutor(1)
    group = runner.getLocalProperty(_GROUP)
    join = partial(runner.setLocalProperty, _GROUP, group)  # type: ignore[arg-type]  # or of none
    return ThreadPoolExecutor(1, initializer=join)


def finished_tasks(spark: SparkContext, group: str) -> tuple[int, int]:
    """Return the count of a job group's tasks: completed, and all that are known so far."""
    tracker = spark.statusTracker()
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = [
        stage
        for job in jobs
        if job is not None
        for stage in (tracker.getStageInfo(stage_id) for stage_id in job.stageIds)
        if stage is not None
    ]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def _counted_here(here: Here) -> tuple[int, int]:
    return here.n_done, here.n_tasks


def _watch(
    counted: Callable[[], tuple[int, int]], bar: Progress, label: str, done: threading.Event
) -> None:
    """Draw the bar until the work is done."""
    if done.wait(_PROGRESS_AFTER_S):
        return
    with bar:
        work = bar.add_task(label, total=None)
        while not done.wait(_PROGRESS_EVERY_S):
            completed, total = counted()
            bar.update(work, completed=completed, total=total or None)


def last_line(text: str) -> str:
    """Return the line that says most: a Python error's own, else what Java says of the task."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"(?:\w+\.)*\w+(?:Error|Exception)\b", line)]
    task = re.findall(r"most recent failure: .*?\): (.+)", text)
    frames = ("at ", "... ", "Driver stacktrace:")
    messages = [line for line in lines if not line.startswith(frames)]
    cancelled, stream = (
        re.findall(rf"{before} (.+?)(?: SQLSTATE|$)", text, re.MULTILINE)
        for before in ("cancelled because", "terminated with exception:")
    )
    return (cancelled or python or task or stream or messages or ["no message"])[-1]
