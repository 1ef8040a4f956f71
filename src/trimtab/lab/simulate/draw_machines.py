"""`[[machines]]` → what each broker runs on."""

from __future__ import annotations

import numpy as np

from trimtab.lab.simulate.scenario_keys import Span
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Machines
from trimtab.pulsar.model import MINUTE_S, Floats

#: Cores of the machine whose capacity is 1, at speed 1.
REFERENCE_CORES = 16.0
#: bytes/s.
_GBIT_PER_S = 1e9 / 8
_PORT = 8080


def drawn_machines(scenario: Scenario, chance: np.random.Generator) -> tuple[Machines, Floats]:
    """Return the machines, drawn at random.

    Returns:
        The machines, and (n_brokers,) s by which the traffic of the bundles that each owns
        at first begins later.
    """
    groups, n = scenario.machines, scenario.n_machines

    def spans(name: str) -> Floats:
        return np.concatenate(
            [_between(getattr(group, name), group.count, chance) for group in groups]
        )

    def each(name: str) -> Floats:
        return np.concatenate([np.full(g.count, float(getattr(g, name))) for g in groups])

    speed = spans("speed") * np.exp(each("speed_deviation") * chance.standard_normal(n))
    machines = Machines(
        names=tuple(f"broker-{i}:{_PORT}" for i in range(n)),
        capacity=spans("cores") / REFERENCE_CORES * speed,
        nic=spans("nic_gbit_per_s") * _GBIT_PER_S,
        background=spans("background_percent"),
        background_deviation=each("background_deviation_percent"),
        spikes_per_hour=each("spikes_per_hour"),
        is_up=each("is_up") > 0,
    )
    return machines, spans("traffic_delay_min") * MINUTE_S


def _between(span: Span, count: int, chance: np.random.Generator) -> Floats:
    """Return numbers drawn evenly between two bounds; a single value is not drawn."""
    low, high = span
    return np.full(count, low) if low == high else chance.uniform(low, high, count)
