"""Tasks → Spark jobs: how many tasks go into each, several jobs at a time, and what if one fails.

A job's rows come to the driver when it ends, so it is made of a few seconds' work: that
much is lost when the sweep is killed.  A partition is long beside what it costs, and short
beside the rest of the work, so that no core waits for the last one.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from trimtab.files.packing import unpacked
from trimtab.spark.runner import (
    Cluster,
    Lent,
    cancel_group,
    cores_of,
    finished_tasks,
    is_worker_gone,
    join_group,
    lent,
    plain_faults,
    progress,
    results,
)
from trimtab.trials.sweep.task import Group, Task
from trimtab.trials.sweep.worker import ROWS, Call, Partition, lost_row, run_lent

#: Jobs that Spark has at a time: while the last partition of one runs, cores take up the next.
_JOBS_AT_ONCE = 4
#: s of work in a partition, whose own cost is some 20 ms; towards the end it becomes less, but
#: not below the second number.
_PARTITION_S = 3.0
_PARTITION_S_MIN = 0.4
#: s of work for each core in a job, and partitions at most.
_JOB_S = 6.0
_PARTITIONS_OF_CORE_MAX = 4
#: Of the tasks that wait, a partition takes at most this share, divided by the cores: towards
#: the end partitions become short, and cores end together.
_SHARE_OF_WAITING = 1 / 8

Keep: TypeAlias = Callable[[pa.Table], None]

_jobs = itertools.count()


@dataclass(frozen=True, slots=True)
class _Job:
    """Tasks that one Spark job runs."""

    partitions: tuple[Partition, ...]
    #: Spark's job group of this job alone.
    group: str = field(default_factory=lambda: f"trimtab-sweep-{next(_jobs)}")

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks, in the order in which they are begun."""
        return tuple(task for partition in self.partitions for task in partition)


@dataclass(slots=True)
class _Sweep:
    """Tasks that wait, jobs that run, and rows that are done."""

    spark: Cluster
    call: Lent[Call]
    keep: Keep
    waiting: deque[Group]
    #: Tasks of a job whose worker was lost: each gets a job for itself.
    suspected: deque[Task] = field(default_factory=deque)
    running: dict[Future[pa.Table], _Job] = field(default_factory=dict)
    n_done: int = 0
    #: s that the finished runs took.
    wall_s: float = 0.0

    def next_job(self) -> _Job | None:
        """Return tasks taken for a job; None if none wait."""
        if self.suspected:
            return _Job(((self.suspected.popleft(),),))
        if not self.waiting:
            return None
        mean_s = self.wall_s / self.n_done if self.wall_s else _PARTITION_S
        group_s = mean_s * len(self.waiting[0])
        sizes = sizes_of_job(group_s, len(self.waiting), cores_of(self.spark))
        groups = ([self.waiting.popleft() for _ in range(n)] for n in sizes)
        return _Job(tuple(tuple(itertools.chain.from_iterable(each)) for each in groups))

    def run(self) -> None:
        """Run all tasks.

        Raises:
            SparkError: Spark failed in a way that is no task's fault.
        """
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
            try:
                self._fill(pool)
                while self.running:
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._settle(self.running.pop(future), future)
                    self._fill(pool)
            except BaseException:
                for job in self.running.values():
                    cancel_group(self.spark, job.group)
                raise

    def counted(self) -> tuple[int, int]:
        """Return the count of tasks for the progress bar: done, and all.

        Of jobs that run, as many tasks as the partitions that Spark has finished hold on
        average.
        """
        n_running = 0
        n_done = float(self.n_done)
        for job in tuple(self.running.values()):
            n_running += len(job.tasks)
            finished, _ = finished_tasks(self.spark, job.group)
            n_done += len(job.tasks) * finished / len(job.partitions)
        n_all = self.n_done + n_running + sum(map(len, self.waiting)) + len(self.suspected)
        return int(n_done), n_all

    def _fill(self, pool: ThreadPoolExecutor) -> None:
        """Give Spark jobs until it has enough of them."""
        while len(self.running) < _JOBS_AT_ONCE and (job := self.next_job()) is not None:
            self.running[pool.submit(_rows, self.spark, self.call, job)] = job

    def _settle(self, job: _Job, future: Future[pa.Table]) -> None:
        """Keep a job's rows, or find out which of its tasks ended the worker."""
        try:
            rows = future.result()
        except (PySparkException, Py4JError) as fault:
            if not is_worker_gone(fault):
                with plain_faults():
                    raise
            if len(job.tasks) > 1:
                self.suspected.extend(job.tasks)
                return
            rows = pa.Table.from_pylist([lost_row(task) for task in job.tasks], ROWS)
        self.keep(rows)
        self.n_done += len(rows)
        self.wall_s += pc.sum(rows["wall_s"]).as_py() or 0.0


def run_all(spark: Cluster, call: Call, groups: Iterable[Group], keep: Keep) -> None:
    """Run groups of tasks on Spark, and hand on their rows as they come.

    Raises:
        SparkError: Spark failed in a way that is no task's fault.
    """
    with lent(spark, call) as there:
        sweep = _Sweep(spark, there, keep, deque(groups))
        with progress(spark, "running", counted=sweep.counted):
            sweep.run()


def sizes_of_job(mean_s: float, waiting: int, cores: int) -> Sequence[int]:
    """Return how many groups of tasks each partition of the next job takes.

    Args:
        mean_s: s that a group takes, on average.
        waiting: groups that wait, at least one.
        cores: tasks of Spark that run at a time.

    Properties:
        The sum is at least 1 and at most `waiting`; no size is 0.
    """
    most = max(1, int(waiting * _SHARE_OF_WAITING / cores), round(_PARTITION_S_MIN / mean_s))
    size = min(max(1, round(_PARTITION_S / mean_s)), most, waiting)
    a_core = min(max(1, round(_JOB_S / (size * mean_s))), _PARTITIONS_OF_CORE_MAX)
    n_partitions = min(cores * a_core, -(-waiting // size))
    return [min(size, waiting - i * size) for i in range(n_partitions)]


def _rows(spark: Cluster, call: Lent[Call], job: _Job) -> pa.Table:
    """Return the rows of a job, which is run and waited for; in a thread of its own."""
    # A group belongs to the thread that asks for the job.
    join_group(spark, job.group, "trimtab sweep")
    n = len(job.partitions)
    run = partial(run_lent, call, job.partitions)
    return pa.concat_tables(map(unpacked, results(spark, run, range(n))))
