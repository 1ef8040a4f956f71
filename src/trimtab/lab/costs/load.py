"""Features of bundles → columns that add up to what brokers carry, and what each costs."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.features import FEATURES
from trimtab.lab.costs.knowledge import Knowledge, with_brokers, with_bundles
from trimtab.pulsar.model import Floats, Ints

#: Column behind FEATURES: points of work that bundles take beside what their traffic says.
BESIDE = len(FEATURES)


def load(known: Knowledge, bundle: Ints, by_feature: Floats) -> Floats:
    """Return what some bundles are, (n, BESIDE + 1) columns.

    Args:
        known: costs, and how bundles deviate from them.
        bundle: (n,) positions.
        by_feature: (n, 7) columns FEATURES of them.
    """
    beside = by_feature @ np.exp(known.shared[:-1]) * known.bundles.deviation[bundle]
    return np.column_stack((by_feature, beside))


def costs(known: Knowledge) -> Floats:
    """Return the points of work that a unit of each column takes, (BESIDE + 1,)."""
    return np.append(np.exp(known.shared[:-1]), 1.0)


def by_traffic_alone(known: Knowledge) -> Knowledge:
    """Return what is known with each bundle, and what levels are of, as traffic alone has them."""
    of_levels = known.brokers.level_load.copy()
    of_levels[:, BESIDE] = 0.0
    bundles = known.bundles
    none, all_of_it = np.zeros_like(bundles.deviation), np.ones_like(bundles.untold)
    known = with_bundles(known, deviation=none, untold=all_of_it)
    return with_brokers(known, level_load=of_levels)
