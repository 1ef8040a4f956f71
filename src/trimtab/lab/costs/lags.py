"""Windows in a row → by how much those of hosts end later than those of bundles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.knowledge import (
    HEAVIEST,
    LAGS_TRIED,
    OTHERS_LAGS_TRIED,
    OTHERS_USED,
    REMAINDER,
    USED,
    Deviations,
)
from trimtab.pulsar.model import Floats, Ints

# Squares are taken to be so many times what is expected at most, and forgotten at this rate.
_SQUARE_MAX = 9.0
_KEPT = 0.998
# What a lag of a whole window is taken to be off by before anything is learned.
_OFF = 2.0


class Shares(NamedTuple):
    """Parts of the windows beside one's own that a host's usage is of; all (n,)."""

    #: Of the window of traffic after, and before.
    late: Floats
    early: Floats
    #: Of what others took in the window before.
    others: Floats


def shares(lags: Floats) -> Shares:
    """Return the parts, each lag as likely as (n, …) squares of what it missed say."""
    n = LAGS_TRIED.size
    likely = _likely(lags[:, :n] + _OFF * np.abs(LAGS_TRIED))
    of_others = _likely(lags[:, n:] + _OFF * OTHERS_LAGS_TRIED)
    return Shares(
        late=likely @ np.maximum(LAGS_TRIED, 0.0),
        early=likely @ np.maximum(-LAGS_TRIED, 0.0),
        others=of_others @ OTHERS_LAGS_TRIED,
    )


def _likely(squares: Floats) -> Floats:
    weight = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def lagged(
    of: Deviations, who: Ints, rows: tuple[Floats, Floats, Floats], log_exponent: float
) -> tuple[Floats, Floats]:
    """Return the sums of squares with three windows in a row, and what each lag misses, (n, …).

    What the usage of the window in the middle did beside the one before is held against traffic
    that is moved by each lag.
    """
    first, middle, _ = rows
    work = [_work(of, who, each) for each in rows]
    later, earlier = work[2] - work[1], work[0] - work[1]
    back = (first - middle)[:, OTHERS_USED]
    own = (middle[:, USED] - middle[:, OTHERS_USED])[:, None]
    late, early = np.maximum(LAGS_TRIED, 0.0), np.maximum(-LAGS_TRIED, 0.0)
    best = shares(of.lags[who])
    by_traffic = (
        work[1] + late[:, None] * (work[2] - work[1]) + early[:, None] * (work[0] - work[1])
    )
    by_best = work[1] + best.late * later + best.early * earlier
    of_traffic = own - (best.others * back)[:, None] - curved(by_traffic.T, log_exponent).cpu
    of_others = own - back[:, None] * OTHERS_LAGS_TRIED - curved(by_best, log_exponent).cpu[:, None]
    missed = np.concatenate((of_traffic, of_others), axis=1)
    square = (missed - of.lags_missed[who]) ** 2 / of.noise[who, None]
    sums = _KEPT * of.lags[who] + np.minimum(np.nan_to_num(square), _SQUARE_MAX)
    return sums, missed


def _work(of: Deviations, who: Ints, columns: Floats) -> Floats:
    parts = columns[:, :HEAVIEST] * (1.0 + of.mean[who, :HEAVIEST])
    return np.asarray(parts.sum(axis=1) + columns[:, REMAINDER])
