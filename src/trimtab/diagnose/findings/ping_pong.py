"""Bundles that came back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Move, Night


def ping_pong(night: Night) -> list[Finding]:
    """Find bundles that were moved back to a broker they had been moved away from.

    Within two grace periods the round trip has cost its clients two interruptions and
    left the cluster as it was.

    Quirks:
        Only the balancer's own moves count: a bundle that came home because its broker
        was restarted has not been played with.
    """
    by_bundle: dict[str, list[Move]] = {}
    for move in night.moves():
        by_bundle.setdefault(move.bundle, []).append(move)
    horizon = timedelta(seconds=2 * night.grace_period_s)
    findings = []
    for moves in by_bundle.values():
        trip = _round_trip(moves, horizon)
        if trip:
            findings.append(_finding(trip))
    return sorted(findings, key=lambda finding: (finding.time, finding.bundles))


def _round_trip(moves: Sequence[Move], horizon: timedelta) -> list[Move]:
    """Return every move that is part of a return, in order."""
    part: set[int] = set()
    for i, away in enumerate(moves):
        for j in range(i + 1, len(moves)):
            if moves[j].time - away.time > horizon:
                break
            if moves[j].target == away.source:
                part.update(range(i, j + 1))
                break
    return [moves[i] for i in sorted(part)]


def _finding(trip: Sequence[Move]) -> Finding:
    first, last = trip[0], trip[-1]
    stops = [first.source, *(move.target or "?" for move in trip)]
    minutes = (last.time - first.time).total_seconds() / 60
    return Finding(
        "ping-pong",
        "high" if len(trip) > 2 else "medium",
        first.time,
        first.round,
        brokers=tuple(dict.fromkeys(stops)),
        numbers={"moves": len(trip), "minutes": minutes},
        values={"stops": " → ".join(stops)},
        **of_moves(trip, shown=None) | {"bundles": (first.bundle,)},
    )
