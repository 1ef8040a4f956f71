"""How much continuous control may move: more while all is well, half as much when it is not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Health:
    """What was seen since the last round; NaN for what is not known."""

    #: Mean over all messages that were published, ms.
    publish_latency_ms: float = math.nan
    #: Of the relief that was expected of our own moves, how much came; 1 is all.
    effect_share: float = math.nan
    #: Lookups and connections that failed.
    reconnect_failures: float = math.nan
    #: A plan of ours ended before it was done.
    is_cut_short: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """What is too much, and how fast the throttle opens."""

    #: Moves a round: never fewer (below 1 a round now and then), never more.
    moves_min: float = 0.25
    moves_max: float = 3.0
    #: Moves a round more after each round in which all was well.
    step: float = 0.5
    publish_latency_ms: float = 100.0
    effect_share: float = 0.25
    reconnect_failures: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.moves_min <= self.moves_max or not self.step > 0:
            raise ValueError(
                f"found {self}, expected 0 < moves_min <= moves_max, and a step above 0"
            )


@dataclass(frozen=True, slots=True)
class Throttle:
    """How far it is open."""

    #: Moves a round.
    moves: float
    #: Moves that were granted and not made yet; never more than a round's.
    credit: float = 0.0


def bad_signs(health: Health, bars: Bars) -> tuple[str, ...]:
    """Return what is not well, a few words each; what is not known is no bad sign."""
    reasons = []
    if health.publish_latency_ms > bars.publish_latency_ms:
        reasons.append(
            f"publishing takes {health.publish_latency_ms:.0f} ms on average, more than "
            f"{bars.publish_latency_ms:g}"
        )
    if health.effect_share < bars.effect_share:
        reasons.append(f"only {health.effect_share:.0%} of the expected relief came")
    if health.reconnect_failures > bars.reconnect_failures:
        reasons.append(
            f"{health.reconnect_failures:.0f} lookups or connections failed since the last round"
        )
    if health.is_cut_short:
        reasons.append("the last plan ended before it was done")
    return tuple(reasons)


def adapted(throttle: Throttle, health: Health, bars: Bars) -> Throttle:
    """Return the throttle, opened or closed after a round.

    Properties:
        A bad sign halves it, however many there are; it never goes below `moves_min`.
        Otherwise it opens by `step`, up to `moves_max`, if it is known how clients fare;
        if that is not known it stays as it is.
        What was granted and not used never adds up to more than one round's.
    """
    if bad_signs(health, bars):
        moves = max(bars.moves_min, throttle.moves / 2.0)
        # What was saved up in better times is not spent now.
        return Throttle(moves, min(throttle.credit, moves))
    is_known = not math.isnan(health.publish_latency_ms + health.reconnect_failures)
    moves = min(bars.moves_max, throttle.moves + bars.step) if is_known else throttle.moves
    return replace(throttle, moves=moves)


def granted(throttle: Throttle, wanted: int) -> tuple[int, Throttle]:
    """Return how many moves of a round are granted, and the throttle after them."""
    credit = min(throttle.credit + throttle.moves, max(1.0, throttle.moves))
    count = min(wanted, int(credit))
    return count, replace(throttle, credit=credit - count)
