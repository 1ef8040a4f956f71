"""Bundles that will be split: their halves are there from the beginning, and carry nothing yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.traffic import Splits
from trimtab.lab.simulate.world import Bundles, Event, Kind, World
from trimtab.pulsar.model import Floats, Ints

_NEVER = np.iinfo(np.int64).max


def with_children(
    world: World, physics: Physics
) -> tuple[World, Splits | None, dict[int, tuple[int, int]]]:
    """Return a world with the halves of all bundles that will be split behind the others.

    A half has half of the traffic and of the topics.  A split takes place at the end of a
    step of traffic.

    Returns:
        The world with them, how traffic is divided, and bundle → its halves.
    """
    splits = [event for event in world.events if event.kind is Kind.SPLIT]
    if not splits:
        return world, None, {}
    count = len(world.bundles.names)
    origin, share = list(range(count)), [1.0] * count
    born, gone = [0] * count, [_NEVER] * count
    names, halves = list(world.bundles.names), dict[int, tuple[int, int]]()
    for event in splits:
        step = math.ceil(event.time_s / physics.traffic_step_s)
        for parent in event.subjects:
            if parent in halves:
                continue
            halves[parent] = (len(names), len(names) + 1)
            gone[parent] = step
            names += half_names(names[parent])
            origin += [origin[parent]] * 2
            share += [share[parent] / 2] * 2
            born += [step] * 2
            gone += [_NEVER] * 2
    divided = Splits(
        origin=np.array(origin, np.int64),
        share=np.array(share, np.float64),
        born=np.array(born, np.int64),
        gone=np.array(gone, np.int64),
    )
    events = tuple(_on_step(event, physics) for event in world.events)
    ordered = tuple(sorted(events, key=lambda event: event.time_s))
    bundles = _with(world.bundles, names, divided.origin, divided.share)
    return replace(world, bundles=bundles, events=ordered), divided, halves


def half_names(name: str) -> tuple[str, str]:
    """Return the names of a bundle's halves.

    >>> half_names("t/n/0x00000000_0x80000000")
    ('t/n/0x00000000_0x40000000', 't/n/0x40000000_0x80000000')
    """
    namespace, _, hashes = name.rpartition("/")
    low, high = (int(text, 16) for text in hashes.split("_"))
    middle = low + (high - low + 1) // 2
    return (
        f"{namespace}/0x{low:08x}_0x{middle:08x}",
        f"{namespace}/0x{middle:08x}_0x{high:08x}",
    )


def _on_step(event: Event, physics: Physics) -> Event:
    """Return a split at the end of the step of traffic in which it stands."""
    if event.kind is not Kind.SPLIT:
        return event
    step = math.ceil(event.time_s / physics.traffic_step_s)
    return replace(event, time_s=step * physics.traffic_step_s)


def _with(bundles: Bundles, names: Sequence[str], origin: Ints, share: Floats) -> Bundles:
    """Return bundles with the halves behind, which have what the bundles they came from have."""
    columns = {}
    for column in fields(Bundles):
        if column.name != "names":
            columns[column.name] = getattr(bundles, column.name)[origin]
    count = len(bundles.names)
    owner = columns["owner"].copy()
    owner[count:] = -1
    columns["owner"] = owner
    for name in ("rate", "topics", "entries_limit"):
        columns[name] = columns[name] * share
    return Bundles(names=tuple(names), **columns)
