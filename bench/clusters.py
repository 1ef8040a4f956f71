"""A made-up cluster of any size: the same for the same seed, uneven enough to be shed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.pulsar.model import ClusterLoad, Floats, Ints
from trimtab.pulsar.sequences.leader_maps import LeaderMaps
from trimtab.pulsar.sequences.sequences import sequence

#: Slices of a namespace.
_BUNDLES_PER_NAMESPACE = 64
_SLICE = 2**32 // _BUNDLES_PER_NAMESPACE
#: One broker of so many owns more than its share.
_HOT_ONE_IN = 10
_HOT_WEIGHT = 2.5
# Messages/s of a bundle: most have little, a few have much.
_RATE = {"shape": 0.5, "scale": 400.0}
_MESSAGE_SIZES = (256.0, 1024.0, 4096.0)
_FAN_OUTS = (0.0, 1.0, 1.0, 2.0, 4.0)
#: Percent of its processor that a broker of average traffic uses.
_CPU_AT_AVERAGE = 40.0
_NETWORK_LIMIT = 1.25e9


def cluster(brokers: int, bundles: int, seed: int) -> dict[str, Any]:
    """Make the first round of a sequence: reports of all brokers, averages of all bundles.

    Args:
        brokers: how many.
        bundles: how many, all of them owned.
        seed: of everything that is drawn.
    """
    dice = np.random.default_rng(seed)
    weights = np.where(np.arange(brokers) % _HOT_ONE_IN == 0, _HOT_WEIGHT, 1.0)
    owners = dice.choice(brokers, size=bundles, p=weights / weights.sum())
    short = _averages(dice, bundles)
    long = short * dice.uniform(0.9, 1.1, size=(bundles, 1))
    names = [_bundle(i) for i in range(bundles)]
    return {
        "brokers": _reports(dice, brokers, owners, (short, long), names),
        "bundle_data": {
            name: {"short": s, "long": g}
            for name, s, g in zip(names, short.tolist(), long.tolist(), strict=True)
        },
    }


def load(asked: Mapping[str, Any], release: str) -> ClusterLoad:
    """Lay a cluster out as the leader has it, in arrays that nobody can write to."""
    given = {"id": "bench", "strategy": "ThresholdShedder", "version": release, "rounds": [asked]}
    maps = LeaderMaps(release)
    maps.update(sequence(given).rounds[0])
    found = maps.load()
    for part in (found, found.bundle_traffic()):
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
    return found


def without(asked: Mapping[str, Any], gone: frozenset[str]) -> dict[str, Any]:
    """Take brokers out of a cluster; their bundles have no owner then."""
    left = {name: report for name, report in asked["brokers"].items() if name not in gone}
    return {**asked, "brokers": left}


def _averages(dice: np.random.Generator, bundles: int) -> Floats:
    """Draw (bundles, 4) rates and throughputs, in and out."""
    rate_in = dice.gamma(**_RATE, size=bundles)
    rate_out = rate_in * dice.choice(_FAN_OUTS, size=bundles)
    size = dice.choice(_MESSAGE_SIZES, size=bundles)
    return np.stack([rate_in, rate_out, rate_in * size, rate_out * size], axis=1)


def _bundle(index: int) -> str:
    namespace, place = divmod(index, _BUNDLES_PER_NAMESPACE)
    end = min((place + 1) * _SLICE, 2**32 - 1)
    return f"public/ns-{namespace}/0x{place * _SLICE:08x}_0x{end:08x}"


def _reports(
    dice: np.random.Generator,
    brokers: int,
    owners: Ints,
    averages: tuple[Floats, Floats],
    names: list[str],
) -> dict[str, Any]:
    """Let every broker report what its bundles add up to."""
    short, long = (
        np.stack([np.bincount(owners, column, minlength=brokers) for column in values.T], axis=1)
        for values in averages
    )
    traffic = short[:, 2] + short[:, 3]
    busy = _CPU_AT_AVERAGE * traffic / traffic.mean() + dice.uniform(0, 10, brokers)
    cpu = np.minimum(99.0, busy)
    memory, direct = dice.uniform(20, 60, brokers), dice.uniform(5, 40, brokers)
    owned: list[list[str]] = [[] for _ in range(brokers)]
    for name, owner in zip(names, owners.tolist(), strict=True):
        owned[owner].append(name)
    return {
        f"broker-{i}.pulsar:8080": {
            "cpu": [float(cpu[i]), 100.0],
            "memory": [float(memory[i]), 100.0],
            "directMemory": [float(direct[i]), 100.0],
            "bandwidthIn": [float(short[i, 2]), _NETWORK_LIMIT],
            "bandwidthOut": [float(short[i, 3]), _NETWORK_LIMIT],
            "msgRateIn": float(short[i, 0]),
            "msgRateOut": float(short[i, 1]),
            "msgThroughputIn": float(short[i, 2]),
            "msgThroughputOut": float(short[i, 3]),
            "longTerm": [float(long[i, 0]), float(long[i, 1])],
            "bundles": owned[i],
        }
        for i in range(brokers)
    }
