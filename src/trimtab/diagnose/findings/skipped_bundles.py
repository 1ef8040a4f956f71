"""Bundles chosen and then left where they were."""

from __future__ import annotations

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.findings.even_distribution_override import is_sole_candidate
from trimtab.diagnose.night import Event, Finding, Night, Round

#: What the manager says of a bundle that it does not unload after all.
_SKIPPED = {
    "no-broker-available": "had no broker to go to",
    "same-destination": "would have gone to the broker that it is on",
}


def skipped_bundles(night: Night) -> list[Finding]:
    """Find rounds in which chosen bundles were skipped, and nothing was taken instead.

    Policies, anti-affinity and the choice of the destination come after the shedder's choice;
    what they refuse has been counted as moved already.  One finding a round and broker:
    medium if nothing of the broker was moved in that round, low otherwise.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, 4.0.8
    """
    findings = []
    for logged in night.rounds:
        skipped: dict[str, list[Event]] = {}
        for event in logged.events:
            if event.kind in _SKIPPED and event.broker and event.bundle:
                skipped.setdefault(event.broker, []).append(event)
        alone = _sole_candidates(night, logged)
        findings += [_finding(logged, broker, lines, alone) for broker, lines in skipped.items()]
    return findings


def _sole_candidates(night: Night, logged: Round) -> frozenset[str]:
    """Return the bundles for which one broker was left, while they are distributed evenly."""
    considered = [event for event in logged.events if event.kind == "candidates-considered"]
    return frozenset(e.bundle for e in considered if e.bundle and is_sole_candidate(night, [e]))


def _finding(logged: Round, broker: str, lines: list[Event], alone: frozenset[str]) -> Finding:
    sole = sum(e.kind == "same-destination" and e.bundle in alone for e in lines)
    moved = len(logged.moves_from(broker))
    why = "; ".join(
        f"{count} {words}"
        for kind, words in _SKIPPED.items()
        if (count := sum(event.kind == kind for event in lines))
    )
    return Finding(
        "skipped-bundles.sole-candidate" if sole else "skipped-bundles",
        "low" if moved else "medium",
        lines[0].time,
        logged.number,
        brokers=(broker,),
        bundles=tuple(dict.fromkeys(event.bundle for event in lines if event.bundle)),
        evidence=tuple(lines[:SHOWN]),
        numbers={"skipped": len(lines), "moved": moved},
        values={"why": why, "sole": sole},
    )
