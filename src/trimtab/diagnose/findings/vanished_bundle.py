"""Bundles that nobody took after they had been unloaded."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.failed_orders import failed_orders
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
    failed = failed_orders(night)
    findings = []
    for logged in night.rounds:
        for move in logged.moves:
            carried = _carried(night, move)
            if move.id not in failed and carried >= _IDLE and _is_gone(night, move):
                findings.append(_finding(move, carried))
    return findings


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
    )


def _finding(move: Move, carried: float) -> Finding:
    return Finding(
        code="vanished-bundle",
        severity="high",
        time=move.time,
        round=move.round,
        title=f"{move.bundle} had traffic, and nobody took it after the unload",
        text=(
            f"It carried {carried / 1e6:.3f} MB/s in the last report before; afterwards no broker "
            "owned or reported it."
        ),
        better="the same clients on the new broker",
        advice="Look at the clients of its topics: do they look up again, and what do they get?",
        brokers=(move.source,),
        bundles=(move.bundle,),
        moves=(move.id,),
        evidence=move.evidence[-1:],
        numbers={"throughput": carried},
    )


ENTRY = FindingEntry(
    rule=vanished_bundle,
    rank=21,
    needs=(Need.LEADER_LOGS, Need.OWNERS, Need.BUNDLE_REPORTS),
    words=Words("nobody took it", "The bundle had traffic and no owner any more."),
    useless=Useless(13, "of a bundle with traffic that nobody took afterwards"),
    is_fault=True,
)
