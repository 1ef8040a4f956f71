"""Movement that undoes movement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.aftermath import Aftermath
from trimtab.pulsar.model import Floats

#: How fast a trend takes the weight from the movement along it.  Below 1, so that more
#: movement in one direction never makes the measure smaller.
TREND_EXPONENT = 0.8


def thrash_points(aftermath: Aftermath) -> float:
    """Points by which a broker's level went up and down for nothing, mean over brokers.

    A level that is taken from 80 to 50 has moved by 30 points to a purpose; one that goes
    to 50 and back has moved by 60 for nothing.  Up and down are added up separately; as
    far as one of them prevails it is a trend and is not counted, and what goes against it
    is.  A cluster left to itself thrashes too, by the noise of its traffic: compare with
    a run that moves nothing.

    The idea, and the exponent, are those of the trend-discounting total variation in
    CockroachDB's simulator of allocation; it is not divided by the range here, so that
    small ripples in a well-balanced cluster stay small.

    Properties:
        0 for a level that only rises or only falls.
        At least the smaller of up and down, and at most their sum.
        The sum, where both are the same.
        k times for levels k times as high.
    """
    steps = np.diff(aftermath.levels.astype(np.float64), axis=0)
    if np.isnan(steps).all():
        return np.nan
    up, down = np.nansum(np.maximum(steps, 0), axis=0), np.nansum(np.maximum(-steps, 0), axis=0)
    is_known = ~np.isnan(steps).all(axis=0)
    return float(against_the_trend(up, down)[is_known].mean())


def against_the_trend(up: Floats, down: Floats) -> NDArray[np.float64]:
    """Discount a total variation by its trend.

    Args:
        up: (n,) all rises of a series added up.
        down: (n,) all falls, positive.
    """
    less, more = np.minimum(up, down), np.maximum(up, down)
    evenness = np.divide(less, more, out=np.zeros_like(less), where=more > 0) ** TREND_EXPONENT
    return np.asarray(evenness * (up + down) + (1 - evenness) * less)
