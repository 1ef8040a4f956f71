"""Bundles that came back, and moves after load that goes up and down by itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import failed_orders
from trimtab.diagnose.night import Finding, Move, Night
from trimtab.diagnose.reports import BundleReports

#: Traffic is high from this share of its largest value on, and low up to the other.
_HIGH, _LOW = 0.75, 0.5
#: So long it must be the one or the other, and so often in turns: high, low, high.
_LASTING, _TURNS = timedelta(minutes=2), 3
#: So many rounds must have followed it.
_ROUNDS = 2


def ping_pong(night: Night) -> list[Finding]:
    """Find bundles that were moved back, and moves that followed load going up and down by itself.

    Within two grace periods the round trip to a broker that it had been moved away from has cost
    a bundle's clients two interruptions and left the cluster as it was.  Where the traffic of
    moved bundles was high, low and high again, and such bundles were moved in two rounds or more
    while it was high, no move helps for longer than one turn: one finding, medium.

    Quirks:
        Only the balancer's own moves count: a bundle that came home because its broker
        was restarted has not been played with, nor one whose unload failed.
    """
    by_bundle: dict[str, list[Move]] = {}
    failed = failed_orders(night)
    moves = [move for move in night.moves() if move.id not in failed]
    for move in moves:
        by_bundle.setdefault(move.bundle, []).append(move)
    horizon = timedelta(seconds=2 * night.grace_period_s)
    findings = []
    for mine in by_bundle.values():
        trip = _round_trip(mine, horizon)
        if trip:
            findings.append(_finding(trip))
    part = {id_ for finding in findings for id_ in finding.moves}
    findings += _of_load(night, [move for move in moves if move.id not in part])
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


def _of_load(night: Night, moves: Sequence[Move]) -> list[Finding]:
    """Return the finding of moves that followed load which alternates; none, or one."""
    followed = [move for move in moves if _is_at_a_turn(night, move)]
    if len({move.round for move in followed}) < _ROUNDS:
        return []
    return [
        Finding(
            "ping-pong.of-load",
            "medium",
            followed[0].time,
            followed[0].round,
            brokers=tuple(dict.fromkeys(move.source for move in followed)),
            numbers={"moves": len(followed)},
            values={"rounds": len({move.round for move in followed})},
            # Its moves are no round trips, by which ping-pong makes moves useless.
            **of_moves(followed) | {"moves": ()},
        )
    ]


def _is_at_a_turn(night: Night, move: Move) -> bool:
    """Return whether a bundle's traffic takes turns, and was high when it was moved."""
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    if reports is None or at is None or night.end is None:
        return False
    is_high = reports.throughput[at] >= _HIGH * reports.throughput.max() > 0
    return bool(is_high) and _turns(reports, night.end) >= _TURNS


def _turns(reports: BundleReports, end: datetime) -> int:
    """Return how often a bundle's traffic was high and low in turns, from a high on."""
    largest = float(reports.throughput.max())
    count, phase, since = 0, "", reports.times[0]
    until = (*reports.times[1:], end)
    for time, next_time, carried in zip(reports.times, until, reports.throughput, strict=True):
        share = float(carried) / largest
        now = "high" if share >= _HIGH else "low" if share <= _LOW else ""
        if now != phase:
            phase, since = now, time
        if phase == ("high", "low")[count % 2] and next_time - since >= _LASTING:
            count += 1
    return count
