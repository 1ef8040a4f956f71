"""`[[bundles]]` → what is served, before it is scaled and has owners."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.scenario_checks import namespaces
from trimtab.lab.simulate.scenario_tables import BundleGroup, Scenario
from trimtab.lab.simulate.world import Bundles
from trimtab.pulsar.model import MEBIBYTE, Floats, Ints

#: Bundles of a namespace are equal ranges of hashes of 32 bits.
_HASHES = 1 << 32
#: A median is exceeded, and undercut, so many times at most.
_SIZE_RATIO_MAX = 5.0
#: MiB/s of a bundle to which no partition of a task was hashed.
_IDLE_MIB_PER_S = 0.01


@dataclass(frozen=True, slots=True)
class Drawn:
    """Bundles with what they were drawn from."""

    bundles: Bundles
    #: (n_bundles,) table of the file that each stands in.
    table: Ints
    #: Name of a task → (n_bundles,) the share of each bundle's messages that are its.
    shares: Mapping[str, Floats]


def drawn_bundles(scenario: Scenario, chance: np.random.Generator) -> Drawn:
    """Return the bundles, drawn at random; nobody owns them yet."""
    parts = [_drawn(group, i, chance) for i, group in enumerate(scenario.bundles)]
    sizes = [len(part.bundles.names) for part in parts]
    arrays = {
        field.name: np.concatenate([getattr(part.bundles, field.name) for part in parts])
        for field in dataclasses.fields(Bundles)
        if field.name != "names"
    }
    groups = np.cumsum([0, *(int(part.bundles.group.max()) + 1 for part in parts[:-1])])
    arrays["group"] = np.concatenate(
        [part.bundles.group + first for part, first in zip(parts, groups, strict=True)]
    )
    arrays["grace_until_s"] = np.full(sum(sizes), scenario.start.grace_until_min * 60.0)
    names = tuple(name for part in parts for name in part.bundles.names)
    return Drawn(
        bundles=Bundles(names=names, **arrays),
        table=np.repeat(np.arange(len(parts)), sizes),
        shares=_shares(parts, sizes),
    )


def _shares(parts: list[Drawn], sizes: list[int]) -> Mapping[str, Floats]:
    """Return each task's shares over all bundles."""
    nothing = [np.zeros(size) for size in sizes]
    return {
        name: np.concatenate([p.shares.get(name, n) for p, n in zip(parts, nothing, strict=True)])
        for name in dict.fromkeys(name for part in parts for name in part.shares)
    }


def _drawn(group: BundleGroup, position: int, chance: np.random.Generator) -> Drawn:
    """Return the bundles of one table."""
    n = group.count
    rate, size, topics, shares = (
        _of_tasks(group, chance) if group.rates == "tasks" else _of_rates(group, chance)
    )
    noise_group = chance.integers(0, max(1, round(n / group.group_size)), n)
    phases = np.array(group.wave_phases)
    bundles = Bundles(
        names=_names(group, position),
        owner=np.full(n, -1, np.int64),
        rate=rate,
        message_bytes=size,
        fan_out=chance.choice(np.array(group.fan_out), n),
        topics=topics,
        entries_limit=topics * group.entries_per_s * _lognormal(group.entries_sigma, n, chance),
        cost=_lognormal(group.cost_sigma, n, chance) / np.exp(group.cost_sigma**2 / 2),
        jitter=np.full(n, group.jitter),
        group=noise_group,
        wave=np.full(n, group.wave),
        wave_phase=phases[noise_group % len(phases)],
        grace_until_s=np.zeros(n),
    )
    return Drawn(bundles, np.full(n, position), shares)


def _of_rates(
    group: BundleGroup, chance: np.random.Generator
) -> tuple[Floats, Floats, Floats, Mapping[str, Floats]]:
    """Return rates, sizes of messages and topics, each drawn by itself.

    A bundle of large messages has fewer of them, by the root of their size: bytes and
    messages are related, and neither follows from the other.
    """
    n = group.count
    ratio = _lognormal(group.message_sigma, n, chance)
    rate = _rates(group, chance) / np.sqrt(ratio)
    rate *= group.rate_per_s / rate.mean()
    size = group.message_bytes * np.clip(ratio, 1 / _SIZE_RATIO_MAX, _SIZE_RATIO_MAX)
    topics = np.maximum(chance.poisson(group.topics, n), 1).astype(np.float64)
    return rate, size, topics, {}


def _rates(group: BundleGroup, chance: np.random.Generator) -> Floats:
    """Return rates, drawn as multiples of their mean."""
    n = group.count
    if group.rates == "zipf":
        ranks = np.arange(1.0, n + 1, dtype=np.float64)
        return np.asarray(chance.permutation(ranks**-group.exponent), dtype=np.float64)
    if group.rates == "exponential":
        return chance.exponential(1.0, n)
    if group.rates == "equal":
        return np.ones(n)
    mean = np.exp(group.sigma**2 / 2)
    rates = np.minimum(_lognormal(group.sigma, n, chance) / mean, group.clipped_at)
    return np.asarray(rates, dtype=np.float64)


def _of_tasks(
    group: BundleGroup, chance: np.random.Generator
) -> tuple[Floats, Floats, Floats, Mapping[str, Floats]]:
    """Hash the partitions of pressure tests to bundles; a task sends messages of one size."""
    n = group.count
    topics, total = np.zeros(n), np.full(n, _IDLE_MIB_PER_S)
    parts: dict[str, Floats] = {}
    for task in group.tasks:
        hashed = np.bincount(chance.integers(0, n, task.partitions), minlength=n)
        traffic = hashed * (task.mib_per_s / task.partitions)
        topics += hashed
        total += traffic
        if task.name:
            parts[task.name] = np.asarray(traffic, dtype=np.float64)
    size = np.full(n, group.message_bytes)
    rate = total * MEBIBYTE / size
    return rate, size, np.maximum(topics, 1.0), {k: part / total for k, part in parts.items()}


def _names(group: BundleGroup, position: int) -> tuple[str, ...]:
    """Return the bundles' names, as Pulsar names those of a namespace cut into so many."""
    spaces = namespaces(group, position)
    counts = [len(part) for part in np.array_split(np.arange(group.count), len(spaces))]
    return tuple(
        f"{space}/0x{_edge(i, count):08x}_0x{_edge(i + 1, count):08x}"
        for space, count in zip(spaces, counts, strict=True)
        for i in range(count)
    )


def _edge(i: int, count: int) -> int:
    """Return the i-th edge between `count` equal ranges; the last is the last hash itself."""
    return _HASHES - 1 if i == count else _HASHES // count * i


def _lognormal(sigma: float, n: int, chance: np.random.Generator) -> Floats:
    """Return random numbers whose median is 1."""
    return np.exp(sigma * chance.standard_normal(n))
