"""How far apart the brokers stand, and how far at least when work is shared out best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats


def spread(levels: NDArray[np.float32]) -> Floats:
    """Return the largest level minus the smallest, over the brokers that are up.

    Args:
        levels: (n_samples, n_brokers) percent, NaN for a broker that is down.

    Returns:
        (n_samples,) points; NaN where fewer than two brokers are up.

    Properties:
        At least 0, and 0 only where all are level.
        The same in whatever order the brokers stand.
        The same when every level rises by as much; k times for levels k times as high.
    """
    return _between(levels, 0.0, 1.0)


def inner_spread(levels: NDArray[np.float32]) -> Floats:
    """Return the 95th minus the 5th percentile of the levels of the brokers that are up.

    In a large cluster somebody is always far out; this is how far apart the others are.

    Args:
        levels: (n_samples, n_brokers) percent, NaN for a broker that is down.

    Returns:
        (n_samples,) points; NaN where fewer than two brokers are up.

    Properties:
        At least 0, and at most the spread.
    """
    return _between(levels, 0.05, 0.95)


def _between(levels: NDArray[np.float32], low: float, high: float) -> Floats:
    """Return one quantile less another, interpolated linearly; NaN sorts to the end."""
    ordered = np.sort(levels.astype(np.float64), axis=1)
    counts = (~np.isnan(ordered)).sum(axis=1)
    spreads = np.full(len(levels), np.nan)
    is_known = counts > 1
    ordered, last = ordered[is_known], counts[is_known] - 1
    spreads[is_known] = _quantile(ordered, last * high) - _quantile(ordered, last * low)
    return spreads


def _quantile(ordered: Floats, place: Floats) -> Floats:
    rows = np.arange(len(ordered))
    below = np.floor(place).astype(np.int64)
    above = np.ceil(place).astype(np.int64)
    share = place - below
    return ordered[rows, below] * (1 - share) + ordered[rows, above] * share


def best_spread(
    background: NDArray[np.float32],
    capacity: NDArray[np.float32],
    work: Floats,
    cpu_convexity: float = 0.0,
) -> Floats:
    """Return the smallest spread that any assignment could have.

    Work is poured like water: it fills the brokers with the least background first, until
    all that have any stand equally high.  Whoever has more background than that level
    stands above it without any work, and no assignment can change it.

    It is a bound from below: work is taken as divisible and the CPU as the only resource.
    A bundle too large for a broker, or a full NIC, may keep a spread above it.

    Args:
        background: (n, n_brokers) percent that other processes take; NaN for a broker that
            is down.
        capacity: (n, n_brokers) work that fills 100 percent, in units of a reference
            machine.
        work: (n,) of all bundles, percent of a reference machine.
        cpu_convexity: 1/percent, c of usage = x + c·x² with x as the water stands.

    Returns:
        (n,) points; NaN where fewer than two brokers are up.

    Properties:
        At least 0, and 0 where no broker has more background than the water stands high.
        At most the spread of any assignment of the same work.
        The same in whatever order the brokers stand.
    """
    is_up = ~np.isnan(background)
    floor = np.where(is_up, background, np.inf).astype(np.float64)
    width = np.where(is_up, capacity, 0.0).astype(np.float64)
    order = np.argsort(floor, axis=1, kind="stable")
    floor = np.take_along_axis(floor, order, axis=1)
    width = np.take_along_axis(width, order, axis=1)
    background_work = np.where(np.isfinite(floor), floor, 0.0) * width
    with np.errstate(invalid="ignore", divide="ignore"):
        # (n, k) how high it would stand if the k + 1 lowest brokers alone were filled.
        heights = (work[:, None] + np.cumsum(background_work, axis=1)) / np.cumsum(width, axis=1)
    # The true height is the lowest of them: one broker more or fewer only makes it higher.
    height = np.min(np.where(np.isfinite(floor), heights, np.inf), axis=1)
    highest = np.max(np.where(np.isfinite(floor), floor, -np.inf), axis=1)
    apart = _usage(highest, cpu_convexity) - _usage(height, cpu_convexity)
    return np.where(is_up.sum(axis=1) > 1, np.maximum(apart, 0.0), np.nan)


def _usage(height: Floats, cpu_convexity: float) -> Floats:
    """Return what a height is as usage, which ends at 100 percent."""
    with np.errstate(invalid="ignore"):
        return np.minimum(height + cpu_convexity * height * height, 100.0)
