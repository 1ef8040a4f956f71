"""Brokers that act as the owner of the channel while another one is."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night

#: Clocks may differ by this much, and a clean-up may be under way.
_TOLERANCE = timedelta(seconds=15)


def two_channel_owners(night: Night) -> list[Finding]:
    """Find brokers that overrode bundles or ran the monitor while another broker led.

    Only the leader, which owns the channel, cleans up after brokers and overrides what hangs.
    Where the store says who led, whoever does it more than fifteen seconds after another's
    election is a second owner; where it does not, whoever does it both before and after another,
    without having become the leader in between.  High; one finding for each such broker.

    Source:
        ServiceUnitStateChannelImpl.java isChannelOwner, monitorOwnerships, doCleanup, 4.0.8
    """
    channel = night.channel
    if channel is None:
        return []
    acts = [(act, night.broker(act.log_broker)) for act in channel.acts]
    odd: dict[tuple[str, str], list[Event]] = {}
    for place, (act, broker) in enumerate(acts):
        other = _by_store(night, act.time, broker)
        if not night.leaders:
            other = _by_acts(night, acts, place)
        if other is not None:
            odd.setdefault((broker, other), []).append(act)
    return [
        Finding(
            "two-channel-owners",
            "high",
            brokers=brokers,
            numbers={"acts": len(lines)},
            **of_lines(night, lines),
        )
        for brokers, lines in sorted(odd.items())
    ]


def _by_store(night: Night, time: datetime, broker: str) -> str | None:
    """Return the other broker that led at a time and for a while before; None if none did."""
    led = [
        night.leaders[place - 1][1] if (place := _before(night, when)) else None
        for when in (time - _TOLERANCE, time)
    ]
    return led[0] if led[0] == led[1] != broker else None


def _before(night: Night, time: datetime) -> int:
    """Return how many changes of the leader the store had at a time."""
    return bisect_right([since for since, _ in night.leaders], time)


def _by_acts(night: Night, acts: list[tuple[Event, str]], place: int) -> str | None:
    """Return the other broker that acted between two acts of one; None if none did."""
    assert night.channel is not None
    act, broker = acts[place]
    mine = [time for time, elected in night.channel.elected if elected == broker]
    earlier = [each for each, who in acts[:place] if who == broker]
    for each, who in reversed(acts[:place]):
        if who == broker or act.time - each.time <= _TOLERANCE:
            continue
        was_first = any(it.time + _TOLERANCE < each.time for it in earlier)
        is_elected = any(each.time - _TOLERANCE < time <= act.time for time in mine)
        return who if was_first and not is_elected else None
    return None
