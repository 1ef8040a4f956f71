"""Moves of bundles without any traffic."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.evidence import SHOWN, of_moves
from trimtab.diagnose.night import Event, Finding, Move, Night, Round

#: Statistics are a minute's: a broker reports nothing of a bundle that has just come.
_EMPTY = timedelta(seconds=90)
#: UniformLoadShedder's line of each bundle that it chooses, with the bundle's average.
_CHOSEN = frozenset({"uniform-shed-rate", "uniform-shed-throughput"})
#: What becomes of chosen bundles, each in its turn.
_DONE = frozenset({"unload", "no-broker-available", "same-destination", "unload-failed"})


def empty_bundle_moved(night: Night) -> list[Finding]:
    """Find moves of bundles that carried nothing, by the reports or by the shedder's own line.

    Neither a message nor a byte in any of the last reports, the first of them a minute and a
    half old, so no broker was relieved; its clients, if it has any, were
    interrupted.  Or UniformLoadShedder printed 0.0 for it, its average over all samples.  One
    finding a round: medium if all of the round's moves were such, low otherwise.

    Quirks:
        The shedder's lines name no bundle, and its choice is carried out in their order: where
        a round has a line of each chosen bundle's fate, the bundles are known.  Where it has
        none at all, the choice alone is told; where it has some, it is not known of which.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 4.0.8 (#21214)
    """
    findings = []
    for logged in night.rounds:
        chosen = [event for event in logged.events if event.kind in _CHOSEN]
        silent = [event for event in chosen if _traffic(event) == 0]
        fates = {e.bundle: e for e in logged.events if e.kind in _DONE and e.bundle}
        printed = _printed(chosen, list(fates))
        empty = [move for move in logged.moves if move.bundle in printed or _is_empty(night, move)]
        if silent and not fates:
            findings.append(_of_choice(logged, silent, len(chosen)))
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
    if reports.brokers[at] != move.source:
        return False
    while at >= 0 and reports.rate[at] == 0 and reports.throughput[at] == 0:
        since = reports.times[at]
        at -= 1
    return since is not None and move.time - since >= _EMPTY


def _traffic(event: Event) -> float | None:
    return event.numbers.get("rate", event.numbers.get("throughput"))


def _printed(chosen: list[Event], bundles: list[str]) -> frozenset[str]:
    """Return the bundles for which the shedder printed no traffic; none if some are not known."""
    if len(bundles) != len(chosen):
        return frozenset()
    pairs = zip(chosen, bundles, strict=True)
    return frozenset(bundle for event, bundle in pairs if _traffic(event) == 0)


def _of_choice(logged: Round, silent: list[Event], chosen: int) -> Finding:
    return Finding(
        "empty-bundle-moved.chosen",
        "medium" if len(silent) == chosen else "low",
        silent[0].time,
        logged.number,
        brokers=tuple(dict.fromkeys(event.broker for event in silent if event.broker)),
        evidence=tuple(silent[:SHOWN]),
        numbers={"empty": len(silent), "moved": chosen},
    )
