"""How high brokers will stand once a whole plan is done, judged before its first move."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.live.control.drain import BrokerState, Frame, emptying
from trimtab.live.control.plan import Interval, PlannedMove

_WHOLE = 100.0
#: Of sums of shares, points.
_ROUNDING = 1e-6
#: So many more brokers are tried.
_SPARES_MAX = 12
#: Of many brokers above the bar so many are named.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Outlook:
    """One broker that takes bundles, now and once all moves are made."""

    broker: str
    #: %; NaN if it is not known.
    now: float
    then: Interval

    def is_within(self, bar_percent: float) -> bool:
        """Return whether it is sure to stay at a bar or below it."""
        return self.then[1] <= bar_percent + _ROUNDING


def outlooks(
    moves: Iterable[PlannedMove], brokers: Mapping[str, BrokerState]
) -> tuple[Outlook, ...]:
    """Return how high each destination will stand, the highest first.

    A bundle costs where it goes what it costs where it is, by the speed of both: what was
    learned of it, or else its share of the traffic of its broker, at most of all that the
    broker uses, and at least of what is left of that without what an idle broker uses, which
    is no more than the least busy one does.

    Args:
        moves: of a plan.
        brokers: the states of their sources and destinations.

    Properties:
        More moves never lower either end.
        A source or destination whose usage is not known gives an interval of NaN.
    """
    known = [each.usage_percent for each in brokers.values() if each.usage_percent >= 0.0]
    idle = min(known, default=0.0)
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    for move in moves:
        taker = move.destination
        least, most = _points(brokers[move.source], move.bundle, idle)
        slower = brokers[taker].speed / brokers[move.source].speed
        low[taker] = low.get(taker, 0.0) + least * slower
        high[taker] = high.get(taker, 0.0) + most * slower
    takers = [
        Outlook(name, now, (now + low[name], now + high[name]))
        for name in high
        for now in [brokers[name].usage_percent]
    ]
    return tuple(sorted(takers, key=lambda each: (-_or_most(each.then[1]), each.broker)))


def refusal(takers: Sequence[Outlook], bar_percent: float) -> str:
    """Return why a plan is not to be begun for want of headroom; empty if it may be.

    Args:
        takers: from `outlooks`.
        bar_percent: above which nobody may stand; above 100 there is no bar.
    """
    if bar_percent > _WHOLE:
        return ""
    above = [each for each in takers if not each.is_within(bar_percent)]
    unknown = [each.broker for each in above if math.isnan(each.then[1])]
    if unknown:
        names = ", ".join(unknown)
        return (
            f"the usage of {names} in the end cannot be predicted: a usage now is not known; see "
            "whether its load report tells one, and plan again"
        )
    few = "; ".join(
        f"{each.broker} is at {each.now:.0f} % and would come to {_words(each.then)}"
        for each in above[:_NAMED_MAX]
    )
    more = f"; and {len(above) - _NAMED_MAX} more" if len(above) > _NAMED_MAX else ""
    return f"more than --bar {bar_percent:g} % in the end: {few}{more}" if above else ""


def remedies(takers: Sequence[Outlook], bar_percent: float) -> tuple[str, ...]:
    """Return what would let each stay at the bar or below: another bar, or less traffic.

    Args:
        takers: from `outlooks`; one at least of known usage.
        bar_percent: that some of them would pass.
    """
    highest = max((each.then[1] for each in takers if not math.isnan(each.then[1])), default=0.0)
    bar = math.ceil(highest - _ROUNDING)
    higher = (f"--bar {bar}",) if bar < _WHOLE else ()
    less = math.ceil(100.0 * (1.0 - bar_percent / highest)) if highest > bar_percent else 0
    return (*higher, *((f"{less} % less traffic",) if less else ()))


def spares_needed(
    broker: str, brokers: Mapping[str, BrokerState], takers: Sequence[str], frame: Frame
) -> int | None:
    """Return how many more brokers would make room to empty one; None if a dozen would not.

    Args:
        broker: to be emptied.
        brokers: the states of it and of the takers.
        takers: who may take bundles; each more is as idle as the least busy of them.
        frame: of the plan, with the bar.
    """
    idle = min(brokers[name].usage_percent for name in takers)
    for count in range(1, _SPARES_MAX + 1):
        spares = {f"{broker}+{i}": BrokerState(idle, {}) for i in range(count)}
        states = {**brokers, **spares}
        moves = emptying(broker, states, [*takers, *spares], frame).moves
        if not refusal(outlooks(moves, states), frame.limits.bar_percent):
            return count
    return None


def _words(interval: Interval) -> str:
    low, high = (f"{each:.0f}" for each in interval)
    return f"{high} %" if low == high else f"{low} to {high} %"


def _points(state: BrokerState, bundle: str, idle: float) -> Interval:
    """Return what a bundle takes of its broker, at least and at most; learned costs are both."""
    if bundle in state.points:
        return state.points[bundle], state.points[bundle]
    share, usage = _share(state, bundle), state.usage_percent
    return share * (usage - min(idle, usage)), share * usage


def _share(state: BrokerState, bundle: str) -> float:
    """Return what of a broker's load a bundle is; all count alike where no traffic is known."""
    total = sum(state.bundles.values())
    if total > 0:
        return state.bundles.get(bundle, 0.0) / total
    return 1.0 / max(1, len(state.bundles))


def _or_most(percent: float) -> float:
    return math.inf if math.isnan(percent) else percent
