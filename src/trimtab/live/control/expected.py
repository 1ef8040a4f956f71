"""Moves in their order, and learned costs → between what usages both brokers of each should stand.

Each broker has an interval of its own, as wide as what is known of its costs, its level and
its windows leaves it.  It is of its busiest resource, as guards see it; where that may be one
whose costs are not learned, the upper end is open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs import Knowledge, predicted
from trimtab.lab.costs.arithmetic import half_width
from trimtab.lab.costs.by_name import broker_positions, bundle_positions
from trimtab.lab.costs.knowledge import with_bundles
from trimtab.lab.costs.predict import unmoved
from trimtab.live.control.plan import Expected, Interval

#: So many usages lie in their interval if the model is right: a plan of three moves asks for
#: twelve of them, and one outside stops it.
SHARE = 0.99
_HALF = half_width(SHARE)
# Upper end, percent, where another resource than the CPU may be busiest.
_OPEN = 100.0


class Step(NamedTuple):
    """One bundle, from one broker to another."""

    bundle: str
    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What is known of costs, and what is not learned."""

    known: Knowledge
    #: Broker → percent of its busiest resource besides the CPU.
    others: Mapping[str, float] = field(default_factory=dict)
    #: How much the CPU counts in the usage of a broker.
    cpu_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What is expected of one move, if those before it were made."""

    before: Expected
    after: Expected
    #: Points that the source is to be rid of; NaN if that is not known, or its CPU not busiest.
    relief: float


def effects(costs: Costs, steps: Sequence[Step], every_s: float) -> Iterator[Effect]:
    """Yield what is expected of each move.

    Args:
        costs: what is known.
        steps: moves in their order, each bundle once.
        every_s: s between a move and the look at its effect.

    Properties:
        After a move an interval reaches back to where the broker stood before it: what is
        read may be a mean over both.
        Of brokers without a level nothing is expected, nor of those that a bundle of unknown
        traffic comes to or leaves.
    """
    known = _as_planned(costs.known, steps)
    brokers = sorted({name for step in steps for name in step[1:]})
    before = _usages(known, steps[:0], brokers, 0.0)
    for count, step in enumerate(steps, start=1):
        after = _usages(known, steps[:count], brokers, every_s * count)
        ends = [
            (_interval(costs, name, before), _interval(costs, name, after)) for name in step[1:]
        ]
        is_cpu = costs.others.get(step.source, 0.0) <= before[step.source].percent
        yield Effect(
            Expected(*(first for first, _ in ends)),
            Expected(*(_both(*each) for each in ends)),
            before[step.source].percent - after[step.source].percent if is_cpu else math.nan,
        )
        before = after


def forecast(costs: Costs, brokers: Sequence[str], ahead_s: float) -> dict[str, Interval]:
    """Return between what usages brokers will stand if nothing is moved, as guards see usage.

    Of brokers without a level nothing is foretold.
    """
    usages = _usages(costs.known, (), brokers, ahead_s)
    intervals = {name: _interval(costs, name, usages) for name in brokers}
    return {name: ends for name, ends in intervals.items() if ends is not None}


class _Usage(NamedTuple):
    """Percent of CPU, and by how much one window may be off; NaN if that is not known."""

    percent: float
    deviation: float


def _as_planned(known: Knowledge, steps: Sequence[Step]) -> Knowledge:
    """Return what is known with bundles where the moves take them from."""
    bundle = bundle_positions(known, [step.bundle for step in steps])
    source = broker_positions(known, [step.source for step in steps])
    owner = known.bundles.owner.copy()
    owner[bundle[bundle >= 0]] = source[bundle >= 0]
    return with_bundles(known, owner=owner)


def _usages(
    known: Knowledge, steps: Sequence[Step], brokers: Sequence[str], horizon_s: float
) -> dict[str, _Usage]:
    """Return what brokers use after some moves, and some time."""
    bundle = bundle_positions(known, [step.bundle for step in steps])
    to = broker_positions(known, [step.destination for step in steps])
    # What is not known stands at -1, and so at the end.
    is_known = np.append(known.bundles.windows, 0.0)[bundle] > 0
    at = broker_positions(known, brokers)
    moved = predicted(known, bundle[is_known], to[is_known], horizon_s)
    still = unmoved(known, np.setdiff1d(at[at >= 0], moved.broker), horizon_s)
    usages = dict.fromkeys(brokers, _Usage(math.nan, math.nan))
    for each in (moved, still):
        variance = each.deviation**2 + known.brokers.window_variance[each.broker]
        rows = zip(each.broker.tolist(), each.after.tolist(), np.sqrt(variance), strict=True)
        for broker, percent, deviation in rows:
            usages[known.broker_names[broker]] = _Usage(percent, float(deviation))
    for step, is_of_known in zip(steps, is_known.tolist(), strict=True):
        if not is_of_known:
            usages |= dict.fromkeys(step[1:], _Usage(math.nan, math.nan))
    return usages


def _interval(costs: Costs, broker: str, usages: Mapping[str, _Usage]) -> Interval | None:
    percent, deviation = usages[broker]
    if math.isnan(percent + deviation):
        return None
    low, high = (percent + sign * _HALF * deviation for sign in (-1.0, 1.0))
    low, high = (costs.cpu_weight * min(max(each, 0.0), 100.0) for each in (low, high))
    is_cpu = costs.others.get(broker, 0.0) <= low
    return round(low, 1), round(high if is_cpu else _OPEN, 1)


def _both(first: Interval | None, then: Interval | None) -> Interval | None:
    """Return the interval from the lower end of two to the higher one."""
    if first is None or then is None:
        return None
    return min(first[0], then[0]), max(first[1], then[1])
