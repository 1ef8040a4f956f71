"""Makes sequences of rounds for a strategy: the same for the same seed, and never boring.

A sequence is one strategy object's life, in the form that the README of this folder
describes; the tags say what is special about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from oracle import settings
from oracle.boundaries import BOUNDARIES
from oracle.clusters import ODD_TRAFFIC, SHAPES, Cluster, Habits
from oracle.extensible_states import ROLES as EXTENSIBLE_ROLES
from oracle.extensible_states import SINCE as EXTENSIBLE_SINCE
from oracle.extensible_states import extensible_sequence
from trimtab.pulsar.releases import release_order

Sequence = dict[str, Any]

#: Class → what it is asked: to shed, to place, or both.
ROLES: Mapping[str, str] = {
    "ThresholdShedder": "shed",
    "OverloadShedder": "shed",
    "UniformLoadShedder": "shed",
    "AvgShedder": "both",
    "LeastLongTermMessageRate": "place",
    "LeastResourceUsageWithWeight": "place",
    "RoundRobinBrokerSelector": "place",
}
#: The classes of the modular load manager, which this file makes sequences for.
MODULAR = tuple(ROLES)
#: These and the classes of the extensible one.
STRATEGIES = (*MODULAR, *EXTENSIBLE_ROLES)
#: Class → the oldest release of Pulsar that has it, where it came after 2.10.
SINCE: Mapping[str, str] = {
    "AvgShedder": "3.0.6",
    "LeastResourceUsageWithWeight": "2.11.0",
    "RoundRobinBrokerSelector": "2.11.0",
    **dict.fromkeys(EXTENSIBLE_ROLES, EXTENSIBLE_SINCE),
}

#: Tag → share of sequences that carry it.
SHARES: Mapping[str, float] = {
    "boundary": 0.25,
    "ties": 0.25,
    "odd-usage": 0.08,
    "odd-traffic": 0.06,
    "zero-bundles": 0.2,
    "traffic-uncorrelated": 0.2,
    "system-bundles": 0.15,
    "churn": 0.4,
    "huge": 0.006,
    "comparator": 0.03,
    "recently-unloaded": 0.3,
    "twins": 0.1,
}
#: Tags that only some classes can have.
ONLY: Mapping[str, tuple[str, ...]] = {
    "comparator": ("AvgShedder",),
    "boundary": tuple(BOUNDARIES),
}
# One kind at a time, or all: they hide one another.
_ODD_TRAFFIC = (*((value,) for value in ODD_TRAFFIC), ODD_TRAFFIC, (-0.0, 0.0))
_SYSTEM = (
    "pulsar/system/0x00000000_0x40000000",
    "pulsar/standalone/{0}/0x00000000_0xffffffff",
    "pulsar/{0}/0x00000000_0xffffffff",
    "sla-monitor/c1/{0}/0x00000000_0xffffffff",
    "sla-monitor/{0}/0x00000000_0xffffffff",
)


def is_of_release(strategy: str, release: str) -> bool:
    """Return whether a release of Pulsar has a class."""
    return release_order(release) >= release_order(SINCE.get(strategy, "2.10.0"))


def sequence(strategy: str, seed: str, index: int) -> Sequence:
    """Make one sequence.

    Args:
        strategy: simple name of Pulsar's class.
        seed: any text; each makes other sequences.
        index: number of the sequence; it can be made without those before it.
    """
    if strategy in EXTENSIBLE_ROLES:
        return extensible_sequence(strategy, seed, index)
    dice = Random(f"{seed}/{strategy}/{index}")
    tags = [
        tag
        for tag, share in SHARES.items()
        if strategy in ONLY.get(tag, MODULAR) and dice.random() < share
    ]
    conf = settings.draw(dice, strategy, tags)
    cluster = Cluster(dice, _habits(dice, tags))
    rounds = _boundary(cluster, strategy, conf, tags) or _rounds(cluster, strategy, tags)
    return {
        "id": f"{seed}/{strategy}/{index}",
        "strategy": strategy,
        "role": "place" if ROLES[strategy] == "place" else "shed",
        "tags": tags,
        "conf": conf,
        "rounds": rounds,
    }


def _habits(dice: Random, tags: list[str]) -> Habits:
    shape = dice.choice(tuple(SHAPES))
    # Nothing breaks AvgShedder's old comparator like many brokers less than a point apart.
    shape = "near" if "comparator" in tags else shape
    tags.append(f"shape:{shape}")
    return Habits(
        shape=shape,
        is_coarse="ties" in tags,
        is_cpu_bound="comparator" in tags,
        has_odd_usage="odd-usage" in tags,
        odd_traffic=dice.choice(_ODD_TRAFFIC) if "odd-traffic" in tags else (),
        zero_share=0.5 if "zero-bundles" in tags else 0.0,
        is_uncorrelated="traffic-uncorrelated" in tags,
        traffic=dice.choice(((5000.0, 5e7), (5000.0, 5e7), (100.0, 1e4), (40000.0, 1e6))),
    )


# --------------------------------------------------------------------- rounds


def _boundary(
    cluster: Cluster, strategy: str, conf: dict[str, settings.Setting], tags: list[str]
) -> list[dict[str, Any]]:
    """Make the rounds of a state at the edge of a comparison; none without the tag."""
    if "boundary" not in tags:
        return []
    BOUNDARIES[strategy](cluster, conf)
    return [
        cluster.news() | _question(cluster, strategy, tags)
        for _ in range(cluster.dice.choice((1, 1, 2, 4)))
    ]


def _rounds(cluster: Cluster, strategy: str, tags: list[str]) -> list[dict[str, Any]]:
    _populate(cluster, tags)
    dice = cluster.dice
    lengths = (1, 3, 4, 6, 9) if strategy == "AvgShedder" else (1, 1, 2, 3, 5)
    length = 2 if {"huge", "comparator"} & set(tags) else dice.choice(lengths)
    rounds = []
    for number in range(length):
        if number:
            _change(cluster, tags)
        told = cluster.news()
        if dice.random() < 0.5:
            told["active_brokers"] = list(cluster.brokers)
        if "recently-unloaded" in tags and cluster.averages:
            told["recently_unloaded"] = dice.sample(
                list(cluster.averages), dice.randint(0, len(cluster.averages) // 2)
            )
        if strategy == "LeastLongTermMessageRate" and dice.random() < 0.5:
            told["preallocated"] = _preallocated(cluster)
        rounds.append(told | _question(cluster, strategy, tags))
    return rounds


def _populate(cluster: Cluster, tags: list[str]) -> None:
    dice = cluster.dice
    n_brokers = dice.choice((0, 1, 2, 2, 3, 3, 4, 5, 6, 8, 13, 20) if dice.random() < 0.8 else (3,))
    n_bundles = dice.choice((0, 1, 2, 4, 4, 6, 8)) * n_brokers
    if "huge" in tags:
        n_brokers, n_bundles = dice.randint(40, 70), dice.randint(200, 500)
    if "comparator" in tags:
        n_brokers, n_bundles = dice.choice((32, 64, 100, 200)), dice.randint(40, 120)
    for _ in range(n_brokers):
        cluster.join()
    names = list(cluster.brokers)
    for _ in range(n_bundles):
        # Drawn twice, so that some brokers own much and others nothing.
        _add_bundle(cluster, names[min(dice.randrange(n_brokers), dice.randrange(n_brokers))])
    if "system-bundles" in tags and names:
        for text in dice.sample(_SYSTEM, dice.randint(1, len(_SYSTEM))):
            owner = dice.choice(names)
            bundle = text.format(owner)
            cluster.measure(bundle)
            cluster.own(bundle, owner)
    if "twins" in tags:
        _copy_averages(cluster)


def _add_bundle(cluster: Cluster, owner: str) -> None:
    bundle = cluster.make_bundle()
    if cluster.dice.random() < 0.95:  # a few are reported and not measured yet
        cluster.measure(bundle)
    cluster.own(bundle, owner)


def _copy_averages(cluster: Cluster) -> None:
    """Let bundles have the very averages of another, as AvgShedder's plan mixes them up."""
    names = list(cluster.averages)
    for _ in range(len(names) // 3):
        model, copy = cluster.dice.choice(names), cluster.dice.choice(names)
        cluster.set_averages(copy, *cluster.averages[model])


def _change(cluster: Cluster, tags: list[str]) -> None:
    """Let a round's time go by."""
    dice = cluster.dice
    for name in cluster.brokers:
        if dice.random() < 0.3:
            cluster.rouse(name)
    for bundle in list(cluster.averages):
        if dice.random() < 0.3:
            cluster.measure(bundle)
    if "twins" in tags:
        _copy_averages(cluster)
    if "churn" in tags:
        for happens in dice.sample(_CHURN, 3):
            happens(cluster)


def _crash(cluster: Cluster) -> None:
    """Lose a broker; somebody else owns its bundles at once, or nobody."""
    dice = cluster.dice
    if not cluster.brokers:
        return
    orphans = cluster.leave(dice.choice(list(cluster.brokers)))
    for bundle in orphans:
        if cluster.brokers and dice.random() < 0.8:
            cluster.own(bundle, dice.choice(list(cluster.brokers)))


def _grow(cluster: Cluster) -> None:
    owner = cluster.join()
    for _ in range(cluster.dice.randint(0, 3)):
        _add_bundle(cluster, owner)


def _move(cluster: Cluster) -> None:
    """Move bundles; now and then both brokers list one, or none does."""
    dice, names = cluster.dice, list(cluster.brokers)
    for bundle in dice.sample(list(cluster.averages), len(cluster.averages) // 4):
        owners = dice.sample(names, min(len(names), dice.choice((0, 1, 1, 1, 2))))
        cluster.own(bundle, *owners)


def _lose_averages(cluster: Cluster) -> None:
    for bundle in list(cluster.averages):
        if cluster.dice.random() < 0.2:
            cluster.forget_averages(bundle)


_CHURN: tuple[Callable[[Cluster], None], ...] = (_crash, _grow, _move, _lose_averages)


# ------------------------------------------------------------------- questions


def _question(cluster: Cluster, strategy: str, tags: list[str]) -> dict[str, Any]:
    role = ROLES[strategy]
    asked: dict[str, Any] = {}
    if role != "place":
        asked["shed"] = True
    if role == "place":
        asked["select"] = _selections(cluster, tags)
    elif role == "both" and cluster.dice.random() < 0.5:
        # Drawing at random ends what can be compared, so what was planned is asked more.
        if cluster.dice.random() < 0.8:
            asked["select_unloaded"] = {"candidates": list(cluster.brokers)}
        else:
            asked["select"] = _selections(cluster, tags)
    return asked


def _selections(cluster: Cluster, tags: list[str]) -> list[dict[str, Any]]:
    dice, names = cluster.dice, list(cluster.brokers)
    bundles = list(cluster.averages)
    selections: list[dict[str, Any]] = []
    if not bundles:
        return selections  # the manager gives a bundle averages before it places it
    for _ in range(dice.choice((1, 2, 4, 8))):
        count = len(names) if dice.random() < 0.6 else dice.randint(0, len(names))
        candidates = dice.sample(names, count)
        if dice.random() < 0.02:
            candidates.append("nobody:8080")
            if "unknown-candidate" not in tags:
                tags.append("unknown-candidate")
        selections.append({"candidates": candidates, "bundle": dice.choice(bundles)})
    return selections


def _preallocated(cluster: Cluster) -> dict[str, list[str]]:
    dice, bundles = cluster.dice, list(cluster.averages)
    if not bundles:
        return {}
    return {
        broker: dice.sample(bundles, dice.randint(0, min(6, len(bundles))))
        for broker in cluster.brokers
        if dice.random() < 0.5
    }
