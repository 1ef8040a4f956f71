"""A sweep from end to end: tasks → Spark jobs → rows on disk → the tables of outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from trimtab.spark.program import digest
from trimtab.spark.runner import Cluster
from trimtab.trials.sweep.folder import opened
from trimtab.trials.sweep.jobs import run_all
from trimtab.trials.sweep.task import Order, Task, Work, shuffled
from trimtab.trials.sweep.worker import Call

#: Gives a block Spark, of `trimtab.spark.choice.opened_spark`.
Start: TypeAlias = Callable[[], AbstractContextManager[Cluster]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    tasks: frozenset[Task]
    work: Work
    #: What the rows rest on besides their tasks and the program: name → digest.
    basis: Mapping[str, str]
    #: s that a run may take.
    time_limit_s: float
    order: Order = shuffled


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has written."""

    #: Rows of `tables.SWEPT["outcomes"]`, by their tasks.
    outcomes: pa.Table
    #: Status → rows.
    statuses: Mapping[str, int]
    #: Rows that an earlier start of this sweep had left.
    n_kept: int


def sweep(start: Start, plan: Plan, folder: Path, *, anew: bool = False) -> Swept:
    """Return the rows of all tasks; run what is not done yet, and write the tables.

    Spark is started only if something is missing.  Writes `outcomes.parquet` and
    `timings.parquet`.  The former has the same bytes for the same tasks, whatever the master,
    the number of cores or how often the sweep was stopped and started again, as long as no
    run is out of time.

    Raises:
        SweepError: the folder cannot be used.
        JavaError: there is no Java for Spark.
        SparkError: Spark failed in a way that is no run's fault.
    """
    basis = {"program": digest(), **plan.basis}
    with opened(folder, basis, anew=anew) as store:
        done = plan.tasks & store.tasks()
        missing = plan.order(plan.tasks - done)
        if missing:
            with start() as spark:
                run_all(spark, Call(plan.work, plan.time_limit_s), missing, store.keep)
        outcomes = store.finish(plan.tasks)
    statuses = Counter(outcomes["status"].to_pylist())
    return Swept(outcomes, dict(sorted(statuses.items())), len(done))
