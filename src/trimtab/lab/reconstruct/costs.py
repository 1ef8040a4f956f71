"""What brokers used beside what they carried → what traffic costs, and how well that fits.

An intercept of its own for each broker is taken where one for all says too little: where
other processes fill one of the hosts, say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from trimtab.pulsar.model import Floats, Ints

#: Windows below which nothing is fitted: usage is then taken to cost nothing.
WINDOWS_MIN = 6
#: Windows of one broker that count as one: what one misses, the next one misses too.
BLOCK_WINDOWS = 5
# Blocks of each broker, on average, below which one intercept is for all.
_BLOCKS_MIN = 2
# Error below which one fit is as good as another, points squared.
_EXACT = 1e-6


@dataclass(frozen=True, slots=True)
class Fit:
    """A linear cost with its error over the windows that it was fitted to."""

    #: Points for each unit of each column.
    costs: tuple[float, ...]
    #: Points that are used without any traffic; the mean, where each broker has its own.
    intercept: float
    #: Root mean square of what it misses, points, and share of the variance that it explains.
    error_points: float
    r_squared: float
    n_windows: int
    #: Broker and its own intercept; none where one is for all.
    intercepts: tuple[tuple[int, float], ...] = ()

    def predicted(self, columns: Floats, of: Ints) -> Floats:
        """Return what windows should have used, (n_windows,) points.

        Args:
            columns: (n_windows, n_columns) what was carried.
            of: (n_windows,) broker of each.
        """
        idle = dict(self.intercepts)
        bare = np.array([idle.get(broker, self.intercept) for broker in of.tolist()])
        usage: Floats = columns @ np.array(self.costs) + bare
        return usage


def fitted(columns: Floats, usage: Floats, of: Ints | None = None) -> Fit:
    """Return what each column costs: least squares with no cost below 0.

    Args:
        columns: (n_windows, n_columns) what was carried.
        usage: (n_windows,) points.
        of: (n_windows,) broker of each; None for one intercept whatever it says.  Which of
            the two it is is decided by the Bayesian information criterion.
    """
    if len(usage) < WINDOWS_MIN:
        nothing = (0.0,) * columns.shape[1]
        return Fit(nothing, float(usage.mean()) if usage.size else 0.0, np.nan, np.nan, len(usage))
    none = np.zeros(len(usage), np.int64)
    common = solved(columns, usage, none)
    if of is None:
        return _fit(common, columns, usage, none)
    if len(usage) < _BLOCKS_MIN * BLOCK_WINDOWS * np.unique(of).size:
        return _fit(common, columns, usage, none)
    own = solved(columns, usage, of)
    if _criterion(own, columns, usage, of) < _criterion(common, columns, usage, none):
        return _fit(own, columns, usage, of)
    return _fit(common, columns, usage, none)


def solved(columns: Floats, usage: Floats, of: Ints) -> Floats:
    """Return costs of at least 0, and an intercept of at least 0 for each group of windows.

    Args:
        columns: (n_windows, n_columns) what was carried.
        usage: (n_windows,) points.
        of: (n_windows,) group of each.

    Returns:
        (n_columns + n_groups,) costs, and intercepts in the order of the groups.
    """
    # Columns of bytes and of messages differ by orders of magnitude.
    scale = np.maximum(columns.max(axis=0), 1e-12)
    groups = (of[:, None] == np.unique(of)).astype(np.float64)
    terms, _ = nnls(np.column_stack((columns / scale, groups)), usage)
    costs: Floats = terms / np.append(scale, np.ones(groups.shape[1]))
    return costs


def _missed(terms: Floats, columns: Floats, usage: Floats, of: Ints) -> Floats:
    n_columns = columns.shape[1]
    place = np.searchsorted(np.unique(of), of)
    missed: Floats = usage - columns @ terms[:n_columns] - terms[n_columns:][place]
    return missed


def _criterion(terms: Floats, columns: Floats, usage: Floats, of: Ints) -> float:
    """Return what a fit misses, weighed against its number of terms: less is better."""
    count = max(1.0, len(usage) / BLOCK_WINDOWS)
    error = float((_missed(terms, columns, usage, of) ** 2).mean())
    return count * float(np.log(error + _EXACT)) + terms.size * float(np.log(count))


def _fit(terms: Floats, columns: Floats, usage: Floats, of: Ints) -> Fit:
    error = float((_missed(terms, columns, usage, of) ** 2).mean())
    variance = float(((usage - usage.mean()) ** 2).mean())
    idle = terms[columns.shape[1] :]
    groups = np.unique(of).tolist()
    return Fit(
        costs=tuple(terms[: columns.shape[1]].tolist()),
        intercept=float(idle.mean()),
        error_points=float(np.sqrt(error)),
        r_squared=1.0 - error / variance if variance > 0 else np.nan,
        n_windows=len(usage),
        intercepts=tuple(zip(groups, idle.tolist(), strict=True)) if len(groups) > 1 else (),
    )
