"""Clusters written down as text, a broker a line."""

from __future__ import annotations

from functools import partial

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, RESOURCES, BundleTraffic, ClusterLoad

# Why a bundle may not be shed: moved lately, one of Pulsar's own, without load data.
UNSHEDDABLE = ("recent", "system", "unmeasured")


def cluster(lines: tuple[str, ...]) -> ClusterLoad:
    """Read `name usage [@traffic] [bundle=traffic[:why it may not be shed]] …`, a broker a line.

    Usage is a fraction of the CPU, or `resource:fraction,…`, or `resource=usage/limit,…`.
    Traffic is `MiB/s`, or bytes/s with a B behind, or either with `#messages/s` behind that;
    else messages are of a kilobyte.
    Without `@` a broker's report says what its bundles' averages add up to.
    """
    rows = [line.split() for line in lines]
    resources = np.array([_resources(row[1]) for row in rows]).reshape(-1, len(RESOURCES), 2)
    bundles = [
        (i, *_bundle(word)) for i, row in enumerate(rows) for word in row[2:] if word[0] != "@"
    ]
    owner = np.array([i for i, *_ in bundles], dtype=np.int64)
    averages = np.array([traffic for _, _, traffic, _ in bundles]).reshape(-1, 2)
    carried, rates = averages[:, 0], averages[:, 1]
    measured = np.zeros((len(rows), 2))
    np.add.at(measured, owner, averages)
    for i, row in enumerate(rows):
        measured[i] = next((_traffic(w[1:]) for w in row[2:] if w[0] == "@"), measured[i])
    # All published and none read.
    return ClusterLoad(
        brokers=tuple(row[0] for row in rows),
        resource_usage=resources[:, :, 0],
        resource_limit=resources[:, :, 1],
        rate_in=measured[:, 1],
        rate_out=np.zeros(len(rows)),
        throughput_in=measured[:, 0],
        throughput_out=np.zeros(len(rows)),
        bundle_count=np.bincount(owner, minlength=len(rows)),
        bundles=tuple(name for _, name, _, _ in bundles),
        bundle_broker=owner,
        bundle_traffic=partial(
            BundleTraffic,
            rates,
            np.copysign(0.0, rates),
            carried,
            np.copysign(0.0, carried),  # so that -0 stays -0 in the sum
        ),
        bundle_is_sheddable=np.array([ok for *_, ok in bundles], dtype=np.bool_),
    )


def _resources(text: str) -> list[tuple[float, float]]:
    """Read a broker's usage and limit of each resource; what is not named is not reported."""
    try:
        found = {"cpu": (float(text), 1.0)}
    except ValueError:
        pairs = [word.replace("=", ":").split(":") for word in text.split(",")]
        found = {name: _usage_and_limit(value) for name, value in pairs}
    if unknown := set(found) - set(RESOURCES):
        raise ValueError(f"found resource {unknown}, expected {RESOURCES}") from None
    return [found.get(name, (-1.0, -1.0)) for name in RESOURCES]


def _usage_and_limit(text: str) -> tuple[float, float]:
    usage, slash, limit = text.partition("/")
    return float(usage), float(limit) if slash else 1.0


def _bundle(word: str) -> tuple[str, tuple[float, float], bool]:
    name, _, value = word.partition("=")
    traffic, colon, why = value.partition(":")
    if colon and why not in UNSHEDDABLE:
        raise ValueError(f"{word}: found {why!r}, expected one of {UNSHEDDABLE}")
    return name, _traffic(traffic), not colon


def _traffic(text: str) -> tuple[float, float]:
    """Read bytes/s and messages/s."""
    throughput, hash_, rate = text.partition("#")
    is_bytes = throughput.endswith("B")
    carried = float(throughput[:-1]) if is_bytes else float(throughput) * MEBIBYTE
    return carried, float(rate) if hash_ else carried / 1024


def described(load: ClusterLoad) -> str:
    """Say what was set up, and what of it is unlikely to be meant."""
    lines = [f"{len(load.brokers)} brokers, {len(load.bundles)} bundles"]
    busiest = np.max(
        load.resource_usage / np.where(load.resource_limit > 0, load.resource_limit, np.inf),
        axis=1,
        initial=0,
    )
    lines += [
        f"WARNING: {broker} is at {usage:.0%}"
        for broker, usage in zip(load.brokers, busiest, strict=True)
        if usage > 1.5
    ]
    lines += [
        f"WARNING: {bundle} has no traffic"
        for bundle, weight in zip(load.bundles, load.bundle_traffic().throughput_in, strict=True)
        if weight == 0
    ]
    return "\n".join(lines)
