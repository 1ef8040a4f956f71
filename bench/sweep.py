"""A sweep of many short runs on Spark, beside a bare pool of processes with the same runs."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import SparkContext

from bench.table import DifferenceError, Table
from trimtab.files.tables import SWEPT
from trimtab.spark.session import opened_spark
from trimtab.trials.sweep.grid import grid
from trimtab.trials.sweep.pipeline import Plan
from trimtab.trials.sweep.pipeline import sweep as swept
from trimtab.trials.sweep.simulation import plan_of, scenarios_of
from trimtab.trials.sweep.task import shuffled
from trimtab.trials.sweep.worker import ROWS, Call, row_of

_CORES = 2
_TURNS = 2
_GRID = """\
scenarios = ["S01", "S05"]
seeds = 200
strategies = [
    "none", "AvgShedder", "OverloadShedder",
    "ThresholdShedder+LeastResourceUsageWithWeight", "UniformLoadShedder",
]
"""

_TEXT = f"""\
The same 2,000 short simulations by `trimtab sweep`, with Spark on {_CORES} cores of this machine, \
and by a pool of {_CORES} processes that takes one after the other in the same order.
Both give the same rows: if they do not, there is no table.
Spark's session has been started before, but has run nothing before its first turn; the rows of \
the sweep are on disk at the end, those of the pool are not.
Processor time is that of all processes of a side.
"""
_HEADINGS = (
    *("turn", "pool, s", "sweep, s", "sweep ÷ pool"),
    *("pool CPU, s", "sweep CPU, s", "CPU, sweep ÷ pool"),
)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What one side took, and gave."""

    wall_s: float
    cpu_s: float
    outcomes: pa.Table


def sweep() -> Table:
    """Measure a sweep beside a pool."""
    asked = grid(_GRID, "the grid of this benchmark")
    plan = plan_of(asked, scenarios_of(asked.scenarios, Path()))
    with opened_spark(cores=_CORES, master=None) as spark:
        rows = tuple(_turns(spark, plan))
    return Table(_TEXT, (f"PySpark {pyspark.__version__}",), _HEADINGS, rows)


def _turns(spark: SparkContext, plan: Plan) -> Iterator[tuple[str, ...]]:
    for turn in range(1, _TURNS + 1):
        pool = _taken(partial(_pool, plan), _ended_cpu_s)
        ours = _taken(partial(_sweep, spark, plan), _running_cpu_s)
        # As text, in which one NaN is like another.
        if repr(pool.outcomes.to_pylist()) != repr(ours.outcomes.to_pylist()):
            raise DifferenceError("the sweep and the pool gave different rows")
        times = f"{pool.wall_s:.1f}", f"{ours.wall_s:.1f}", f"{ours.wall_s / pool.wall_s:.3f}"
        cpu = f"{pool.cpu_s:.1f}", f"{ours.cpu_s:.1f}", f"{ours.cpu_s / pool.cpu_s:.3f}"
        yield str(turn), *times, *cpu


def _taken(run: Callable[[], pa.Table], cpu: Callable[[], float]) -> _Taken:
    cpu_s, began = cpu(), time.perf_counter()
    outcomes = run()
    return _Taken(time.perf_counter() - began, cpu() - cpu_s, outcomes)


def _sweep(spark: SparkContext, plan: Plan) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        return swept(lambda: nullcontext(spark), plan, Path(folder) / "swept").outcomes


def _pool(plan: Plan) -> pa.Table:
    call = Call(plan.work, plan.time_limit_s)
    with ProcessPoolExecutor(_CORES) as pool:
        rows: list[dict[str, Any]] = list(pool.map(partial(row_of, call), shuffled(plan.tasks)))
    schema = SWEPT["outcomes"]
    order = [(name, "ascending") for name in schema.names[:6]]
    return pa.Table.from_pylist(rows, ROWS).select(schema.names).cast(schema).sort_by(order)


def _ended_cpu_s() -> float:
    """Add up the processor time of this process, and of those of its children that ended.

    Spark's are none of these: they live longer than the measurement.
    """
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _running_cpu_s() -> float:
    """Add up the processor time of this process, and of all that it started and that run.

    Spark keeps its Python workers for a minute after their last task.
    """
    ticks = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text(encoding="utf-8").rpartition(")")
        except OSError:
            continue  # gone since it was listed
        numbers = rest.split()
        ticks[int(stat.parent.name)] = int(numbers[1]), sum(map(int, numbers[11:13]))
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in ticks.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid][1] for pid in ours) / os.sysconf("SC_CLK_TCK")
