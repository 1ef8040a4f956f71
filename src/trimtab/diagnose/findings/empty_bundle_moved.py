"""Moves of bundles without any traffic."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
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
            findings.append(_finding(empty, len(logged.moves)))
    return findings


def _is_empty(night: Night, move: Move) -> bool:
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    if reports is None or at is None:
        return False
    since = None
    while at >= 0 and reports.rate[at] == 0 and reports.throughput[at] == 0:
        since = reports.times[at]
        at -= 1
    return since is not None and move.time - since >= _EMPTY


def _finding(empty: list[Move], moved: int) -> Finding:
    first = empty[0]
    return Finding(
        code="empty-bundle-moved",
        severity="medium" if len(empty) == moved else "low",
        time=first.time,
        round=first.round,
        title=f"{len(empty)} bundle(s) without traffic were moved",
        text=(
            f"Of the {moved} bundle(s) of the round, {len(empty)} had neither a message nor a byte "
            "a second in the reports before, so moving them relieved nobody."
        ),
        better="leave them where they are",
        advice=(
            "Averages go on with what a bundle used to carry: look at what stopped. Under "
            "UniformLoadShedder set maxUnloadBundleNumPerShedding, which spares the smallest."
        ),
        brokers=tuple(dict.fromkeys(move.source for move in empty)),
        bundles=tuple(move.bundle for move in empty),
        moves=tuple(move.id for move in empty),
        evidence=tuple(event for move in empty[:5] for event in move.evidence[-1:]),
        numbers={"empty": len(empty), "moved": moved},
    )


ENTRY = FindingEntry(
    rule=empty_bundle_moved,
    rank=13,
    needs=(Need.LEADER_LOGS, Need.BUNDLE_REPORTS),
    words=Words("without traffic", "The bundle carried nothing, so nobody was relieved."),
    useless=Useless(14, "of a bundle without traffic"),
)
