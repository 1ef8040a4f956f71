"""Stretches without a leader."""

from __future__ import annotations

from datetime import datetime

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import by_log, round_at

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
    for log, lines in by_log(night, "no-channel-owner").items():
        lasted_s = (lines[-1].time - lines[0].time).total_seconds()
        if lasted_s > _INTERVALS * night.interval_s:
            findings.append(
                Finding(
                    "no-acting-leader.no-owner",
                    "high",
                    numbers={"minutes": lasted_s / 60, "lines": len(lines)},
                    values={"log": log},
                    **of_lines(night, lines),
                )
            )
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
    round_number = round_at(night, since)
    return Finding(
        "no-acting-leader.absent", "high", since, round_number, numbers={"minutes": minutes}
    )
