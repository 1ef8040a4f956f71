"""Bundles whose owner is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from trimtab.diagnose.channel_evidence import of_transitions
from trimtab.diagnose.night import Channel, Finding, Night, Transition

#: The longest that the leader's class puts a clean-up off, where the store is not stable.
_DELAY_S_MAX = 180.0


def orphaned_bundle(night: Night) -> list[Finding]:
    """Find bundles that stayed Owned by a broker for long after it had gone.

    Until the leader has given them to others nobody serves them.  They are orphaned after the
    time for which a lookup waits; high from three minutes on, the longest for which the leader
    puts a clean-up off, medium before.  One finding for each time that a broker went.

    Source:
        ServiceUnitStateChannelImpl.java handleBrokerDeletionEvent, doCleanup, 4.0.8
    """
    channel = night.channel
    if channel is None:
        return []
    owned: dict[str, list[Transition]] = {}
    for each in channel.transitions:
        if each.state == "Owned" and each.target and not each.verdict.startswith("ignored"):
            owned.setdefault(each.target, []).append(each)
    return [
        finding
        for broker, mine in sorted(owned.items())
        for since, until in _absences(channel, broker)
        if (finding := _finding(night, channel, (broker, since, until), mine))
    ]


def _absences(channel: Channel, broker: str) -> Iterator[tuple[datetime, datetime]]:
    """Yield from when to when a broker was gone."""
    since = None
    for time, is_alive in channel.presence.get(broker, ()):
        if is_alive and since is not None:
            yield since, time
            since = None
        elif not is_alive and since is None:
            since = time
    if since is not None:
        yield since, channel.end


def _finding(
    night: Night,
    channel: Channel,
    gone: tuple[str, datetime, datetime],
    owned: list[Transition],
) -> Finding | None:
    broker, since, until = gone
    orphans = []
    longest_s = 0.0
    for each in owned:
        left = max(each.time, since)
        stood_s = each.lasted_s - (left - each.time).total_seconds()
        orphaned_s = min(stood_s, (until - left).total_seconds())
        if orphaned_s > channel.settings.waiting_s:
            orphans.append(each)
            longest_s = max(longest_s, orphaned_s)
    if not orphans:
        return None
    return Finding(
        "orphaned-bundle",
        "high" if longest_s > _DELAY_S_MAX else "medium",
        brokers=(broker,),
        bundles=tuple(dict.fromkeys(each.bundle for each in orphans)),
        numbers={"lasted_s": longest_s, "orphans": len({each.bundle for each in orphans})},
        **of_transitions(night, orphans) | {"time": since},
    )
