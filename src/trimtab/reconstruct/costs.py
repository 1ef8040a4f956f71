"""What brokers used beside what they carried → what traffic costs, and how well that fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from trimtab.model import Floats

#: Windows below which nothing is fitted: usage is then taken to cost nothing.
WINDOWS_MIN = 6


@dataclass(frozen=True, slots=True)
class Fit:
    """A linear cost with its error over the windows that it was fitted to."""

    #: Points for each unit of each column.
    costs: tuple[float, ...]
    #: Points that are used without any traffic.
    intercept: float
    #: Root mean square of what it misses, points, and share of the variance that it explains.
    error_points: float
    r_squared: float
    n_windows: int


def fitted(columns: Floats, usage: Floats) -> Fit:
    """Fit what each column costs: least squares with no cost below 0.

    Args:
        columns: (n_windows, n_columns) what was carried.
        usage: (n_windows,) points.
    """
    if len(usage) < WINDOWS_MIN:
        nothing = (0.0,) * columns.shape[1]
        return Fit(nothing, float(usage.mean()) if usage.size else 0.0, np.nan, np.nan, len(usage))
    # Columns of bytes and of messages differ by orders of magnitude.
    scale = np.maximum(columns.max(axis=0), 1e-12)
    design = np.column_stack((columns / scale, np.ones(len(usage))))
    found, _ = nnls(design, usage)
    missed = usage - design @ found
    variance = float(((usage - usage.mean()) ** 2).mean())
    error = float((missed**2).mean())
    costs = tuple((found[:-1] / scale).tolist())
    r_squared = 1.0 - error / variance if variance > 0 else np.nan
    return Fit(costs, float(found[-1]), float(np.sqrt(error)), r_squared, len(usage))
