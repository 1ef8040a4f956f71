"""Hot brokers that own one bundle and are therefore left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import events_in_rounds, grouped


def sole_bundle(night: Night) -> list[Finding]:
    """Find overloaded brokers that own a single bundle, which no shedder moves.

    Moving the only bundle would only move the hot spot, so the shedder warns, every
    round, and does nothing; the bundle has to be split.

    Source:
        impl/ThresholdShedder.java, impl/OverloadShedder.java findBundlesForUnloading, 4.0.8
    """
    lines = [(n, e) for n, e in events_in_rounds(night, "sole-bundle") if e.broker and e.bundle]
    warned = grouped(lines, lambda line: (line[1].broker or "", line[1].bundle or ""))
    return [_finding(night, *key, warnings) for key, warnings in warned.items()]


def _finding(night: Night, broker: str, bundle: str, warnings: list[tuple[int, Event]]) -> Finding:
    number, first = warnings[0]
    rounds = {logged.number: logged for logged in night.rounds}
    attempts = [
        event
        for event in rounds[number].events
        if event.kind == "shed-attempt" and event.broker == broker
    ]
    scored = attempts[0].numbers.get("usage_percent") if attempts else None
    usage = None if scored is None else scored / 100
    return Finding(
        "sole-bundle" if usage is None else "sole-bundle.scored",
        "high" if len(warnings) > 2 else "medium",
        first.time,
        number,
        brokers=(broker,),
        bundles=(bundle,),
        evidence=tuple(event for _, event in warnings[:SHOWN]),
        numbers={"warnings": len(warnings), "score": usage},
    )


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal to split what nothing moves."""
    del night
    stuck = findings["sole-bundle"]
    if not stuck:
        return None
    first, *others = (finding.bundles[0] for finding in stuck)
    more = f" and {len(others)} more" if others else ""
    warnings = sum(finding.numbers["warnings"] for finding in stuck)
    return Proposal(warnings, {"first": first, "more": more, "brokers": len(stuck)})
