"""Who runs tasks: Spark, or this process itself, with the progress and the errors of either.

A task is a function of one item, and the same for both; so are the results, to the byte.  What is
small is done here before Java would have started, and needs no Spark to be installed: nothing of
it is imported.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.spark.remote import Remote

if TYPE_CHECKING:
    from pyspark import SparkContext
    from rich.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Shared_co = TypeVar("Shared_co", covariant=True)

_LOG = logging.getLogger("trimtab")

#: Seconds of work after which a progress bar is worth its flicker.
_PROGRESS_AFTER_S = 2.0
_PROGRESS_EVERY_S = 0.25
#: Spark's property of a thread that says which job group its jobs are of.
_GROUP = "spark.jobGroup.id"
_groups = itertools.count()


class SparkError(TrimtabError):
    """A Spark job failed; the message is the last line of what went wrong."""


class WorkerGoneError(SparkError):
    """A process that ran tasks ended, each time that it was tried: one of them is too much."""


#: What Spark says when the process that ran Python is gone.
_WORKER_GONE = ("Python worker exited unexpectedly", "Python worker failed to connect back")


def is_worker_gone(fault: Exception) -> bool:
    """Return whether Spark says that a process which ran tasks ended."""
    return any(words in str(fault) for words in _WORKER_GONE)


@dataclass(slots=True)
class Here:
    """This process as one that runs tasks, one after the other."""

    n_done: int = 0
    n_tasks: int = 0

    def results(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results of a task for each item, in their order."""
        self.n_tasks += len(items)
        done = []
        for item in items:
            done.append(task(item))
            self.n_done += 1
        return done

    def counted(self) -> tuple[int, int]:
        """Return the count of tasks: completed, and all."""
        return self.n_done, self.n_tasks


#: Spark, by its own protocol or by that of Connect, which has no RDDs.
Cluster: TypeAlias = "SparkContext | Remote"
#: Whoever runs tasks.
Runner: TypeAlias = "SparkContext | Remote | Here"


def results(runner: Runner, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of a task for each item, in their order: the one place that sends work.

    In Spark each item is a task of its own, and what is run travels to its workers with all that
    it refers to.
    """
    if not items:
        return []
    if isinstance(runner, Here | Remote):
        return runner.results(task, items)
    done: list[Result] = runner.parallelize(items, len(items)).map(task).collect()
    return done


class Lent(Protocol[Shared_co]):
    """A value that tasks refer to, wherever they run."""

    @property
    def value(self) -> Shared_co:
        """Return the value itself."""


@dataclass(frozen=True, slots=True)
class Itself(Generic[Value]):
    """A value that travels with every task that refers to it, if the task travels at all."""

    value: Value


@dataclass(frozen=True, slots=True)
class _Whole:
    """A value that travels as tasks do: with all that it names, and its arrays as they lie."""

    value: object

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        from pyspark.cloudpickle import dumps

        arrays: list[pickle.PickleBuffer] = []
        spelt: Callable[..., bytes] = dumps
        rest = spelt(self.value, protocol=5, buffer_callback=arrays.append)
        return _arrived, (rest, arrays)


def _arrived(rest: bytes, arrays: Sequence[bytes | bytearray]) -> object:
    return pickle.loads(rest, buffers=arrays)


@contextmanager
def lent(runner: Runner, value: Value) -> Iterator[Lent[Value]]:
    """Lend a value to the tasks of a block.

    In Spark it travels to each worker once, and not with every task.  Connect has nothing of
    that kind.
    """
    if isinstance(runner, Here | Remote):
        yield Itself(value)
        return
    sent = runner.broadcast(_Whole(value))
    try:
        yield sent  # type: ignore[misc]  # where it arrives it is the value again
    finally:
        sent.destroy()


@contextmanager
def plain_faults() -> Iterator[None]:
    """Turn what Spark raises into one line.

    The whole story, Python's and Java's stack traces, stands in its log.

    Raises:
        WorkerGoneError: a task ended the process that ran it.
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
        elif isinstance(fault, PySparkException) and "StatusCode.UNAVAILABLE" in str(fault):
            details = re.findall(r'details = "(.*)"', str(fault))
            message = ": ".join(["the Spark Connect server answers no more", *details[:1]])
        elif isinstance(fault, PySparkException | Py4JError):
            message = last_line(str(fault))
        else:
            raise
        raise (WorkerGoneError if is_worker_gone(fault) else SparkError)(message) from None


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
    context = None if isinstance(runner, Here | Remote) else runner
    if context is not None:
        join_group(context, group, label)
    if counted is None:
        counted = (
            runner.counted
            if isinstance(runner, Here | Remote)
            else partial(finished_tasks, runner, group)
        )
    done = threading.Event()
    bar = Progress(console=Console(stderr=True), transient=True)
    watcher = threading.Thread(target=_watch, args=(counted, bar, label, done))
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        if context is not None:
            # A group that outlived its block would claim the next command's jobs.
            context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]  # null ends it


def threads(runner: Runner, count: int = 1) -> ThreadPoolExecutor:
    """Return more threads for tasks, which `progress` counts with those of this thread."""
    if isinstance(runner, Here | Remote):
        return ThreadPoolExecutor(count)
    group = runner.getLocalProperty(_GROUP)
    join = partial(runner.setLocalProperty, _GROUP, group)  # type: ignore[arg-type]  # or of none
    return ThreadPoolExecutor(count, initializer=join)


def join_group(spark: Cluster, group: str, label: str) -> None:
    """Have the jobs that this thread asks for from now on belong to a group."""
    if isinstance(spark, Remote):
        spark.join(group)
    else:
        spark.setJobGroup(group, label, interruptOnCancel=True)


def cancel_group(spark: Cluster, group: str) -> None:
    """End the jobs of a group."""
    if isinstance(spark, Remote):
        spark.cancel(group)
    else:
        spark.cancelJobGroup(group)


def cores_of(spark: Cluster) -> int:
    """Return how many tasks run at a time; on a cluster it may grow."""
    return max(1, spark.cores if isinstance(spark, Remote) else spark.defaultParallelism)


def finished_tasks(spark: Cluster, group: str) -> tuple[int, int]:
    """Return the count of a job group's tasks: completed, and all that are known so far."""
    if isinstance(spark, Remote):
        return spark.counted(group)
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
