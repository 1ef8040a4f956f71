"""What a cell of the rating is made of: the runs of a strategy → values, and their middle.

Each statistic is a function of its own, whose docstring is its definition; `STATISTICS`
names them.  A run whose value is not known is left out, and with it its seed where a value
is taken over several scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.lab.outcomes.intervals import Statistic as Middle
from trimtab.lab.outcomes.intervals import mean, median

#: What the value of nobody shedding is taken for at least: a ratio to next to nothing says
#: nothing.
_NOBODY_MIN = 1.0


@dataclass(frozen=True, slots=True)
class RunValue:
    """One run, and what was taken of it."""

    scenario: str
    seed: int
    #: NaN where it could not be taken, infinite where it never came.
    value: float
    #: The same on the same seed, if nobody sheds.
    nobody: float
    #: Hours that count.
    hours: float


#: Runs → independent values, and what is taken of them.
Statistic: TypeAlias = Callable[[Sequence[RunValue]], tuple[list[float], Middle]]


def ratio_to_nobody(runs: Sequence[RunValue]) -> tuple[list[float], Middle]:
    """Ratio to what it is on the same seed if nobody sheds; mean over scenarios and seeds."""
    ratios = [(run, run.value / max(run.nobody, _NOBODY_MIN)) for run in runs]
    return _by_seed(ratios), mean


def per_hour(runs: Sequence[RunValue]) -> tuple[list[float], Middle]:
    """Number in an hour; mean over scenarios and seeds."""
    return _by_seed([(run, run.value / run.hours) for run in runs]), mean


def per_run(runs: Sequence[RunValue]) -> tuple[list[float], Middle]:
    """Number in a run; mean over scenarios and seeds."""
    return _by_seed([(run, run.value) for run in runs]), mean


def middle(runs: Sequence[RunValue]) -> tuple[list[float], Middle]:
    """Median over all runs of all scenarios; what never comes is longer than all others."""
    return [run.value for run in runs if not math.isnan(run.value)], median


#: Name → statistic.
STATISTICS: Mapping[str, Statistic] = {
    "ratio to nobody": ratio_to_nobody,
    "per hour": per_hour,
    "per run": per_run,
    "median": middle,
}


def _by_seed(values: Iterable[tuple[RunValue, float]]) -> list[float]:
    """Return means over the scenarios of each seed: seeds are independent of one another."""
    seeds: dict[int, list[float]] = {}
    for run, value in values:
        seeds.setdefault(run.seed, []).append(value)
    means = [sum(of) / len(of) for _, of in sorted(seeds.items())]
    return [each for each in means if not math.isnan(each)]
