"""`[start]` → who owns what when the simulation begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from trimtab.lab.simulate.draw_bundles import Drawn
from trimtab.lab.simulate.draw_scale import loads, usages, works
from trimtab.lab.simulate.scenario import ScenarioError
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Machines
from trimtab.pulsar.model import Flags, Floats, Ints

#: Draws after which no start is looked for any more.
DRAWS_MAX = 2000


@dataclasses.dataclass(frozen=True, slots=True)
class _Lot:
    """What owners are chosen by."""

    scenario: Scenario
    machines: Machines
    drawn: Drawn
    #: (n_bundles,) percent of a reference machine's CPU.
    work: Floats
    #: (n_tables, n_brokers) the bundles of a table of the file may begin there.
    may: Flags
    chance: np.random.Generator


def drawn_owners(
    scenario: Scenario, machines: Machines, drawn: Drawn, chance: np.random.Generator
) -> Ints:
    """Return owners chosen as `[start]` has it.

    Returns:
        (n_bundles,) positions of machines that run from the beginning.

    Raises:
        ScenarioError: no draw of DRAWS_MAX is as far apart as the scenario asks.
    """
    start = scenario.start
    work = works(drawn.bundles, scenario.parameters.physics)
    lot = _Lot(scenario, machines, drawn, work, _may(scenario, machines), chance)
    owner = _apart(lot)
    owner = _gathered(lot, owner)
    return _hottest_first(lot, owner) if start.is_hottest_first else owner


def _apart(lot: _Lot) -> Ints:
    """Return owners with whom CPUs are as far apart as the scenario asks."""
    start = lot.scenario.start
    if start.spread_percent is None and start.usage_percent_max >= 100.0:
        return _HOW[start.owners](lot)
    low, high = start.spread_percent or (0.0, 100.0)
    attempts = []
    for _ in range(DRAWS_MAX):
        owner = _HOW[start.owners](lot)
        usage = _usage(lot, owner)[lot.machines.is_up]
        attempts.append((float(np.ptp(usage)), float(usage.max())))
        if low <= attempts[-1][0] <= high and attempts[-1][1] <= start.usage_percent_max:
            return owner
    spreads, highest = zip(*attempts, strict=True)
    raise ScenarioError(
        f"{lot.scenario.origin}: start.spread_percent: found [{low:g}, {high:g}] and at most "
        f"{start.usage_percent_max:g}, expected what one of {DRAWS_MAX} draws has: they are "
        f"{min(spreads):.1f} to {max(spreads):.1f} apart, at most {min(highest):.1f} or more"
    )


def _may(scenario: Scenario, machines: Machines) -> Flags:
    """Return the bundles of which table may begin on which machines."""
    may = np.tile(machines.is_up, (len(scenario.bundles), 1))
    for i, group in enumerate(scenario.bundles):
        if group.starts_on is not None:
            may[i] &= np.isin(np.arange(scenario.n_machines), group.starts_on)
    return may


def _usage(lot: _Lot, owner: Ints) -> Floats:
    burden = np.bincount(owner, lot.work, len(lot.machines.capacity)).astype(np.float64)
    return usages(burden, lot.machines, lot.scenario.parameters.physics)


# ------------------------------------------------------------------ ways


def _balanced(lot: _Lot) -> Ints:
    """Return owners: each bundle, the heaviest first, goes to the machine that it fills least.

    What the bundles cost is misjudged a little, as it always is.
    """
    judged = lot.work * np.exp(lot.scenario.start.noise * lot.chance.standard_normal(len(lot.work)))
    return _filled(lot, judged, lot.machines.background, lot.machines.capacity)


def _by_rate(lot: _Lot) -> Ints:
    """Return owners that share messages/s evenly, whatever they cost and whoever serves them."""
    bundles = lot.drawn.bundles
    rate = bundles.rate * (1 + bundles.fan_out)
    owner = _gathered(lot, np.full(len(rate), -1, np.int64))
    width = np.ones(len(lot.machines.capacity))
    return _filled(lot, rate, np.zeros(len(width)), width, owner)


def _filled(
    lot: _Lot, size: Floats, level: Floats, width: Floats, owner: Ints | None = None
) -> Ints:
    """Return owners: bundles, the largest first, go to where the level is lowest with it."""
    owner = np.full(len(size), -1, np.int64) if owner is None else owner
    heights = level + np.bincount(owner[owner >= 0], size[owner >= 0], len(level)) / width
    for i in np.argsort(-size, kind="stable"):
        if owner[i] < 0:
            reached = np.where(lot.may[lot.drawn.table[i]], heights + size[i] / width, np.inf)
            owner[i] = np.argmin(reached)
            heights[owner[i]] = reached[owner[i]]
    return owner


def _by_count(lot: _Lot) -> Ints:
    """Return owners with as many bundles each, of those that they may have."""
    owner = np.full(len(lot.work), -1, np.int64)
    rank = lot.chance.permutation(len(lot.machines.capacity))
    count = np.zeros(len(rank))
    for i in lot.chance.permutation(len(owner)):
        owner[i] = np.lexsort((rank, np.where(lot.may[lot.drawn.table[i]], count, np.inf)))[0]
        count[owner[i]] += 1
    return owner


def _at_random(weigh: Callable[[Floats], Floats]) -> Callable[[_Lot], Ints]:
    """Return a function that draws owners, with a weight for each machine by its number from 1."""

    def draw(lot: _Lot) -> Ints:
        weights = lot.may * weigh(np.arange(1.0, len(lot.machines.capacity) + 1))
        points = lot.chance.random(len(lot.work))
        owner = np.empty(len(points), np.int64)
        for i, edges in enumerate(np.cumsum(weights, axis=1)):
            mine = lot.drawn.table == i
            owner[mine] = np.searchsorted(edges, points[mine] * edges[-1], side="right")
        return owner

    return draw


def _to_usage(lot: _Lot) -> Ints:
    """Return owners: each bundle, heaviest first, goes to who lacks most of its target."""
    start, machines = lot.scenario.start, lot.machines
    lack = loads(np.array(start.usage_percent), machines, lot.scenario.parameters.physics)
    owner = np.full(len(lot.work), -1, np.int64)
    for i in np.argsort(-lot.work, kind="stable"):
        owner[i] = np.argmax(np.where(lot.may[lot.drawn.table[i]], lack, -np.inf))
        lack[owner[i]] -= lot.work[i]
    return owner


def _to_counts(lot: _Lot) -> Ints:
    """Return owners with so many bundles each, whichever."""
    counts = lot.scenario.start.counts
    return lot.chance.permutation(np.repeat(np.arange(len(counts)), counts))


_HOW: Mapping[str, Callable[[_Lot], Ints]] = {
    "balanced": _balanced,
    "count": _by_count,
    "rate": _by_rate,
    "random": _at_random(np.ones_like),
    "linear": _at_random(lambda number: number),
    "square": _at_random(lambda number: 2 * number - 1),
    "usage": _to_usage,
    "counts": _to_counts,
    "explicit": lambda lot: np.array(lot.scenario.start.explicit, np.int64),
}


# ------------------------------------------------------------------ afterwards


def _gathered(lot: _Lot, owner: Ints) -> Ints:
    """Return owners: so many of a task's heaviest bundles on machine 0, and no other of them."""
    start = lot.scenario.start
    if not start.gathered:
        return owner
    share = lot.drawn.shares[start.gathered_task] * lot.drawn.bundles.rate
    mine = np.argsort(-share, kind="stable")[: np.count_nonzero(share)]
    others = np.flatnonzero(lot.machines.is_up)[1:]
    owner = owner.copy()
    owner[mine[: start.gathered]] = 0
    for i, bundle in enumerate(mine[start.gathered :]):
        owner[bundle] = others[i % len(others)]
    return owner


def _hottest_first(lot: _Lot, owner: Ints) -> Ints:
    """Return owners with machine 0 and the most loaded one in each other's place."""
    up = np.flatnonzero(lot.machines.is_up)
    hottest = up[np.argmax(_usage(lot, owner)[up])]
    swapped = owner.copy()
    swapped[owner == hottest], swapped[owner == up[0]] = up[0], hottest
    return swapped
