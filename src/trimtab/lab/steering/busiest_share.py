"""The plain strategy that cleverer ones are held against: relieve the busiest by its share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np

from trimtab.lab.costs.look import has_measured
from trimtab.lab.steering.view import Answer, Asked, Command, View
from trimtab.pulsar.model import Floats, Ints

Array = TypeVar("Array", bound=np.ndarray[Any, Any])


@dataclass(frozen=True, slots=True)
class Settings:
    """What it goes by."""

    #: Points between the busiest and the idlest broker from which one bundle is moved.
    spread_points: float = 15.0


@dataclass(frozen=True, slots=True)
class Memory:
    """The last report of each broker; arrays are of brokers or of bundles."""

    #: Percent of CPU or of the NIC, whichever is fuller; NaN for a broker that has not reported
    #: since it is there.
    usage: Floats
    #: Bytes/s in and out, and the broker whose report said so last, or that it was sent to since.
    traffic: Floats
    owner: Ints


def busiest_share(view: View, memory: Memory | None, settings: Settings) -> tuple[Answer, Memory]:
    """Return one bundle to move from the busiest broker to the idlest, or why there is none.

    A bundle is taken to use its share of its broker's traffic of what the broker uses, and to use
    as much anywhere: what Pulsar's shedders assume.  Of the bundles of the busiest that which
    comes nearest to half the difference is moved, one a step.
    """
    memory = _heard(view, memory)
    levels = np.where(view.is_there, memory.usage, np.nan)
    known = np.flatnonzero(~np.isnan(levels))
    if known.size < 2:
        return _silent("fewer than two brokers have reported", levels), memory
    high = int(known[np.argmax(levels[known])])
    low = int(known[np.argmin(levels[known])])
    apart = float(levels[high] - levels[low])
    if apart <= settings.spread_points:
        return _silent(f"the spread of {apart:.0f} points is within bounds", levels), memory
    points = shares(memory)
    can = np.flatnonzero((memory.owner == high) & view.is_movable)
    can = can[(points[can] > 0) & (points[can] < apart)]
    if can.size == 0:
        return _silent("no bundle of the busiest would make it better", levels), memory
    bundle = int(can[np.argmin(np.abs(points[can] - apart / 2))])
    reason = (
        f"the busiest, {levels[high]:.0f} %, gives {points[bundle]:.0f} points, its share of the"
        f" traffic, to the idlest, {levels[low]:.0f} %"
    )
    command = Command(bundle, high, low, reason)
    return Answer((command,), (), reason, (), levels), _sent(memory, bundle, low, points)


def place(asked: Asked, memory: Memory | None, settings: Settings) -> tuple[int, Memory | None]:
    """Return the candidate that uses least; what is sent there counts from now on."""
    del settings
    if memory is None:
        return int(asked.candidates[0]), None
    usage = np.nan_to_num(memory.usage[asked.candidates])
    target = int(asked.candidates[np.argmin(usage)])
    return target, _sent(memory, asked.bundle, target, shares(memory))


def shares(memory: Memory) -> Floats:
    """Return the points that each bundle uses by its share of its owner's traffic."""
    owned = memory.owner >= 0
    place = np.maximum(memory.owner, 0)
    total = np.bincount(place[owned], memory.traffic[owned], memory.usage.size)[place]
    points = np.nan_to_num(memory.usage)[place] * memory.traffic
    return np.divide(points, total, out=np.zeros(points.size), where=owned & (total > 0))


def _silent(reason: str, levels: Floats) -> Answer:
    return Answer((), (), reason, (), levels)


def _heard(view: View, memory: Memory | None) -> Memory:
    """Return the memory with what the reports of a view say, and without who has left."""
    n, m = len(view.brokers), len(view.bundles)
    if memory is None:
        memory = Memory(np.full(n, np.nan), np.zeros(m), np.full(m, -1))
    look = view.look
    usage = _longer(memory.usage, n, np.nan)
    traffic, owner = _longer(memory.traffic, m, 0.0), _longer(memory.owner, m, -1)
    usage[~view.is_there] = np.nan
    measured = has_measured(look.cpu)
    busiest = np.maximum(look.cpu, view.network.percent.max(axis=1, initial=0.0))
    usage[look.broker[measured]] = busiest[measured]
    traffic[look.bundle] = look.counts[:, 2] + look.counts[:, 3]
    owner[look.bundle] = look.broker[look.report]
    owner[look.moved] = look.moved_to
    return Memory(usage, traffic, owner)


def _longer(values: Array, size: int, other: float) -> Array:
    """Return a copy with as many places as there are names now."""
    longer = np.full(size, other, values.dtype)
    longer[: values.size] = values
    return cast(Array, longer)


def _sent(memory: Memory, bundle: int, target: int, points: Floats) -> Memory:
    """Return the memory with a bundle at its new owner: reports will say so later."""
    usage, owner = memory.usage.copy(), memory.owner.copy()
    source = int(owner[bundle])
    if source >= 0:
        usage[source] -= points[bundle]
    usage[target] += points[bundle]
    owner[bundle] = target
    return replace(memory, usage=usage, owner=owner)
