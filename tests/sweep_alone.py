"""A sweep in a process of its own: `python sweep_alone.py MASTER FOLDER TASKS [KEPT_MAX]`.

Its runs are toys.  After KEPT_MAX parts it kills itself, in the middle of writing the next.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np

import trimtab.trials.sweep.folder
from trimtab.spark.session import opened_spark
from trimtab.trials.sweep.pipeline import Plan, sweep
from trimtab.trials.sweep.task import Ran, Task, Work


def tasks(n: int) -> frozenset[Task]:
    """Make tasks that differ in scenario and seed."""
    return frozenset(
        Task(f"s{i % 3}", "AvgShedder", "AvgShedder", "4.0", '{"a": "1"}', i // 3) for i in range(n)
    )


def toy(log: Path | None = None) -> Work:
    """Make something to run: its outcomes are drawn, its runs counted in a folder."""

    # A function within one travels to the workers whole: they cannot import tests.
    def work(task: Task) -> Ran:
        if log is not None:
            with (log / f"{task.scenario}-{task.seed}").open("a") as count:
                count.write("x")
        rng = np.random.default_rng([ord(task.scenario[-1]), task.seed])
        # Some work, so that a sweep has a middle in which to stop.
        drawn = rng.standard_normal((20, 20_000)).mean(axis=1)
        return Ran({"unloads": float(rng.integers(1000)), "thrash_points": float(drawn.std())})

    return work


def where() -> Ran:
    """Say whether the worker runs the copy of the program that it was sent."""
    import trimtab.trials.sweep.worker

    return Ran({"unloads": float(".zip/" in trimtab.trials.sweep.worker.__file__)})


def _die_after(n: int) -> None:
    """Kill this process in the middle of keeping part n + 1, which leaves half a file."""
    real = trimtab.trials.sweep.folder._replace
    parts = []

    def replace(path: Path, content: bytes) -> None:
        if path.suffix == ".parquet":
            parts.append(path)
            if len(parts) > n:
                path.with_name(f".{path.name}.draft").write_bytes(content[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
        real(path, content)

    trimtab.trials.sweep.folder._replace = replace


def main(master: str, folder: str, n: str, kept_max: str = "") -> None:
    """Sweep, and say what came of it."""
    if kept_max:
        _die_after(int(kept_max))
    log = Path(f"{folder}-log")
    log.mkdir(exist_ok=True)
    with opened_spark(cores=2, master=master) as spark:
        started = partial(nullcontext, spark)
        swept = sweep(started, Plan(tasks(int(n)), toy(log), {}, 60.0), Path(folder))
        asked = Plan(tasks(4), lambda task: where(), {}, 60.0)
        copies = sweep(started, asked, Path(f"{folder}-where")).outcomes["unloads"].to_pylist()
        cores = spark.defaultParallelism
    said = {"statuses": swept.statuses, "kept": swept.n_kept, "cores": cores, "zip": copies}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
