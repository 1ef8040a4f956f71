"""The bundles of a night on a number of brokers: too few, too many, giants to split?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.sizing.sized import shared_out
from trimtab.pulsar.model import Floats

# Share of what a broker may carry from which one bundle is a giant: two of them do not fit.
_GIANT = 0.5
# By how much the fullest broker may be above the mean, shared out as well as can be.
_UNEVEN = 0.1
# Bundles of a broker from which there are many, and share of a broker that each then carries.
_MANY, _CRUMB = 1000, 1e-4


@dataclass(frozen=True, slots=True)
class BundleCount:
    """What the number of bundles does to balance."""

    per_broker: float
    #: Fullest broker over the mean, shared out by what bundles bring on average; 0 is even.
    unevenness: float
    #: Positions of bundles that alone fill half of a broker at their peak, the heaviest first.
    giants: tuple[int, ...]
    #: `too few`, `too many` or `enough`.
    verdict: str


def bundle_count(work: Floats, room: float, brokers: int) -> BundleCount:
    """Return what the bundles of a night are on so many brokers.

    Args:
        work: (n_ticks, n_bundles).
        room: work that a broker may carry by the bar.
        brokers: how many.
    """
    mean = work.mean(axis=0)
    carried = np.bincount(shared_out(mean, brokers), mean, brokers)
    average = float(carried.mean())
    unevenness = float(carried.max()) / average - 1.0 if average > 0 else 0.0
    per_broker = work.shape[1] / brokers
    verdict = "enough"
    if unevenness > _UNEVEN:
        verdict = "too few"
    elif per_broker > _MANY and float(np.median(mean)) < _CRUMB * room:
        verdict = "too many"
    return BundleCount(per_broker, unevenness, giants(work, room), verdict)


def giants(work: Floats, room: float) -> tuple[int, ...]:
    """Return the bundles that alone fill half of a broker at their peak, the heaviest first."""
    peak = np.quantile(work, 0.99, axis=0)
    heavy = np.flatnonzero(peak >= _GIANT * room)
    return tuple(heavy[np.argsort(-peak[heavy], kind="stable")].tolist())
