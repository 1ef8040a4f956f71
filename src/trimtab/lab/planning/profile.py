"""What bundles took hour by hour, some days long → what they will take in the hours to come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.pulsar.model import Floats, Ints

HOURS = 24
_WEEK = 7 * HOURS
# How much a day says of another: of the same weekday, of the same kind, and of the other kind.
_SAME, _ALIKE, _OTHER = 1.0, 0.6, 0.02
# Days after which a day counts half.
_HALF_DAYS = 21.0
# What the mean of the last day counts beside the same hours of days, and how much those next to
# an hour do.
_MEAN_COUNTS = 0.1
_BESIDE = 0.1
# Degrees of freedom of the weights that days get which are like no other, and steps to them.
_FREEDOM = 4.0
_STEPS = 3
# Rows that are looked at together: few enough for what is made of them to be at hand.
_ROWS = 256
# Deviation of an hour that only one day tells of, as a share of what it says.
_FIRST = 0.3


class Expected(NamedTuple):
    """What is expected in the hours to come, and its standard deviation; (n, n_hours)."""

    mean: Floats
    deviation: Floats


def expected(history: Floats, first_hour: int, ahead: int = HOURS) -> Expected:
    """Return what is expected of hours, by the same hours of other days.

    Days of the same weekday count most, then those of the same kind: working days, or Saturday
    and Sunday.  Where there are few days, the hours beside one and the mean of the last day
    count as well; a day that is like no other counts for little.

    Args:
        history: (n, n_past) means of past hours, the last one right before the first to come;
            NaN where nothing is known.
        first_hour: hours from a Monday's midnight to the first to come.
        ahead: hours to come.

    Properties:
        A history that repeats itself every day goes on as it does, but for the mean of its day.
        Nothing known gives NaN.
    """
    past = np.arange(-history.shape[1], 0) + first_hour
    last_day = history[:, -HOURS:]
    known = ~np.isnan(last_day)
    total = np.where(known, last_day, 0.0).sum(axis=1)
    mean = np.divide(
        total, known.sum(axis=1), out=np.full(len(history), np.nan), where=known.any(axis=1)
    )
    then = np.full((2, len(history), ahead), np.nan)
    for i in range(ahead):
        weight = _weights(past, first_hour + i)
        told = np.flatnonzero(weight > 0)
        weight = np.append(weight[told], _MEAN_COUNTS)
        for first in range(0, len(history), _ROWS):
            rows = slice(first, first + _ROWS)
            values = np.concatenate((history[rows, told], mean[rows, None]), axis=1)
            then[:, rows, i] = _hour(values, weight)
    return Expected(*then)


def _hour(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return what is expected of one hour, and its standard deviation, (n,) each.

    Args:
        values: (n, n_told) past hours that say something of it, NaN where nothing is known.
        weight: (n_told,) how much each says.
    """
    known = ~np.isnan(values)
    values = np.where(known, values, 0.0)
    weights = np.where(known, weight, 0.0)
    middle, sturdy = _mean(values, weights), weights
    for _ in range(_STEPS):
        square = values - middle[:, None]
        square *= square
        variance = np.maximum(_mean(square, sturdy), 1e-12)[:, None]
        # Student's weights, but for a factor that all have.
        square += _FREEDOM * variance
        sturdy = np.divide(weights, square, out=square)
        middle = _mean(values, sturdy)
    count = weights.sum(axis=1)
    spread = _mean((values - middle[:, None]) ** 2, sturdy)
    spread += (_FIRST * middle) ** 2 / (1.0 + count) ** 2
    return middle, np.sqrt(spread)


def _weights(past: Ints, hour: int) -> Floats:
    """Return how much past hours say of one, (n_past,)."""
    apart = np.abs((past - hour + HOURS // 2) % HOURS - HOURS // 2)
    near = np.where(apart == 0, 1.0, np.where(apart == 1, _BESIDE, 0.0))
    day, then = (past // HOURS) % 7, (hour // HOURS) % 7
    alike = (day >= 5) == (then >= 5)
    kind = np.where(day == then, _SAME, np.where(alike, _ALIKE, _OTHER))
    age: Floats = np.asarray(hour - past, np.float64) / HOURS
    return np.asarray(near * kind * np.exp2(-age / _HALF_DAYS), np.float64)


def _mean(values: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    sums = np.einsum("ij,ij->i", values, weights)
    mean: Floats = np.divide(sums, total, out=np.full(total.size, np.nan), where=total > 0)
    return mean
