"""When traffic begins, `traffic` and `bursts` → changes of bundles' traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trimtab.lab.simulate.draw_bundles import Drawn
from trimtab.lab.simulate.draw_scale import works
from trimtab.lab.simulate.scenario_tables import Bursts, Scenario, TrafficChange
from trimtab.lab.simulate.world import Change
from trimtab.pulsar.model import MINUTE_S, Floats, Ints

#: Steps in which traffic rises when it begins.
_STEPS = 5
#: A burst multiplies traffic so many times at most.
_BURST_MAX = 40.0
#: Percent: bundles that cost less are not taken as costing less when a burst is measured.
_BURST_WORK_MIN = 0.3


def drawn_changes(
    scenario: Scenario, drawn: Drawn, delay_s: Floats, chance: np.random.Generator
) -> tuple[Change, ...]:
    """Return all changes of traffic, drawn at random.

    That of the bundles that a broker owns at first begins by `delay_s`, (n_brokers,), later.
    """
    changes = list(_beginnings(scenario, drawn.bundles.owner, delay_s))
    for _, event in scenario.events:
        if isinstance(event, TrafficChange):
            changes += _traffic(scenario, drawn, event, chance)
        elif isinstance(event, Bursts):
            changes += _bursts(scenario, drawn, event, chance)
    return tuple(changes)


# ------------------------------------------------------------------ the beginning


def _beginnings(scenario: Scenario, owner: Ints, delay_s: Floats) -> Iterator[Change]:
    """Yield changes that keep bundles silent until their traffic begins, and let it rise."""
    begins = scenario.traffic.from_min * MINUTE_S + delay_s[owner]
    step_s = scenario.traffic.ramp_s / _STEPS
    for time in np.unique(begins[begins > 0]):
        bundles = np.flatnonzero(begins == time)
        yield Change(bundles, 0.0, float(time), 0.0, 0.0)
        for step in range(_STEPS if step_s else 0):
            part = (step + 0.5) / _STEPS
            from_s = float(time) + step * step_s
            yield Change(bundles, from_s, from_s + step_s, part, part)


# ------------------------------------------------------------------ events


def _traffic(
    scenario: Scenario, drawn: Drawn, event: TrafficChange, chance: np.random.Generator
) -> Iterator[Change]:
    """Yield changes of the traffic of the bundles that an event is about."""
    share = _concerned(scenario, drawn, event, chance)
    for part in np.unique(share[share > 0]):

        def mixed(factor: float, part: float = float(part)) -> float:
            """Return the factor of the whole if a factor works on a part of the traffic."""
            return 1 - part + part * factor

        yield Change(
            bundles=np.flatnonzero(share == part),
            from_s=event.at_min * MINUTE_S,
            to_s=math.inf if event.until_min is None else event.until_min * MINUTE_S,
            factor_in=mixed(event.factor),
            factor_out=mixed(event.factor * event.factor_out),
            ramp_s=event.ramp_min * MINUTE_S,
            period_s=event.period_min * MINUTE_S,
            duty=event.duty,
            off_in=mixed(event.off_factor),
            off_out=mixed(event.off_factor * event.off_factor_out),
        )


def _concerned(
    scenario: Scenario, drawn: Drawn, event: TrafficChange, chance: np.random.Generator
) -> Floats:
    """Return which share of each bundle's traffic an event is about."""
    bundles, n = drawn.bundles, scenario.n_bundles
    if event.task:
        return drawn.shares[event.task]
    chosen = np.ones(n, bool)
    if event.namespace:
        chosen = np.array([name.rpartition("/")[0] == event.namespace for name in bundles.names])
    elif event.of_brokers is not None:
        chosen = np.isin(bundles.owner, event.of_brokers)
    elif event.heaviest:
        order = np.argsort(-works(bundles, scenario.parameters.physics), kind="stable")
        chosen = np.isin(np.arange(n), order[: event.heaviest])
    elif event.at_random:
        chosen = np.isin(np.arange(n), chance.choice(n, event.at_random, replace=False))
    return chosen.astype(np.float64)


def _bursts(
    scenario: Scenario, drawn: Drawn, event: Bursts, chance: np.random.Generator
) -> Iterator[Change]:
    """Yield bursts of some bundles of one broker, another each time."""
    work, owner = works(drawn.bundles, scenario.parameters.physics), drawn.bundles.owner
    time_min = event.at_min
    while time_min < event.until_min:
        mine = np.flatnonzero(owner == chance.choice(np.unique(owner)))
        bundles = np.sort(chance.choice(mine, min(event.bundles, len(mine)), replace=False))
        added = chance.uniform(*event.cpu_percent)
        factor = 1 + added / max(float(work[bundles].sum()), _BURST_WORK_MIN)
        factor = min(factor, _BURST_MAX)
        lasting_min = chance.uniform(*event.lasting_min)
        yield Change(
            bundles=bundles,
            from_s=time_min * MINUTE_S,
            to_s=(time_min + lasting_min) * MINUTE_S,
            factor_in=factor,
            factor_out=factor,
        )
        time_min += chance.uniform(*event.every_min)
