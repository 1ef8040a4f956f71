"""The last windows of bundles → which brokers have one whose traffic comes and goes."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.knowledge import Knowledge
from trimtab.lab.costs.predict import by_counts, by_work
from trimtab.pulsar.model import Flags, Floats

# Points that a bundle takes at its most beyond what it takes at its least, and how many times
# the least the most is.
_POINTS, _TIMES = 8.0, 2.0
# How often it crosses the middle of the two: up, down and up again is no step and no burst.
_CROSSINGS = 3


def restless(known: Knowledge, windows: Floats, among: Flags) -> Flags:
    """Return which of some brokers have a bundle whose traffic comes and goes, (n_brokers,).

    Args:
        known: whose bundles are, and what they cost.
        windows: (n_windows, n_bundles, 7) columns COUNTS, the newest last.
        among: (n_brokers,) those to be looked at.
    """
    owner = known.bundles.owner
    held = np.flatnonzero((owner >= 0) & among[owner])
    points = by_work(known)[owner[held]] * (1.0 + known.bundles.deviation[held])
    work = points * np.stack([by_counts(known, window[held]) for window in windows])
    least, most = work.min(axis=0), work.max(axis=0)
    is_high = work > (least + most) / 2
    crossings = np.count_nonzero(is_high[1:] != is_high[:-1], axis=0)
    comes_and_goes = (most - least > _POINTS) & (most > _TIMES * least) & (crossings >= _CROSSINGS)
    is_restless = np.zeros(among.size, np.bool_)
    is_restless[owner[held[comes_and_goes]]] = True
    return is_restless
