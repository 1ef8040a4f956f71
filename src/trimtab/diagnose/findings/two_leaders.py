"""Rounds of a broker that was no longer the leader."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Event, Finding, Night, Round
from trimtab.diagnose.other_events import other_events

#: Clocks of two brokers may differ by this much, and a round may be under way.
_TOLERANCE = timedelta(seconds=5)


def two_leaders(night: Night) -> list[Finding]:
    """Find rounds of a broker after another one had been elected.

    Losing the leadership does not stop a shedding task for certain, so two brokers may move
    the same bundles by two different memories.  A round counts if it began more than five
    seconds after another broker's election, and its own broker had not been elected since.

    Source:
        LoadSheddingTask.java, 4.0.8: does not ask who leads
    """
    elections = other_events(night, "elected-leader")
    findings = []
    for logged in night.rounds:
        before = [event for event in elections if event.time + _TOLERANCE < logged.time]
        if before and before[-1].log_broker != logged.log_broker and _had_led(before, logged):
            findings.append(_finding(night, logged, before[-1]))
    return findings


def _had_led(elections: Sequence[Event], logged: Round) -> bool:
    """Return whether its elections, if any, are in the recording: else one may be missing."""
    return any(event.log_broker == logged.log_broker for event in elections)


def _finding(night: Night, logged: Round, election: Event) -> Finding:
    mine, other = night.broker(logged.log_broker), night.broker(election.log_broker)
    return Finding(
        "two-leaders",
        "high",
        logged.time,
        logged.number,
        brokers=(mine, other),
        numbers={"minutes": (logged.time - election.time).total_seconds() / 60},
        **of_moves(logged.moves) | {"evidence": (election, *logged.events[:4])},
    )
