"""What is counted of bundles → columns that add up to what brokers carry, and what each costs."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.features import FEATURES, features
from trimtab.lab.costs.knowledge import Knowledge
from trimtab.pulsar.model import Floats, Ints

#: Column behind FEATURES: points of work that bundles take beside what their traffic says.
BESIDE = len(FEATURES)


def load(known: Knowledge, bundle: Ints, counts: Floats) -> Floats:
    """Return what some bundles are, (n, BESIDE + 1) columns.

    Args:
        known: costs, and how bundles deviate from them.
        bundle: (n,) positions.
        counts: (n, 7) columns COUNTS of them.
    """
    by_feature = features(counts)
    beside = by_feature @ np.exp(known.shared[:-1]) * known.bundles.deviation[bundle]
    return np.column_stack((by_feature, beside))


def costs(known: Knowledge) -> Floats:
    """Return the points of work that a unit of each column takes, (BESIDE + 1,)."""
    return np.append(np.exp(known.shared[:-1]), 1.0)
