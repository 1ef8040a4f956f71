"""How much traffic there is: bundles are scaled so that CPUs stand where a scenario says."""

from __future__ import annotations

import dataclasses

import numpy as np

from trimtab.lab.simulate.draw_bundles import Drawn
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import costs, cpu_demand, work
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Bundles, Machines
from trimtab.pulsar.model import Flags, Floats

#: Logarithms of the factors between which the one is looked for that scales rates as asked.
_LOG_FACTORS = (-20.0, 20.0)
#: Points at which a CPU that is not linear in its work takes as much as one that is.
_FIXED_POINT = 50.0


def works(bundles: Bundles, physics: Physics) -> Floats:
    """Return what each bundle takes on average, percent of a reference machine's CPU."""
    rate_in = bundles.rate[None, :]
    each = work(costs(bundles, physics), rate_in, rate_in * bundles.fan_out)
    return np.asarray(each[0], dtype=np.float64)


def usages(burden: Floats, machines: Machines, physics: Physics) -> Floats:
    """Return where CPUs stand, percent, that hold so much work of bundles."""
    demand = cpu_demand(machines.background, burden / machines.capacity, physics)
    return np.minimum(demand, 100.0)


def loads(usage: Floats, machines: Machines, physics: Physics) -> Floats:
    """Return how much work of bundles makes CPUs stand somewhere.

    Args:
        usage: (n_brokers,) percent.
        machines: what each runs on.
        physics: what work costs.

    Returns:
        (n_brokers,) percent of a reference machine; 0 where other processes take as much.

    Properties:
        What `usages` makes of it is the usage again, where other processes take less.
    """
    c = physics.cpu_convexity
    wanted = usage if c == 0 else (np.sqrt(1 + 4 * c * usage) - 1) / (2 * c)
    load = np.maximum(wanted - machines.background, 0.0)
    if physics.work_exponent != 1.0:
        load = _FIXED_POINT * (load / _FIXED_POINT) ** (1 / physics.work_exponent)
    return load * machines.capacity


def scaled(scenario: Scenario, machines: Machines, drawn: Drawn) -> Bundles:
    """Return the bundles with rates or costs such that there is as much work as asked."""
    bundles, physics = drawn.bundles, scenario.parameters.physics
    wanted = _wanted(scenario, machines)
    if wanted is not None:
        share = wanted / works(bundles, physics).sum()
        bundles = (
            dataclasses.replace(bundles, cost=bundles.cost * share)
            if scenario.traffic.scaled_by == "cost"
            else dataclasses.replace(bundles, rate=_rates(bundles, wanted, physics))
        )
    for i, group in enumerate(scenario.bundles):
        if group.heaviest_cpu_percent is not None:
            bundles = _giant(bundles, drawn.table == i, group.heaviest_cpu_percent, physics)
    return bundles


def fitted(scenario: Scenario, machines: Machines, bundles: Bundles) -> Machines:
    """Return the machines, their NICs fitted to the traffic if the scenario says how full."""
    percent = scenario.traffic.nic_out_percent
    if percent is None:
        return machines
    copies = scenario.parameters.physics.write_quorum + bundles.fan_out
    sent = float((bundles.rate * bundles.message_bytes * copies).sum())
    nic = sent / machines.is_up.sum() / (percent / 100.0)
    return dataclasses.replace(machines, nic=np.full_like(machines.nic, nic))


def _wanted(scenario: Scenario, machines: Machines) -> float | None:
    """Return how much work all bundles should be, percent of a reference machine."""
    traffic, physics = scenario.traffic, scenario.parameters.physics
    if scenario.start.owners == "usage":
        return float(loads(np.array(scenario.start.usage_percent), machines, physics).sum())
    if traffic.cpu_percent is None:
        return None
    each = loads(np.full(len(machines.capacity), traffic.cpu_percent), machines, physics)
    if traffic.of_reference_machines is None:
        return float(each[machines.is_up].sum())
    return float((each / machines.capacity)[0] * traffic.of_reference_machines)


def _rates(bundles: Bundles, wanted: float, physics: Physics) -> Floats:
    """Return the factor by which rates make so much work: the more, the larger their batches."""

    def excess(logarithm: float) -> float:
        rates = bundles.rate * np.exp(logarithm)
        return float(works(dataclasses.replace(bundles, rate=rates), physics).sum()) - wanted

    low, high = _LOG_FACTORS
    # Idle topics cost something too: where that alone is more than asked, nothing is sent.
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if excess(middle) >= 0 else (middle, high)
    return np.asarray(bundles.rate * np.exp(low), dtype=np.float64)


def _giant(bundles: Bundles, which: Flags, percent: float, physics: Physics) -> Bundles:
    """Return bundles of which the heaviest is so heavy, as if more clients of its kind came."""
    work_of = np.where(which, works(bundles, physics), -np.inf)
    giant = np.arange(len(work_of)) == np.argmax(work_of)
    factor = np.where(giant, percent / work_of.max(), 1.0)
    return dataclasses.replace(
        bundles,
        rate=bundles.rate * factor,
        topics=bundles.topics * factor,
        entries_limit=bundles.entries_limit * factor,
    )
