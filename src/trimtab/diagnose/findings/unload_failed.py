"""Unloads that did not happen, or not in time."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events

_KINDS = (
    "unload-failed",
    "admin-call-failed",
    "admin-unload-failed",
    "bundle-unload-timed-out",
)


def unload_failed(night: Night) -> list[Finding]:
    """Find bundles whose unloading failed or timed out.

    A failed unload is not counted as recent, so the same bundle may be chosen again in the
    next round; one that timed out has lost its clients all the same.  One finding a bundle,
    by the last part of its name, since some lines have nothing else; grave from three on.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, BrokerService.java
        unloadServiceUnit, 4.0.8
    """
    lines = [event for event in other_events(night, *_KINDS) if event.bundle]
    return [_finding(night, same) for same in grouped(lines, _range).values()]


def _range(event: Event) -> str:
    return (event.bundle or "").rpartition("/")[2]


def _finding(night: Night, lines: list[Event]) -> Finding:
    late = sum(event.kind == "bundle-unload-timed-out" for event in lines)
    moves = [
        move.id
        for logged in night.rounds
        for move in logged.moves
        if any(move.bundle == event.bundle and logged.time <= event.time for event in lines)
        and any((event.time - move.time).total_seconds() <= night.interval_s for event in lines)
    ]
    return Finding(
        "unload-failed.late" if late else "unload-failed",
        "high" if len(lines) > 2 else "medium",
        brokers=tuple(dict.fromkeys(event.broker for event in lines if event.broker)),
        bundles=(max((event.bundle or "" for event in lines), key=len),),
        moves=tuple(moves),
        numbers={"failures": len(lines), "timed_out": late},
        **of_lines(night, lines),
    )
