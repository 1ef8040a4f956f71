"""How much more two cores of this machine do than one, of work that waits for nothing."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from datetime import UTC
from multiprocessing.synchronize import Barrier
from pathlib import Path

from trimtab.ingest.outcome import Origin
from trimtab.ingest.splits import Split, cut
from trimtab.ingest.worker import parse_split

_TIMES = 3
#: A log of some megabytes is parsed in the blink of an eye.
_AGAIN = 40
#: A process that has not come to the start by then has failed.
_PATIENCE_S = 60.0


def two_cores(logs: Path) -> float:
    """Parse a broker's log again and again in one process, and in two at a time.

    It is what Spark's tasks do, without Spark, each process on a core of its own.

    Args:
        logs: folder of the brokers' logs.

    Returns:
        How many times as much two do in the same time; the median of a few tries.
    """
    path = min(path for path in logs.rglob("*") if path.is_file())
    origin = Origin(f"logs/{path.name}", path.parent.name, UTC, None, "")
    split = cut(path, origin, "log")[0]
    cores = sorted(os.sched_getaffinity(0))[:2]
    ratios = [2 * _took_s(split, cores[:1]) / _took_s(split, cores) for _ in range(_TIMES)]
    return statistics.median(ratios)


def _took_s(split: Split, cores: list[int]) -> float:
    barrier = multiprocessing.Barrier(len(cores) + 1)
    processes = [
        multiprocessing.Process(target=_parse, args=(split, core, barrier)) for core in cores
    ]
    for process in processes:
        process.start()
    barrier.wait(_PATIENCE_S)
    began = time.monotonic()
    for process in processes:
        process.join()
    took_s = time.monotonic() - began
    if any(process.exitcode for process in processes):
        raise RuntimeError("a process that parsed a log failed")
    return took_s


def _parse(split: Split, core: int, barrier: Barrier) -> None:
    os.sched_setaffinity(0, {core})
    barrier.wait()
    for _ in range(_AGAIN):
        for _ in parse_split(split):
            pass
