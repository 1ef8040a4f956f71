"""Bundles that nobody took after they had been unloaded."""

from __future__ import annotations

from datetime import datetime, timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import carried_out
from trimtab.diagnose.night import Finding, Move, Night

#: For so long the recording must go on without the bundle.
_GONE = timedelta(minutes=10)
#: Bytes/s below which no client misses it.
_IDLE = 1_000.0


def vanished_bundle(night: Night) -> list[Finding]:
    """Find unloaded bundles with traffic that nobody owned or reported for the rest of the night.

    A bundle is assigned when a client looks it up; one without clients stays without an
    owner and drops out of every report, which harms nobody.  One that carried 1 kB/s or more
    in its last report before the unload has lost its clients: high.  The store must have
    named an owner before, and the recording go on for ten minutes after the unload.  A bundle
    whose unload failed has stayed where it was.

    Source:
        NamespaceService.java, 4.0.8: ownership is acquired at lookup
    """
    return [
        Finding(
            "vanished-bundle",
            "high",
            move.time,
            move.round,
            brokers=(move.source,),
            numbers={"throughput": carried},
            **of_moves([move]),
        )
        for logged in carried_out(night)
        for move in logged.moves
        if (carried := _carried(night, move)) >= _IDLE and _is_gone(night, move)
    ]


def _carried(night: Night, move: Move) -> float:
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    return float(reports.throughput[at]) if reports is not None and at is not None else 0.0


def _is_gone(night: Night, move: Move) -> bool:
    if night.end is None or night.end - move.time < _GONE:
        return False
    owners = night.owners.get(move.bundle, ())
    times = [time for time, _ in owners] + [t for t, _ in night.acquired.get(move.bundle, ())]
    # The old owner reports the bundle until its statistics of a minute are renewed.
    late = move.time + timedelta(minutes=3)
    reported = night.bundles[move.bundle].times
    return (
        any(time <= move.time for time, _ in owners)
        and all(time <= move.time for time in times)
        and all(time <= late for time in reported)
        and _has_left(night, move, late)
    )


def _has_left(night: Night, move: Move, late: datetime) -> bool:
    """Return whether it is known that the source gave the bundle up.

    By the store, or by a report of the source that would have the bundle if it were there: a
    broker with little to say may write none for long.
    """
    released = any(time >= move.time for time in night.released.get(move.bundle, ()))
    reports = night.reports.get(move.source)
    return released or (reports is not None and any(time > late for time in reports.times))
