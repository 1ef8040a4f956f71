"""What a cell of the rating is made of: the runs of a strategy → their middle → a word.

A run whose value is not known is left out, and with it its seed where a value is taken over
several scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trimtab.lab.outcomes.intervals import Interval, interval, mean, median

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


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is taken over the runs of a cell."""

    definition: str
    #: Run → a value of which the mean is taken, over scenarios and then over seeds; None where
    #: the median is taken over all runs.
    value: Callable[[RunValue], float] | None


#: Name → statistic.
STATISTICS: Mapping[str, Statistic] = {
    "ratio to nobody": Statistic(
        "Ratio to what it is on the same seed if nobody sheds; mean over scenarios and seeds.",
        lambda run: run.value / max(run.nobody, _NOBODY_MIN),
    ),
    "per hour": Statistic(
        "Number in an hour; mean over scenarios and seeds.", lambda run: run.value / run.hours
    ),
    "per run": Statistic("Number in a run; mean over scenarios and seeds.", lambda run: run.value),
    "median": Statistic(
        "Median over all runs of all scenarios; what never comes is longer than all others.", None
    ),
}


class Word(StrEnum):
    """What a strategy is in one dimension."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    #: No run has what it is judged by.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rated:
    """One strategy in one dimension."""

    interval: Interval
    word: Word
    #: The whole interval is in the range of that word.
    is_sure: bool
    #: Runs that it rests on, and those in which the number never came.
    n_runs: int
    n_never: int


def rated(runs: Sequence[RunValue], statistic: Statistic, good_to: float, fair_to: float) -> Rated:
    """Return how a strategy is rated in one dimension, by the runs that came to their end.

    Properties:
        The order of the runs decides nothing.
        Values that all are smaller never give a worse word.
    """
    ordered = sorted(runs, key=lambda run: (run.scenario, run.seed))
    if statistic.value is None:
        middle = interval([run.value for run in ordered if not math.isnan(run.value)], median)
    else:
        middle = interval(_by_seed(ordered, statistic.value), mean)
    word, *ends = (
        word_of(value, good_to, fair_to) for value in (middle.estimate, middle.low, middle.high)
    )
    return Rated(
        interval=middle,
        word=word,
        is_sure={*ends} == {word},
        n_runs=len(runs),
        n_never=sum(math.isinf(run.value) for run in runs),
    )


def word_of(value: float, good_to: float, fair_to: float) -> Word:
    """Return the word for a number; smaller is better.

    >>> [str(word_of(value, good_to=1, fair_to=3)) for value in (1.0, 2.0, 4.0, float("nan"))]
    ['good', 'fair', 'poor', 'unknown']
    """
    if math.isnan(value):
        return Word.UNKNOWN
    if value <= good_to:
        return Word.GOOD
    return Word.FAIR if value <= fair_to else Word.POOR


def _by_seed(runs: Sequence[RunValue], value: Callable[[RunValue], float]) -> list[float]:
    """Return means over the scenarios of each seed: seeds are independent of one another."""
    seeds: dict[int, list[float]] = {}
    for run in runs:
        seeds.setdefault(run.seed, []).append(value(run))
    means = [sum(of) / len(of) for _, of in sorted(seeds.items())]
    return [each for each in means if not math.isnan(each)]
