"""How soon, how long and how well a cluster is balanced."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.aftermath import Aftermath
from trimtab.pulsar.model import Floats

#: Points above the best possible spread up to which a cluster counts as balanced.
BAR_POINTS = 15.0
#: s for which balance must last to count; to the end is enough if that is so far away.
LASTING_S = 1200.0
LASTING_TO_THE_END_S = 300.0
#: s before the end over which the end is judged.
END_S = 600.0


def time_to_balance_min(aftermath: Aftermath) -> float:
    """Minutes from the event until the cluster is balanced, and stays so.

    Balanced is a spread of at most 15 points above the best possible one.  It must last
    for 20 minutes, or to the end if that is at least 5 minutes away.

    Infinite if that does not come within the time observed; NaN if less than 5 minutes
    were observed, or no spread at all.

    Properties:
        A higher bar never makes it longer.
        At most the time observed, less 5 minutes, unless infinite.
    """
    return time_below_min(aftermath.spread, aftermath.best_spread + BAR_POINTS, aftermath.step_s)


def inner_time_to_balance_min(aftermath: Aftermath) -> float:
    """The same by the inner spread: minutes until nine brokers in ten are balanced.

    The measure for more than 50 brokers, of which one is always far out.

    Properties:
        Never longer than the time to balance.
    """
    return time_below_min(
        aftermath.inner_spread, aftermath.best_spread + BAR_POINTS, aftermath.step_s
    )


def time_below_min(series: Floats, bar: Floats, step_s: float) -> float:
    """Return the minutes until a series is at or below a bar and stays there.

    Args:
        series: (n,) a sample every `step_s`; NaN counts as above.
        bar: (n,) NaN counts as below everything.
        step_s: between samples.

    Returns:
        Minutes; infinite if it never does, NaN where there is nothing to judge by.
    """
    n = len(series)
    if n * step_s < LASTING_TO_THE_END_S or np.isnan(series - bar).all():
        return np.nan
    edges = np.flatnonzero(np.diff(series <= bar, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    needed_s = np.where(ends == n, LASTING_TO_THE_END_S, LASTING_S)
    lasting = starts[(ends - starts) * step_s >= needed_s]
    return float(lasting[0] * step_s / 60) if len(lasting) else np.inf


def above_min(aftermath: Aftermath) -> float:
    """Minutes since the event with a spread of more than 15 points above the best possible.

    NaN if there is no spread to be judged at any time.

    Properties:
        A higher bar never makes it longer.
        At most the time observed.
    """
    excess = aftermath.spread - aftermath.best_spread
    if np.isnan(excess).all():
        return np.nan
    return float((excess > BAR_POINTS).sum() * aftermath.step_s / 60)


def excess_spread_points(aftermath: Aftermath) -> float:
    """Points of spread above the best possible, on average since the event.

    The integral of the imbalance over time, divided by the time.

    Properties:
        At least 0.
        The same in whatever order the brokers stand.
    """
    return mean(excess(aftermath.spread, aftermath.best_spread))


def inner_excess_spread_points(aftermath: Aftermath) -> float:
    """The same of the inner spread: without the outer tenth of the brokers.

    Properties:
        At least 0, and at most the excess spread.
    """
    return mean(excess(aftermath.inner_spread, aftermath.best_spread))


def end_spread_points(aftermath: Aftermath) -> float:
    """Points of spread above the best possible at the end: median of the last ten minutes.

    NaN if less than ten minutes were observed.

    Properties:
        At least 0.
    """
    samples = round(END_S / aftermath.step_s)
    last = excess(aftermath.spread, aftermath.best_spread)[-samples:]
    known = last[~np.isnan(last)]
    return float(np.median(known)) if len(last) == samples and len(known) else np.nan


def best_spread_points(aftermath: Aftermath) -> float:
    """Points of spread that no assignment could avoid, on average since the event.

    Properties:
        At least 0.
    """
    return mean(aftermath.best_spread)


def flips(aftermath: Aftermath) -> float:
    """How often the most loaded broker became the least loaded one.

    Looked at are the times at which the spread is more than 15 points above the best
    possible: in a balanced cluster somebody has to be first and somebody last.  A broker
    flips when it was highest at such a time, and at a later one is lowest, without having
    been lowest in between.

    NaN if there is no spread to be judged at any time.

    Properties:
        0 where nothing is ever out of balance.
        The same in whatever order the brokers stand, if no two levels are equal.
    """
    above = aftermath.spread - aftermath.best_spread
    if np.isnan(above).all():
        return np.nan
    levels = aftermath.levels[above > BAR_POINTS]
    if not len(levels):
        return 0.0
    highest, lowest = np.nanargmax(levels, axis=1), np.nanargmin(levels, axis=1)
    brokers = np.concatenate([highest, lowest])
    is_low = np.repeat([False, True], len(levels))
    order = np.lexsort((np.tile(np.arange(len(levels)), 2), brokers))
    brokers, is_low = brokers[order], is_low[order]
    return float(np.sum((brokers[1:] == brokers[:-1]) & is_low[1:] & ~is_low[:-1]))


def excess(series: Floats, best: Floats) -> Floats:
    """Return how far a spread lies above the best possible, at least 0."""
    above: NDArray[np.float64] = np.maximum(series - best, 0.0)
    return above


def mean(values: Floats) -> float:
    """Return the mean of what is known; NaN if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan
