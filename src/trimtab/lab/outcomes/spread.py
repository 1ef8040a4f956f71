"""How far apart the brokers stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats

#: Brokers from which on a single one says little: the spread without the outer tenth, too.
MANY_BROKERS = 50


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
