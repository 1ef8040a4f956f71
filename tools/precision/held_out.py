"""Recordings of seeds that nobody has looked at, each explained and judged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tools.precision.families import CLEAN, FAMILIES, case
from tools.precision.judging import Result, result
from tools.precision.recorded import judged

#: The first of the seeds that nobody looked at while building.
FIRST = 3001
#: Recordings of each family: so many that have its cause, and at most so many.
_WANTED, _MOST = 20, 60


def one(family: str, seed: int) -> Result:
    """Record, explain and judge one recording."""
    with tempfile.TemporaryDirectory(prefix="trimtab-precision-") as folder:
        return result(judged(case(family, seed), Path(folder) / "night"))


def held_out() -> Iterator[Result]:
    """Run every family until its cause has come to pass often enough, on all cores."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for results in pool.map(of_family, (*FAMILIES, *CLEAN)):
            yield from results


def of_family(family: str) -> list[Result]:
    """Run one family."""
    results: list[Result] = []
    done = 0
    for seed in range(FIRST, FIRST + _MOST):
        found = one(family, seed)
        results.append(found)
        verdict = found.verdicts.get(family)
        done += family in CLEAN or (verdict is not None and verdict.planted > 0)
        if done == _WANTED:
            break
    return results
