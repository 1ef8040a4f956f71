"""What fits and intervals count with."""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist

import numpy as np

from trimtab.pulsar.model import Floats, Ints


def half_width(share: float) -> float:
    """Return how many standard deviations either side of the mean hold a share."""
    return NormalDist().inv_cdf(0.5 + share / 2)


def factors(columns: Floats, values: Floats) -> Floats:
    """Return the factors, none below 0, by which columns come closest to values, (n_columns,).

    Args:
        columns: (n_values, n_columns) of a few columns: each choice of them is tried.
        values: (n_values,)
    """
    n = columns.shape[1]
    best, least = np.zeros(n), float(values @ values)
    for kept in (list(each) for size in range(1, n + 1) for each in combinations(range(n), size)):
        fitted = np.linalg.lstsq(columns[:, kept], values, rcond=None)[0]
        missed = values - columns[:, kept] @ fitted
        if fitted.min() >= 0 and missed @ missed < least:
            best, least = np.zeros(n), float(missed @ missed)
            best[kept] = fitted
    return best


def put(values: Floats, who: Ints, new: Floats) -> Floats:
    """Return the values with some of them replaced."""
    values = values.copy()
    values[who] = new
    return values
