"""States at the very edge of each comparison that a strategy makes, on it and beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

from oracle.clusters import Cluster
from oracle.settings import Setting

Conf = dict[str, Setting]

# One step of a 32-bit number, in which Pulsar computes percentages, relative to the number.
_STEP_32 = 2.0**-23
# The first of a pair of metrics → the setting below which a move of it is not worth it.
_FLOORS = {0: "minUnloadMessage", 2: "minUnloadMessageThroughput"}


def beside(dice: Random, value: float) -> float:
    """Return the value itself, or a neighbour of 64 or of 32 bits."""
    return dice.choice(
        (
            value,
            value,
            math.nextafter(value, math.inf),
            math.nextafter(value, -math.inf),
            value * (1 + _STEP_32),
            value * (1 - _STEP_32),
        )
    )


def _whole(conf: Conf, dice: Random, name: str, *choices: int) -> int:
    """Set a setting to one of the choices."""
    conf[name] = value = dice.choice(choices)
    return value


def _near(dice: Random, budget: int) -> int:
    """Return a whole number at a budget, as far as the setting can hold it."""
    return min(max(0, budget + dice.choice((-1, 0, 1))), 2**31 - 1)


def _settle(cluster: Cluster, levels: list[float]) -> None:
    """Make a broker a level, each with a few bundles of its own."""
    dice = cluster.dice
    for level in levels:
        name = cluster.join()
        cluster.brokers[name].limits = dict.fromkeys(cluster.brokers[name].limits, 100.0)
        cluster.set_level(name, level)
        for _ in range(dice.choice((0, 1, 2, 2, 3, 5))):
            bundle = cluster.make_bundle()
            cluster.measure(bundle)
            cluster.own(bundle, name)


def _threshold_shedder(cluster: Cluster, conf: Conf) -> None:
    """Put a broker at the average plus or minus the threshold."""
    dice = cluster.dice
    threshold = _whole(conf, dice, "loadBalancerBrokerThresholdShedderPercentage", 0, 5, 10, 15, 20)
    conf["loadBalancerHistoryResourcePercentage"] = dice.choice((0.0, 0.0, 0.5, 0.9))
    conf["loadBalancerBundleUnloadMinThroughputThreshold"] = dice.choice((0.0, 0.01, 0.1))
    middle = dice.randint(threshold, 100 - threshold) / 100
    others = [middle] * dice.randint(0, 3)
    pair = [middle + threshold / 100, middle - threshold / 100]
    if dice.random() < 0.3:
        # One on one side, the balance spread over the other: the other edge alone.
        pair = [middle + dice.choice((1, -1)) * threshold / 100, *[middle] * 4]
    _settle(cluster, [beside(dice, level) for level in dice.sample(pair, len(pair)) + others])


def _overload_shedder(cluster: Cluster, conf: Conf) -> None:
    """Put brokers at the threshold."""
    dice = cluster.dice
    name = "loadBalancerBrokerOverloadedThresholdPercentage"
    threshold = _whole(conf, dice, name, 50, 60, 70, 80, 85, 90, 95)
    _settle(cluster, [beside(dice, threshold / 100) for _ in range(dice.randint(1, 4))])


def _least_resource_usage(cluster: Cluster, conf: Conf) -> None:
    """Put brokers at the average less the difference that makes a target."""
    dice = cluster.dice
    name = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    difference = _whole(conf, dice, name, 0, 5, 10, 20)
    conf["loadBalancerHistoryResourcePercentage"] = dice.choice((0.0, 0.5, 0.9))
    middle = dice.randint(difference, 100 - difference) / 100
    levels = [middle - difference / 100, middle + difference / 100]
    levels += [middle] * dice.randint(0, 3)
    _settle(cluster, [beside(dice, level) for level in dice.sample(levels, len(levels))])


def _uniform_load_shedder(cluster: Cluster, conf: Conf) -> None:
    """Put the largest broker at the rate or throughput that is just too much for the least."""
    dice = cluster.dice
    percent = dice.choice((10.0, 50.0, 100.0))
    times = dice.choice((1.5, 2.0, 4.0))
    conf["loadBalancerMsgRateDifferenceShedderThreshold"] = dice.choice((percent, 0.0))
    conf["loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"] = times
    share = dice.choice((0.1, 0.2, 0.5))
    conf["maxUnloadPercentage"] = share
    low = dice.choice((0.0, 1e-6, 1.0, 10.0, 1000.0, 1e6, 4e9))
    metric = dice.choice(tuple(_FLOORS))
    edge = low * (1 + percent / 100) if metric == 0 else low * times
    high = dice.choice((edge, edge, 20 * edge, low + 1e10))
    budget = math.trunc((high - low) * share)
    if dice.random() < 0.5:
        conf[_FLOORS[metric]] = _near(dice, budget)
    _fill_pair(cluster, metric, (low, beside(dice, high)), float(budget))


def _avg_shedder(cluster: Cluster, conf: Conf) -> None:
    """Put pairs of brokers exactly a threshold apart, and their bundles at the budget."""
    dice = cluster.dice
    low = _whole(conf, dice, "loadBalancerAvgShedderLowThreshold", 5, 10, 15)
    high = _whole(conf, dice, "loadBalancerAvgShedderHighThreshold", 15, 20, 40)
    for name in ("Low", "High"):
        conf[f"loadBalancerAvgShedderHitCount{name}Threshold"] = dice.choice((0, 1, 2, 3))
    share = dice.choice((0.1, 0.2, 0.5))
    conf["maxUnloadPercentage"] = share
    gap = dice.choice((low, high)) / 100
    base = dice.randint(0, 50) / 100
    for metric in dice.sample(tuple(_FLOORS), dice.randint(1, 2)):
        lesser, greater = 1000.0, beside(dice, dice.choice((2000.0, 11000.0, 1e7)))
        budget = (greater - lesser) * share
        if dice.random() < 0.5:
            conf[_FLOORS[metric]] = _near(dice, math.trunc(budget))
        _fill_pair(cluster, metric, (lesser, greater), budget)
    for i, name in enumerate(cluster.brokers):
        cluster.brokers[name].limits = dict.fromkeys(cluster.brokers[name].limits, 100.0)
        cluster.set_level(name, beside(dice, base + gap * (i % 2)))


def _fill_pair(cluster: Cluster, metric: int, totals: tuple[float, float], budget: float) -> None:
    """Make two brokers with given totals, of bundles that fit a budget, or just do not.

    Args:
        cluster: where they go.
        metric: the first of the two metrics that the totals are of: 0 is rate, 2 throughput.
        totals: what the first broker has, and what the second.
        budget: what may be moved.
    """
    dice = cluster.dice
    for total in totals:
        name = cluster.join()
        parts = [beside(dice, budget + extra) for extra in (0, 1, -1, 1000) if dice.random() < 0.5]
        parts.append(total - sum(parts))
        for part in parts:
            short = [0.0, 0.0, 0.0, 0.0, 1.0]
            inward = dice.choice((0.0, 0.5, 1.0)) * part
            short[metric], short[metric + 1] = inward, part - inward
            bundle = cluster.make_bundle()
            cluster.set_averages(bundle, short, short)
            cluster.own(bundle, name)


#: Class → puts a cluster at the edge of one of its comparisons.
BOUNDARIES: Mapping[str, Callable[[Cluster, Conf], None]] = {
    "ThresholdShedder": _threshold_shedder,
    "OverloadShedder": _overload_shedder,
    "UniformLoadShedder": _uniform_load_shedder,
    "AvgShedder": _avg_shedder,
    "LeastLongTermMessageRate": _overload_shedder,
    "LeastResourceUsageWithWeight": _least_resource_usage,
}
