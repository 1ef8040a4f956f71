"""The few moves that bring the busiest brokers down: one after the other, each the best now."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from trimtab.live.control.drain import BrokerState, Frame
from trimtab.live.control.plan import Expected, Interval, Plan, PlannedMove

#: A bundle may cost half as much again on another machine, or half as little.
_COST_DOUBT = 0.5


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a plan."""

    moves_max: int
    #: Points of usage that a move must take off the busier of its two brokers.
    gain_min: float = 1.0
    #: Points by which a usage may differ from what is expected by chance alone.
    tolerance: float = 10.0


@dataclass(frozen=True, slots=True)
class Levelled:
    """A plan, and what is expected after each of its moves and before the first."""

    plan: Plan
    #: %, (moves + 1) each: the highest usage, and the lowest.
    highest: tuple[float, ...]
    lowest: tuple[float, ...]


def levelling(
    brokers: Mapping[str, BrokerState], takers: Collection[str], wish: Wish, frame: Frame
) -> Levelled:
    """Return moves from the busiest broker to the least busy one that may take, one by one.

    Of the bundles of the busiest that one is moved which leaves the higher of the two
    lowest.  It costs its share of the traffic of its broker, there as here.  A broker whose
    usage is not known is left alone.

    Properties:
        The highest usage that is expected never rises from move to move.
        No bundle is moved twice.
        The same states give the same plan.
    """
    usage = {
        name: state.usage_percent
        for name, state in sorted(brokers.items())
        if not math.isnan(state.usage_percent)
    }
    left = {name: _costs(brokers[name]) for name in usage}
    moves: list[PlannedMove] = []
    highest, lowest = [max(usage.values())], [min(usage.values())]
    while len(moves) < wish.moves_max:
        best = _best(usage, left, takers, wish.gain_min)
        if best is None:
            break
        bundle, source, destination = best
        cost = left[source].pop(bundle)
        traffic = brokers[source].bundles[bundle]
        before = _Usages(usage[source], usage[destination])
        after = _Usages(before.source - cost, before.destination + cost)
        usage[source], usage[destination] = after
        moves.append(_move(best, traffic, before, after, wish.tolerance))
        highest.append(max(usage.values()))
        lowest.append(min(usage.values()))
    return Levelled(frame.around(tuple(moves)), tuple(highest), tuple(lowest))


class _Best(NamedTuple):
    """The best move."""

    bundle: str
    source: str
    destination: str


class _Usages(NamedTuple):
    """Percent that both brokers of a move stand at."""

    source: float
    destination: float


def _costs(state: BrokerState) -> dict[str, float]:
    """Return how many points each bundle costs where it is; one without traffic costs none."""
    total = sum(state.bundles.values())
    return {
        bundle: state.usage_percent * traffic / total
        for bundle, traffic in state.bundles.items()
        if traffic > 0
    }


def _best(
    usage: Mapping[str, float],
    left: Mapping[str, Mapping[str, float]],
    takers: Collection[str],
    gain_min: float,
) -> _Best | None:
    """Return bundle, source and destination of the best move; None if none gains enough."""
    source = max(usage, key=lambda name: (usage[name], name))
    possible = [name for name in usage if name in takers and name != source]
    if not possible or not left[source]:
        return None
    destination = min(possible, key=lambda name: (usage[name], name))

    def higher(bundle: str) -> float:
        cost = left[source][bundle]
        return max(usage[source] - cost, usage[destination] + cost)

    bundle = min(left[source], key=lambda name: (higher(name), name))
    return (
        _Best(bundle, source, destination) if usage[source] - higher(bundle) >= gain_min else None
    )


def _move(
    move: _Best, traffic: float, before: _Usages, after: _Usages, tolerance: float
) -> PlannedMove:
    doubt = _COST_DOUBT * (before.source - after.source)
    return PlannedMove(
        bundle=move.bundle,
        source=move.source,
        destination=move.destination,
        reason=(
            f"{move.source} stands highest at {before.source:.0f} %, {move.destination} lowest at "
            f"{before.destination:.0f} %; then they stand at about {after.source:.0f} and "
            f"{after.destination:.0f} %"
        ),
        traffic_bytes_s=traffic,
        before=Expected(*(_around(usage, tolerance) for usage in before)),
        after=Expected(*(_around(usage, tolerance + doubt) for usage in after)),
    )


def _around(percent: float, points: float) -> Interval:
    return round(max(0.0, percent - points), 1), round(percent + points, 1)
