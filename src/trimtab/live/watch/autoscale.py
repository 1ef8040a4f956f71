"""How brokers stand → how many carry that and the loss of any one, and how many to have.

What is needed follows the load from one look to the next; what is recommended, which an
autoscaler follows, changes only where that is worth the bundles that have to move for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.pulsar.model import MINUTE_S

#: Minutes for which more must have been needed, and fewer have sufficed, before that is
#: recommended: who asks for more too late has no room, who gives some back too early moves twice.
MORE_AFTER_MIN, FEWER_AFTER_MIN = 5, 60
#: Brokers that carry a cluster and the loss of one, at least.
_LEAST = 2
# Of the bar a broker at rest takes no more than so much, whatever the idlest one uses.
_REST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Needed:
    """How many brokers carry the load and the loss of any one, at least and at most."""

    #: All are level, and what the idlest one uses is there without any traffic.
    low: int
    #: They are as uneven as the shedder leaves them, and all usage follows the traffic.
    high: int


@dataclass(frozen=True, slots=True)
class Minute:
    """The least and the most that was needed at most in a minute."""

    number: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Recommended:
    """How many brokers to have, and what was needed before, as far as it matters."""

    brokers: int
    #: Of whole minutes since 1970, one after the other, without the ones nobody looked in.
    minutes: tuple[Minute, ...] = ()
    #: When it was last changed, s since 1970; before the first change when it was begun.
    since_s: float = 0.0

    @property
    def is_known(self) -> bool:
        """Return whether it was looked at for long enough that every broker had a say."""
        return len(self.minutes) >= MORE_AFTER_MIN


def needed(usages: Sequence[float], bar: float, spread: float) -> Needed | None:
    """Return how many brokers like these carry their load; None if nothing is known of them.

    Args:
        usages: of each broker, 1 is its limit.
        bar: usage that none may pass, though one is lost.
        spread: highest usage minus the lowest that the shedder leaves.

    Properties:
        Whoever has more to carry needs no fewer; the low end is never above the high one.
    """
    known = [usage for usage in usages if math.isfinite(usage)]
    if not known or not bar > 0:
        return None
    rest = min(*known, _REST_SHARE * bar)
    least = sum(usage - rest for usage in known) / (bar - rest)
    most = sum(known) / max(bar - spread / 2, _REST_SHARE * bar)
    low, high = (max(_LEAST, math.ceil(each - 1e-9) + 1) for each in (least, most))
    return Needed(min(low, high), high)


def recommended(
    before: Recommended | None, need: Needed, n_brokers: int, at_s: float
) -> Recommended:
    """Return how many brokers to have once there was another look.

    More than the low end are recommended at once, more than the high end after some minutes
    in which so many were needed, and fewer after an hour in which no more were.

    Args:
        before: what was recommended; None: nothing yet.
        need: what is needed now.
        n_brokers: that are there, which is what the first looks leave as it is.
        at_s: s since 1970.

    Properties:
        The same looks give the same number, however often each is given.
        Never fewer than the low end of what is needed now.
    """
    now = Recommended(n_brokers, since_s=at_s) if before is None else before
    minutes = _with(now.minutes, int(at_s // MINUTE_S), need.high)
    if not now.is_known:
        # Whoever has not said anything yet is not superfluous.
        now = replace(now, brokers=max(now.brokers, n_brokers))
    now = replace(now, minutes=minutes)
    if now.brokers < need.low:
        return replace(now, brokers=need.high, since_s=at_s)
    lately = [each for each in minutes if each.number > minutes[-1].number - MORE_AFTER_MIN]
    wanted = min(each.least for each in lately)
    if now.brokers < wanted and len(lately) == MORE_AFTER_MIN:
        return replace(now, brokers=wanted, since_s=at_s)
    wanted = max(each.most for each in minutes)
    if now.brokers > wanted and len(minutes) == FEWER_AFTER_MIN:
        return replace(now, brokers=wanted, since_s=at_s)
    return now


def _with(minutes: tuple[Minute, ...], number: int, high: int) -> tuple[Minute, ...]:
    """Return the minutes of the last hour with what was needed in this one."""
    kept = [each for each in minutes if number - FEWER_AFTER_MIN < each.number < number]
    (last,) = [each for each in minutes if each.number == number] or [Minute(number, high, high)]
    return (*kept, Minute(number, min(last.least, high), max(last.most, high)))
