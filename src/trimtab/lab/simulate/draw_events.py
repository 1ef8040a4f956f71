"""`[[events]]` → what happens to brokers, in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from trimtab.lab.simulate.scenario_checks import member_changes
from trimtab.lab.simulate.scenario_keys import every_of
from trimtab.lab.simulate.scenario_tables import (
    Background,
    Capacity,
    Happening,
    LeaderChange,
    Scenario,
    Shedding,
    Split,
)
from trimtab.lab.simulate.world import Event, Kind
from trimtab.pulsar.model import MINUTE_S, Floats


def events(scenario: Scenario, work: Floats) -> tuple[Event, ...]:
    """Return what happens to brokers, bundles and the balancer, other than changes of traffic.

    What ends is undone by an event of its own.  Split are the heaviest that are whole, by their
    work on average, (n_bundles,).
    """
    heaviest = iter(np.argsort(-work, kind="stable").tolist())
    members = [
        Event(change.time_min * MINUTE_S, change.kind, (change.broker,))
        for change in member_changes(scenario)
    ]
    others = [
        event
        for _, happening in scenario.events
        for event in (
            _splits(happening, heaviest)
            if isinstance(happening, Split)
            else _events(happening, scenario.n_machines)
        )
    ]
    return tuple(sorted([*members, *others], key=lambda event: event.time_s))


def _splits(split: Split, heaviest: Iterator[int]) -> Iterator[Event]:
    for i, bundle in enumerate(islice(heaviest, split.heaviest)):
        yield Event((split.at_min + i * split.every_min) * MINUTE_S, Kind.SPLIT, (bundle,))


def _events(happening: Happening, count: int) -> Iterator[Event]:
    time_s = happening.at_min * MINUTE_S
    if isinstance(happening, LeaderChange):
        yield Event(time_s, Kind.LEADER)
    elif isinstance(happening, Shedding):
        yield Event(time_s, Kind.SHEDDING, value=float(happening.is_on))
    elif isinstance(happening, Background | Capacity):
        brokers = every_of(count, happening.brokers)
        kind, value, undone = (
            (Kind.BACKGROUND, happening.percent, -happening.percent)
            if isinstance(happening, Background)
            else (Kind.CAPACITY, happening.factor, 1 / happening.factor)
        )
        yield Event(time_s, kind, brokers, value)
        if happening.until_min is not None:
            yield Event(happening.until_min * MINUTE_S, kind, brokers, undone)
