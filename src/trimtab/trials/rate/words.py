"""Values and thresholds → good, fair or poor, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from trimtab.lab.outcomes.intervals import Interval, interval
from trimtab.trials.rate.statistics import RunValue, Statistic


class Word(StrEnum):
    """What a strategy is in one dimension."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    #: No run has what it is judged by.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Up to where a number is good, and up to where it is fair; smaller is better."""

    good_to: float
    fair_to: float


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


def rated(runs: Sequence[RunValue], statistic: Statistic, thresholds: Thresholds) -> Rated:
    """Return how a strategy is rated in one dimension.

    Args:
        runs: those that came to their end.
        statistic: of `STATISTICS`.
        thresholds: of the dimension.

    Properties:
        The order of the runs decides nothing.
        Values that all are smaller never give a worse word.
    """
    ordered = sorted(runs, key=lambda run: (run.scenario, run.seed))
    values, middle = statistic(ordered)
    middle_interval = interval(values, middle)
    ends = {word_of(end, thresholds) for end in (middle_interval.low, middle_interval.high)}
    word = word_of(middle_interval.estimate, thresholds)
    return Rated(
        interval=middle_interval,
        word=word,
        is_sure=ends == {word},
        n_runs=len(runs),
        n_never=sum(math.isinf(run.value) for run in runs),
    )


def word_of(value: float, thresholds: Thresholds) -> Word:
    """Return the word for a number.

    >>> [str(word_of(value, Thresholds(1, 3))) for value in (1.0, 2.0, 4.0, float("nan"))]
    ['good', 'fair', 'poor', 'unknown']
    """
    if math.isnan(value):
        return Word.UNKNOWN
    if value <= thresholds.good_to:
        return Word.GOOD
    return Word.FAIR if value <= thresholds.fair_to else Word.POOR
