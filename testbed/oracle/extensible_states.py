"""Makes sequences for the extensible load manager's classes: the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from oracle.clusters import SHAPES
from oracle.extensible_boundaries import BOUNDARIES
from oracle.extensible_clusters import (
    MINUTE_MS,
    ODD_TRAFFIC,
    ExtensibleCluster,
    ExtensibleHabits,
)
from oracle.settings import WEIGHTS, Setting

#: Class → what it is asked.
ROLES: Mapping[str, str] = {
    "TransferShedder": "shed",
    "ExtensionsLeastResourceUsageWithWeight": "place",
}
#: The oldest release of Pulsar that has them.
SINCE = "3.0.0"

#: Tag → share of sequences that carry it.
SHARES: Mapping[str, float] = {
    "boundary": 0.3,
    "ties": 0.25,
    "odd": 0.08,
    "sampled": 0.3,
    "zero-bundles": 0.25,
    "shuffled": 0.3,
    "policies": 0.2,
    "filtered": 0.2,
    "not-owned": 0.15,
    "recently-unloaded": 0.3,
    "resting": 0.3,
    "outdated": 0.2,
    "unregistered": 0.15,
    "missing": 0.08,
    "churn": 0.3,
    "huge": 0.01,
}
#: Tags of what matters for shedding alone.
ONLY_SHED = (
    *("zero-bundles", "shuffled", "policies", "filtered", "not-owned"),
    *("recently-unloaded", "resting", "outdated"),
)
_CHOICES: Mapping[str, tuple[Setting | str, ...]] = {
    "loadBalancerBrokerOverloadedThresholdPercentage": (0, 50, 70, 85, 100),
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle": (0, 1, 2, 3, 3, 10),
    "loadBalanceSheddingDelayInSeconds": (0, 60, 180),
    "loadBalancerBrokerLoadDataTTLInSeconds": (60, 1800),
    "loadBalancerTransferEnabled": (True, True, False),
    "loadBalancerSheddingBundlesWithPoliciesEnabled": (True, False),
    "loadBalancerDebugModeEnabled": (True, True, False),
    "loadBalancerSheddingExcludedNamespaces": ("t/n1", "public/default,t/n1"),
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": (0, 1, 5, 10, 20, 50),
    "loadBalancerHistoryResourcePercentage": (0.0, 0.1, 0.5, 0.9, 1.0),
}
# By default only three rounds of a deviation of 0.25 are too much: little would ever happen.
_USUALLY: Mapping[str, tuple[Setting, ...]] = {
    "loadBalancerBrokerLoadTargetStd": (0.0, 0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 1.5),
    "loadBalancerSheddingConditionHitCountThreshold": (*[0] * 8, 1, 2, 3),
}
_WEIGHT_CHOICES = (0.0, 0.5, 1.0, 1.5)


def extensible_sequence(strategy: str, seed: str, index: int) -> dict[str, Any]:
    """Make one sequence.

    Args:
        strategy: the class.
        seed: any text; each makes other sequences.
        index: number of the sequence; it can be made without those before it.
    """
    dice = Random(f"{seed}/{strategy}/{index}")
    is_shed = ROLES[strategy] == "shed"
    tags = [
        tag
        for tag, share in SHARES.items()
        if dice.random() < share and (is_shed or tag not in ONLY_SHED)
    ]
    conf = _conf(dice)
    cluster = ExtensibleCluster(dice, _habits(dice, strategy, tags))
    if "boundary" in tags:
        dice.choice(BOUNDARIES[strategy])(cluster, conf)
    else:
        _populate(cluster, tags)
    rounds = []
    for number in range(dice.choice((1, 1, 2, 3, 5))):
        if number:
            _change(cluster, tags)
        rounds.append(cluster.news() | _circumstances(cluster, tags) | _question(cluster, strategy))
    return {
        "id": f"{seed}/{strategy}/{index}",
        "strategy": strategy,
        "role": ROLES[strategy],
        "tags": tags,
        "conf": conf,
        "rounds": rounds,
    }


def _conf(dice: Random) -> dict[str, Any]:
    share = dice.choice((0.0, 0.3, 0.6))
    conf: dict[str, Any] = {
        name: dice.choice(values) for name, values in _CHOICES.items() if dice.random() < share
    }
    conf |= {name: dice.choice(values) for name, values in _USUALLY.items() if dice.random() < 0.9}
    if dice.random() < 0.3:
        conf |= {name: dice.choice(_WEIGHT_CHOICES) for name in WEIGHTS if dice.random() < 0.7}
    return conf


def _habits(dice: Random, strategy: str, tags: list[str]) -> ExtensibleHabits:
    return ExtensibleHabits(
        shape=dice.choice(tuple(SHAPES)),
        # At a boundary a digit may decide.
        is_short="boundary" not in tags and dice.random() < 0.7,
        has_bundles=ROLES[strategy] == "shed",
        is_coarse="ties" in tags,
        zero_share=0.5 if "zero-bundles" in tags else 0.0,
        odd=ODD_TRAFFIC if "odd" in tags else (),
        is_sampled="sampled" in tags,
        is_shuffled="shuffled" in tags,
    )


def _populate(cluster: ExtensibleCluster, tags: list[str]) -> None:
    dice = cluster.dice
    count = dice.choice((0, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6, 8, 8, 13, 20))
    for _ in range(dice.randint(40, 70) if "huge" in tags else count):
        cluster.publish(cluster.join(), _age_ms(dice, tags))


def _age_ms(dice: Random, tags: list[str]) -> int:
    """Draw how old load data are: mostly new."""
    if "outdated" in tags and dice.random() < 0.3:
        return dice.choice((61_000, 1_801_000, 10_000_000))
    return dice.choice((0, 5_000, 30_000, 59_000))


def _change(cluster: ExtensibleCluster, tags: list[str]) -> None:
    """Let a minute go by."""
    dice = cluster.dice
    cluster.now_ms += MINUTE_MS
    for name in cluster.brokers:
        if dice.random() < 0.6:
            cluster.publish(name, _age_ms(dice, tags))
    if "churn" in tags:
        if cluster.brokers and dice.random() < 0.5:
            cluster.leave(dice.choice(cluster.brokers), is_clean=dice.random() < 0.7)
        if dice.random() < 0.5:
            cluster.publish(cluster.join())


def _circumstances(cluster: ExtensibleCluster, tags: list[str]) -> dict[str, Any]:
    """Return what holds besides what is published; what is not said stays."""
    dice, told = cluster.dice, dict[str, Any]()
    if "unregistered" in tags or "churn" in tags or dice.random() < 0.3:
        gone = 0.2 if "unregistered" in tags else 0.0
        told["available_brokers"] = [n for n in cluster.brokers if dice.random() >= gone]
        if "missing" in tags:
            told["available_brokers"].append("silent:8080")
    if "policies" in tags:
        names = sorted({bundle.rpartition("/")[0] for bundle in cluster.bundles})
        told["namespaces_with_policies"] = [n for n in names if dice.random() < 0.4]
    if "filtered" in tags:
        told["filtered"] = {
            bundle: [name for name in cluster.brokers if dice.random() < 0.5]
            for bundle in _some(cluster, 0.5)
        }
    if "not-owned" in tags:
        others = [*cluster.brokers, "nobody:8080"]
        told["owners"] = {bundle: dice.choice(others) for bundle in _some(cluster, 0.3)}
    if "recently-unloaded" in tags:
        told["recently_unloaded"] = _some(cluster, 0.3)
    if "resting" in tags and "boundary" not in tags:
        told["recently_unloaded_brokers"] = {
            name: cluster.now_ms - dice.choice((0, 60_000, 240_000, 600_000, 900_000))
            for name in cluster.brokers
            if dice.random() < 0.15
        }
    return told


def _some(cluster: ExtensibleCluster, share: float) -> list[str]:
    return [bundle for bundle in cluster.bundles if cluster.dice.random() < share]


def _question(cluster: ExtensibleCluster, strategy: str) -> dict[str, Any]:
    if ROLES[strategy] == "shed":
        return {"shed": True}
    dice, names = cluster.dice, cluster.brokers
    selections = []
    for _ in range(dice.choice((1, 2, 4))):
        count = len(names) if dice.random() < 0.6 else dice.randint(0, len(names))
        candidates = dice.sample(names, count)
        if dice.random() < 0.15:
            candidates.append("silent:8080")
        selections.append({"bundle": "t/n1/0x00000000_0x10000000", "candidates": candidates})
    return {"select": selections}
