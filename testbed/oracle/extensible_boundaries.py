"""States at the edge of each comparison that the extensible load manager's classes make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from oracle.boundaries import Conf, beside
from oracle.extensible_clusters import ExtensibleCluster

_TARGET = "loadBalancerBrokerLoadTargetStd"
_MEBIBYTE = 1048576.0


def _brokers(cluster: ExtensibleCluster, levels: list[float]) -> list[str]:
    """Make a broker a level, with a throughput to match and bundles of it."""
    names = []
    for level in levels:
        name = cluster.join()
        names.append(name)
        cluster.publish_load(name, level, level * 100 * _MEBIBYTE, 10_000)
        count = cluster.dice.choice((0, 1, 2, 3, 5)) if cluster.habits.has_bundles else 0
        if count:
            cluster.publish_bundles(name, [level * 100 * _MEBIBYTE / count] * count)
    return names


def _deviation(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put the target at the deviation, computed as the Java does."""
    dice = cluster.dice
    levels = [dice.randint(0, 20) / 20 for _ in range(dice.randint(2, 5))]
    _brokers(cluster, levels)
    mean = sum(levels) / len(levels)
    square = sum(level * level for level in levels) / len(levels) - mean * mean
    conf[_TARGET] = beside(dice, math.sqrt(max(0.0, square)))


def _underloaded(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put the lowest at the share of the mean, or of the highest's throughput."""
    dice = cluster.dice
    conf[_TARGET] = target = dice.choice((0.25, 0.5, 1.0, 2.0))
    share = min(0.5, target / 2)
    others = [0.5] * dice.randint(1, 4)
    low = share * sum(others) / (len(others) + 1 - share)
    names = _brokers(cluster, [beside(dice, low), *others])
    if dice.random() < 0.5:
        high = 64.0 * _MEBIBYTE
        cluster.habits.is_coarse = True  # what is smoothed is what is given
        cluster.publish_load(names[0], 0.5, beside(dice, high * share), 10_000)
        for name in names[1:]:
            cluster.publish_load(name, 0.5, high, 10_000)
    if dice.random() < 0.2:
        cluster.publish_load(names[0], 0.5, beside(dice, 1.0), 10_000)


def _overloaded(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put the highest at the threshold, or at the mean and the target."""
    dice = cluster.dice
    threshold = dice.choice((50, 70, 85))
    conf["loadBalancerBrokerOverloadedThresholdPercentage"] = threshold
    if dice.random() < 0.5:
        conf[_TARGET] = dice.choice((0.5, 0.3))
        _brokers(cluster, [beside(dice, threshold / 100), *[0.25] * 5])
    else:
        conf[_TARGET] = target = 0.25
        # high = mean + target, of one among others that are equal
        count = dice.randint(3, 9)
        low = 0.65
        _brokers(cluster, [beside(dice, low + target * (count + 1) / count), *[low] * count])


def _ages(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put load data at the age at which they are too old, or too new after an unload."""
    dice = cluster.dice
    names = _brokers(cluster, [0.9, 0.1, 0.2, 0.8][: dice.randint(1, 4)])
    oldest_s, pause_s = dice.choice((0, 60, 1800)), dice.choice((0, 60, 180))
    conf["loadBalancerBrokerLoadDataTTLInSeconds"] = oldest_s
    conf["loadBalanceSheddingDelayInSeconds"] = pause_s
    for name in names:
        age_ms = oldest_s * 1000 + dice.choice((-1, 0, 1, -5000))
        cluster.publish_load(name, dice.random(), 1e7, age_ms)
        if dice.random() < 0.5:
            since_ms = pause_s * 1000 + dice.choice((-1, 0, 1))
            unloaded_at = cluster.now_ms - age_ms - since_ms
            cluster.tell("recently_unloaded_brokers", name, unloaded_at)


def _budget(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put a bundle at what is to move, and what is exchanged for it at what would do."""
    dice = cluster.dice
    conf[_TARGET] = dice.choice((0.0, 0.1))
    cluster.habits.is_coarse = True
    high, low = dice.choice(((0.75, 0.25), (0.9, 0.1), (0.5, 0.0), (1.0, 0.5)))
    top, bottom = 64.0 * _MEBIBYTE, dice.choice((0.0, 8.0, 32.0)) * _MEBIBYTE
    names = [cluster.join(), cluster.join()]
    cluster.publish_load(names[0], high, top, 10_000)
    cluster.publish_load(names[1], low, bottom, 10_000)
    budget = top * ((high - low) / 2) / high
    first = dice.choice((budget, budget, budget / 2, budget * 1.25, top / 2))
    weights = [beside(dice, first), beside(dice, budget - first if first < budget else first)]
    cluster.habits.is_shuffled = dice.random() < 0.3
    cluster.publish_bundles(names[0], [*weights, top - sum(weights)])
    # What makes both equal, what leaves three quarters, and what leaves all as it was.
    edges = ((bottom + 2 * first - top) / 2, first - top / 4, first, first + bottom - top)
    returned = [beside(dice, dice.choice(edges)) for _ in range(dice.randint(0, 3))]
    cluster.publish_bundles(names[1], [max(0.0, weight) for weight in returned])


def _exchanges(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Let bundle after bundle be exchanged, so that all that is added up and taken off counts."""
    dice = cluster.dice
    conf[_TARGET] = 0.01
    conf["loadBalancerDebugModeEnabled"] = dice.random() < 0.8
    names = [cluster.join(), cluster.join()]
    high, low = dice.uniform(0.7, 1.0), dice.uniform(0.3, 0.6)
    top, bottom = dice.uniform(5e7, 1e8), dice.uniform(1e6, 4e7)
    cluster.publish_load(names[0], high, top, 10_000)
    cluster.publish_load(names[1], low, bottom, 10_000)
    count = dice.randint(3, 6)
    large = [top * dice.uniform(0.8, 1.4) / count for _ in range(count)]
    cluster.publish_bundles(names[0], large)
    small = [dice.uniform(0.1, 0.9) * min(large) for _ in range(dice.randint(2, 12))]
    cluster.publish_bundles(names[1], small)


def _counts(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Give brokers no bundle, one or two, and as many of them as may be relieved."""
    dice = cluster.dice
    conf[_TARGET] = dice.choice((0.0, 0.05))
    levels = [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1]
    for level in levels[: dice.randint(0, len(levels))]:
        name = cluster.join()
        cluster.publish_load(name, level, level * 1e8, 10_000)
        cluster.publish_bundles(name, [level * 1e6] * dice.choice((0, 1, 2, 2, 3)))


def _difference(cluster: ExtensibleCluster, conf: Conf) -> None:
    """Put brokers at the average less the difference that makes a target."""
    dice = cluster.dice
    percent = dice.choice((0, 5, 10, 20))
    conf["loadBalancerAverageResourceUsageDifferenceThresholdPercentage"] = percent
    middle = dice.randint(percent, 100 - percent) / 100
    levels = [middle - percent / 100, middle + percent / 100, *[middle] * dice.randint(0, 3)]
    _brokers(cluster, [beside(dice, level) for level in dice.sample(levels, len(levels))])


_Puts = Callable[[ExtensibleCluster, Conf], None]

#: Class → what puts a cluster at the edge of one of its comparisons.
BOUNDARIES: Mapping[str, tuple[_Puts, ...]] = {
    "TransferShedder": (
        *(_deviation, _underloaded, _overloaded, _ages),
        *(_budget, _budget, _exchanges, _counts),
    ),
    "ExtensionsLeastResourceUsageWithWeight": (_difference,),
}
