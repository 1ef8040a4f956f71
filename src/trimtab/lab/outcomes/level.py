"""Usage tick by tick → its minute means → the level, which short loads do not move."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats

#: s either side of a sample that its level looks at.
REACH_S = 150.0


def minute_means(
    usage: NDArray[np.float32], ticks_per_sample: int, samples_per_minute: int
) -> NDArray[np.float32]:
    """Return the mean of each broker's usage over the last minute, at every sample.

    Args:
        usage: (n_ticks, n_brokers), NaN while a broker is down.
        ticks_per_sample: so many ticks make a sample; those left over at the end are lost.
        samples_per_minute: so many samples make a minute.

    Returns:
        (n_samples, n_brokers) mean of the ticks of the last minute in which the broker was
        up, fewer at its start; NaN where it was down all through the sample's own ticks.
    """
    n_samples = len(usage) // ticks_per_sample
    blocks = usage[: n_samples * ticks_per_sample].reshape(
        n_samples, ticks_per_sample, usage.shape[1]
    )
    is_known = ~np.isnan(blocks)
    sums = np.where(is_known, blocks, np.float32(0)).sum(axis=1, dtype=np.float64)
    counts = is_known.sum(axis=1, dtype=np.float64)
    is_up = counts > 0
    sums, counts = _trailing(sums, samples_per_minute), _trailing(counts, samples_per_minute)
    with np.errstate(invalid="ignore"):
        return np.where(is_up, sums / counts, np.nan).astype(np.float32)


def _trailing(values: Floats, length: int) -> Floats:
    """Return the sum of the last `length` rows at every row, as far as there are any."""
    total = values.copy()
    for back in range(1, length):
        total[back:] += values[:-back]
    return total


def level(usage: NDArray[np.float32], step_s: float) -> NDArray[np.float32]:
    """Return each broker's level: the median of its usage over the five minutes around.

    A load that lasts less than half of that leaves it alone: it is no imbalance that
    moving bundles could mend.  Where a broker joins or leaves, and at both ends, the
    median is over what lies within 150 s on the side that there is.

    Args:
        usage: (n_samples, n_brokers) percent, minute means; NaN while a broker is down.
        step_s: between samples.

    Returns:
        (n_samples, n_brokers) percent; NaN where the usage is.

    Properties:
        Never outside the range of the broker's usage.
        The same for a series read backwards, backwards.
        A broker's level depends on its own usage alone.
        A spike of less than 150 s in a steady usage is not in it.
    """
    reach = max(1, round(REACH_S / step_s))
    series = np.ascontiguousarray(usage.T)
    levels = np.full(series.shape, np.nan, np.float32)
    long: list[tuple[int, int, int]] = []
    for i, row in enumerate(series):
        edges = np.flatnonzero(np.diff(np.isnan(row), prepend=True, append=True))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end - start > 2 * reach:
                windows = sliding_window_view(row[start:end], 2 * reach + 1)
                levels[i, start + reach : end - reach] = np.partition(windows, reach)[:, reach]
                long.append((i, start, end))
            else:
                levels[i, start:end] = _short(row[start:end], reach)
    if long:
        i, start, end = np.array(long).T[:, :, None]
        ahead = np.arange(2 * reach)
        levels[i, start + ahead[:reach]] = _ends(series[i, start + ahead], reach)
        levels[i, end - 1 - ahead[:reach]] = _ends(series[i, end - 1 - ahead], reach)
    return levels.T


def _short(row: NDArray[np.float32], reach: int) -> NDArray[np.float32]:
    """Return the medians of a life so short that each sample is near an end."""
    places = range(len(row))
    return np.array([np.median(row[max(0, i - reach) : i + reach + 1]) for i in places], np.float32)


def _ends(rows: NDArray[np.float32], reach: int) -> NDArray[np.float32]:
    """Return the medians of the first `reach` samples of many rows, end first."""
    return np.stack([np.median(rows[:, : i + reach + 1], axis=1) for i in range(reach)], axis=1)
