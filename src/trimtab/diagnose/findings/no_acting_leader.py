"""Stretches without a leader."""

from __future__ import annotations

from datetime import datetime

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at

#: A leader that is absent for longer than this many rounds is missed.
_INTERVALS = 2


def no_acting_leader(night: Night) -> list[Finding]:
    """Find stretches longer than two rounds in which nobody led.

    Without a leader nothing is shed, split or averaged, and lookups are placed by whoever
    is asked.  The metadata store tells who led when; the extensible manager says in the log
    that its channel has no owner.

    Source:
        PulsarService.java startLeaderElectionService,
        ServiceUnitStateChannelImpl.java getChannelOwner, 4.0.8
    """
    findings = [_absent(night, since, until) for since, until in _gaps(night)]
    lines = other_events(night, "no-channel-owner")
    findings += [
        _no_owner(night, same)
        for same in grouped(lines, lambda event: event.log_broker).values()
        if (same[-1].time - same[0].time).total_seconds() > _INTERVALS * night.interval_s
    ]
    return findings


def _gaps(night: Night) -> list[tuple[datetime, datetime]]:
    gaps = []
    longest_s = _INTERVALS * night.interval_s
    for i, (since, broker) in enumerate(night.leaders):
        if broker is not None or i == 0 or night.leaders[i - 1][1] is None:
            continue
        later = night.leaders[i + 1 :]
        until = next((time for time, leader in later if leader is not None), night.end)
        if until is not None and (until - since).total_seconds() > longest_s:
            gaps.append((since, until))
    return gaps


def _absent(night: Night, since: datetime, until: datetime) -> Finding:
    minutes = (until - since).total_seconds() / 60
    before = [logged.number for logged in night.rounds if logged.time <= since]
    return Finding(
        code="no-acting-leader",
        severity="high",
        time=since,
        round=before[-1] if before else 0,
        title=f"Nobody led for {minutes:.0f} min",
        text="The metadata store had no leader, so nothing was shed, split or averaged.",
        better="an election within seconds",
        advice="Look at the sessions of the metadata store: who kept the leader's node?",
        numbers={"minutes": minutes},
    )


def _no_owner(night: Night, lines: list[Event]) -> Finding:
    first = lines[0]
    minutes = (lines[-1].time - first.time).total_seconds() / 60
    return Finding(
        code="no-acting-leader",
        severity="high",
        time=first.time,
        round=round_at(night, first),
        title=f"{first.log_broker} found no owner of the channel for {minutes:.0f} min",
        text=f"It says so {len(lines)} time(s); without an owner no bundle changes its broker.",
        better="an owner within seconds",
        advice="Look at the sessions of the metadata store, and restart the broker if it stays.",
        evidence=tuple(lines[:5]),
        numbers={"minutes": minutes, "lines": len(lines)},
    )


ENTRY = FindingEntry(
    rule=no_acting_leader,
    rank=35,
    needs=(Need.ELECTIONS,),
    words=None,
    is_fault=True,
)
