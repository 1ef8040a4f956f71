"""Moves of bundles without any traffic."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Move, Night

#: Statistics are a minute's: a broker reports nothing of a bundle that has just come.
_EMPTY = timedelta(seconds=90)


def empty_bundle_moved(night: Night) -> list[Finding]:
    """Find moves of bundles that had carried nothing for a minute and a half, by the reports.

    Neither a message nor a byte in any of the last reports, the first of them a minute and a
    half old, so no broker was relieved; its clients, if it has any, were
    interrupted.  One finding a round: medium if all of the round's moves were such, low
    otherwise.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 4.0.8 (#21214)
    """
    findings = []
    for logged in night.rounds:
        empty = [move for move in logged.moves if _is_empty(night, move)]
        if empty:
            findings.append(
                Finding(
                    "empty-bundle-moved",
                    "medium" if len(empty) == len(logged.moves) else "low",
                    empty[0].time,
                    logged.number,
                    brokers=tuple(dict.fromkeys(move.source for move in empty)),
                    numbers={"empty": len(empty), "moved": len(logged.moves)},
                    **of_moves(empty),
                )
            )
    return findings


def _is_empty(night: Night, move: Move) -> bool:
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    if reports is None or at is None:
        return False
    since = None
    # What an earlier owner reported says nothing of the traffic that has come since.
    if reports.owners[at] != move.source:
        return False
    while at >= 0 and reports.rate[at] == 0 and reports.throughput[at] == 0:
        since = reports.times[at]
        at -= 1
    return since is not None and move.time - since >= _EMPTY
