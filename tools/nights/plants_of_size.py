"""Families of what is too large to move, and of load that goes up and down by itself."""

from __future__ import annotations

import numpy as np

from tools.nights.night import AVG, UNIFORM, Night
from tools.nights.plants import of_broker, steps, threshold_pair
from tools.nights.traffic import Floats


def giant_by_budget(night: Night) -> None:
    """Plant brokers of few bundles, each larger than what is to go: a round plans and moves none.

    Every fourth time the hot broker has a single one.
    """
    night.pair(AVG if night.seed % 2 else UNIFORM)
    night.brokers = int(night.rng.integers(4, 7))
    night.bundles_each = 1 if night.seed % 4 == 0 else 2
    night.namespaces = 1
    night.spread = 0.05
    night.level = 26.0
    night.minutes = 36
    night.bytes_each = float(night.rng.uniform(60e6, 200e6))
    night.setting(
        maxUnloadPercentage=0.2,
        loadBalancerAvgShedderHitCountLowThreshold=3,
        minUnloadMessage=500,
    )
    steps(night, [(5.0, 2.2)], of_broker(night, 1))


def excess_below_bundle(night: Night) -> None:
    """Plant a bundle that is no giant by its share, and yet too much for whoever has it."""
    threshold_pair(night)
    night.brokers = int(night.rng.integers(3, 5))
    night.bundles_each = 6
    night.spread = 0.05
    night.minutes = 40
    night.level = 26.0
    night.setting(
        loadBalancerHistoryResourcePercentage=0.0, loadBalancerSheddingGracePeriodMinutes=2
    )

    def plan() -> None:
        traffic = night.cluster.traffic
        grown = np.ones(len(traffic.names))
        grown[night.first[night.ids[1]][0]] = 8.0
        begin = night.minute(5)
        traffic.shapes.append(lambda second, rate: rate * grown if second >= begin else rate)

    night.plans.append(plan)


def alternating_load(night: Night) -> None:
    """Plant bundles of two brokers that are busy in turns, for ten minutes at a time."""
    threshold_pair(night)
    night.brokers = int(night.rng.integers(4, 7))
    night.bundles_each = 8
    night.minutes = 46
    night.level = 24.0
    night.setting(
        loadBalancerHistoryResourcePercentage=0.2, loadBalancerSheddingGracePeriodMinutes=30
    )
    half_s = float(night.rng.uniform(420, 600))

    def plan() -> None:
        begin = night.minute(1)
        ones, others = (night.first[night.ids[number]] for number in (1, 2))

        def shape(second: float, rate: Floats) -> Floats:
            rate = rate.copy()
            turn = int((second - begin) / half_s)
            if second >= begin:
                rate[ones if turn % 2 == 0 else others] *= 2.4
            return rate

        night.cluster.traffic.shapes.append(shape)

    night.plans.append(plan)
