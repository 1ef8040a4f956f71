"""A scenario and a seed → a world: everything that is left to chance is drawn, once."""

from __future__ import annotations

import dataclasses

import numpy as np

from trimtab.lab.simulate.draw_bundles import drawn_bundles
from trimtab.lab.simulate.draw_changes import drawn_changes
from trimtab.lab.simulate.draw_events import events
from trimtab.lab.simulate.draw_owners import drawn_owners
from trimtab.lab.simulate.draw_scale import fitted, scaled, works
from trimtab.lab.simulate.scenario_keys import Span
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Machines, World
from trimtab.pulsar.model import MINUTE_S, Floats

#: Cores of the machine whose capacity is 1, at speed 1.
REFERENCE_CORES = 16.0
#: bytes/s.
_GBIT_PER_S = 1e9 / 8
_PORT = 8080


def drawn(scenario: Scenario, seed: int) -> World:
    """Return a world, drawn by its seed.

    Machines, bundles, owners and what happens are drawn from streams of their own, so a
    change of one table of a scenario leaves what is drawn for the others as it was.

    Returns:
        The world; bundles in the order of the file.  `[traffic]` and `[start]` hold for
        the traffic as it is on average, without noise, waves and events.

    Raises:
        ScenarioError: no owners were found that stand as far apart as `[start]` asks.

    Properties:
        The same bytes for the same scenario and seed.
        Every owner is a machine that runs from the beginning.
    """
    streams = [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(4)]
    machines, delay_s = drawn_machines(scenario, streams[0])
    draw = drawn_bundles(scenario, streams[1])
    bundles = scaled(scenario, machines, draw)
    machines = fitted(scenario, machines, bundles)
    owner = drawn_owners(scenario, machines, dataclasses.replace(draw, bundles=bundles), streams[2])
    bundles = dataclasses.replace(bundles, owner=owner)
    draw = dataclasses.replace(draw, bundles=bundles)
    return World(
        machines=machines,
        bundles=bundles,
        changes=drawn_changes(scenario, draw, delay_s, streams[3]),
        events=events(scenario, works(bundles, scenario.parameters.physics)),
        duration_s=scenario.run.minutes * MINUTE_S,
        event_s=scenario.run.event_at_min * MINUTE_S,
        seed=seed,
    )


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
    cores = spans("cores")
    machines = Machines(
        names=tuple(f"broker-{i}:{_PORT}" for i in range(n)),
        capacity=cores / REFERENCE_CORES * speed,
        nic=spans("nic_gbit_per_s") * _GBIT_PER_S,
        background=spans("background_percent"),
        background_deviation=each("background_deviation_percent"),
        spikes_per_hour=each("spikes_per_hour"),
        is_up=each("is_up") > 0,
        cores=cores,
    )
    return machines, spans("traffic_delay_min") * MINUTE_S


def _between(span: Span, count: int, chance: np.random.Generator) -> Floats:
    """Return numbers drawn evenly between two bounds; a single value is not drawn."""
    low, high = span
    return np.full(count, low) if low == high else chance.uniform(low, high, count)
