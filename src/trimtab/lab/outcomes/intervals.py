"""What a measure is over many seeds: its middle, its range, and how sure one may be of it.

A measure may be infinite (it never came) or NaN (it could not be taken).  Infinite values
count, as what is larger than all others; NaN are left out, and how many are left is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trimtab.pulsar.model import Floats

#: (…, n) → (…): one number for the values along the last axis.
Statistic: TypeAlias = Callable[[Floats], Floats]

#: Samples drawn with replacement: the ends of an interval vary by a hundredth of its width.
RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and where the truth may lie."""

    estimate: float
    low: float
    high: float
    #: Values that it rests on.
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Values of many seeds, in short."""

    median: float
    #: The tenth and the ninetieth percentile.
    p10: float
    p90: float
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two strategies on the same seeds: second minus first."""

    #: Of the differences seed by seed.
    median: Interval
    #: Seeds on which the second was smaller, the same, and larger.
    smaller: int
    equal: int
    larger: int


def summary(values: Sequence[float] | Floats) -> Summary:
    """Return the median and the tenth and ninetieth percentile.

    Percentiles lie between values, linearly; between a finite and an infinite value, they
    are infinite.

    Properties:
        p10 <= median <= p90, and all within the range of the values.
        The same in whatever order the values stand.
    """
    known = _numbers(values)
    p10, middle, p90 = (float(percentile(known, share)) for share in (0.1, 0.5, 0.9))
    return Summary(middle, p10, p90, len(known))


def interval(
    values: Sequence[float] | Floats,
    statistic: Statistic | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return a statistic of the values with a bootstrap interval.

    The values are drawn again and again, with replacement, and the interval holds the
    middle of what the statistic comes to (the percentile method).  With a handful of seeds
    it is too narrow; with fewer than two it is not known.

    Args:
        values: one a seed, independent of one another.
        statistic: of the last axis; the median if nothing is said.
        confidence: share of such intervals that hold the truth.
        seed: of what is drawn: the same gives the same interval.

    Properties:
        low <= high, both within the range of the values for a median or a mean.
        The same seed and values give the same interval.
        The same for values that all are alike, and as wide as nothing.
    """
    chosen = statistic or median
    known = _numbers(values)
    n = len(known)
    if not n:
        return Interval(np.nan, np.nan, np.nan, 0)
    estimate = float(chosen(known))
    if n < 2:
        return Interval(estimate, np.nan, np.nan, n)
    drawn = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
    estimates = np.sort(chosen(known[drawn]))
    tail = (1 - confidence) / 2
    return Interval(
        estimate, float(percentile(estimates, tail)), float(percentile(estimates, 1 - tail)), n
    )


def paired(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    *,
    confidence: float = 0.95,
) -> Difference:
    """Compare two strategies that have lived through the same seeds.

    What a seed makes hard is hard for both, so that the difference seed by seed says more
    than the difference of the medians.  Where neither ever got there, neither was sooner:
    the difference is 0.

    Args:
        first: a value a seed.
        second: a value a seed, the seeds in the same order.
        confidence: of the interval of the median difference.

    Properties:
        Exchanging the two changes the sign of the median, and smaller for larger.

    Raises:
        ValueError: not as many values in both.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != other.shape:
        raise ValueError(f"{len(one)} values and {len(other)}: not the same seeds")
    with np.errstate(invalid="ignore"):
        differences = np.where(one == other, 0.0, other - one)
    differences = differences[~np.isnan(differences)]
    return Difference(
        median=interval(differences, confidence=confidence),
        smaller=int((differences < 0).sum()),
        equal=int((differences == 0).sum()),
        larger=int((differences > 0).sum()),
    )


def share_bounds(count: int, n: int, tail: float) -> tuple[float, float]:
    """Return the least and the largest share of all that may be so, if it is of `count` of `n`.

    The bounds of Clopper and Pearson: at the lower one, so many or more come about by chance
    with probability `tail`; at the upper one, so many or fewer.

    Args:
        count: of those that were tried.
        n: independent trials, at least one.
        tail: probability beyond each bound, below a half.

    Properties:
        low <= count / n <= high; the bounds of those that were not so mirror them.
    """
    return _least_share(count, n, tail), 1 - _least_share(n - count, n, tail)


def _least_share(count: int, n: int, tail: float) -> float:
    """Return the share of all at which `count` or more of `n` are so with probability `tail`."""
    if not count:
        return 0.0
    numbers = np.arange(count, n + 1)
    ways = np.array([math.log(math.comb(n, int(number))) for number in numbers])
    low, high = 0.0, 1.0
    # The probability grows with the share; half the distance is lost with each step.
    for _ in range(60):
        share = (low + high) / 2
        log_odds = ways + numbers * math.log(share) + (n - numbers) * math.log1p(-share)
        low, high = (share, high) if np.exp(log_odds).sum() < tail else (low, share)
    return high


def median(values: Floats) -> Floats:
    """Return the median along the last axis, infinite values among them."""
    return percentile(np.sort(values, axis=-1), 0.5)


def mean(values: Floats) -> Floats:
    """Return the mean along the last axis; infinite as soon as one value is."""
    return np.asarray(values.mean(axis=-1))


def percentile(ordered: Floats, share: float) -> Floats:
    """Return what lies `share` of the way through sorted values, along the last axis.

    Interpolated linearly, as numpy does, but for infinite values, too: between a finite and
    an infinite one it is infinite.  Half way between both infinities it is NaN.
    """
    n = ordered.shape[-1]
    if not n:
        return np.full(ordered.shape[:-1], np.nan)
    place = share * (n - 1)
    below, above = ordered[..., int(np.floor(place))], ordered[..., int(np.ceil(place))]
    part = place - np.floor(place)
    with np.errstate(invalid="ignore"):
        between = below + part * (above - below)
    between = np.where(np.isneginf(below) & np.isfinite(above), -np.inf, between)
    return np.asarray(np.where(below == above, below, between))


def _numbers(values: Sequence[float] | Floats) -> Floats:
    array = np.asarray(values, np.float64)
    # Sorting leaves zeros of either sign as they stood, and -0.0 plus 0.0 is 0.0.
    return np.sort(array[~np.isnan(array)]) + 0.0
