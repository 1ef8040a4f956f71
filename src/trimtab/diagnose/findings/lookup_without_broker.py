"""Lookups for which no broker was a candidate."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import CONSIDERED, grouped, other_events
from trimtab.diagnose.rounds import is_of_a_round
from trimtab.pulsar.bundles import namespace

#: Seconds for which a bundle must have been looked up in vain to be more than a moment.
_LONG_S = 60.0


def lookup_without_broker(night: Night) -> list[Finding]:
    """Find namespaces whose bundles were looked up while no broker could take them.

    A bundle without an owner is placed when it is looked up; where the filters leave nobody, the
    lookup has no answer.  One finding a namespace; high if a bundle was looked up in vain for a
    minute or more, medium before.

    Quirks:
        Isolation policies, a missing report and brokers that serve no topics look the same.

    Source:
        NamespaceService.java searchForCandidateBroker, 4.0.8 (#19416)
    """
    lines = [
        event
        for event in other_events(night, "no-broker-for-lookup", CONSIDERED)
        if "/" in (event.bundle or "") and not is_of_a_round(event)
    ]
    by_namespace = grouped(lines, lambda event: namespace(event.bundle or ""))
    return [_finding(night, name, mine) for name, mine in by_namespace.items()]


def _finding(night: Night, name: str, lines: Sequence[Event]) -> Finding:
    by_bundle = grouped(lines, lambda event: event.bundle or "")
    longest_s = max((m[-1].time - m[0].time).total_seconds() for m in by_bundle.values())
    return Finding(
        "lookup-without-broker",
        "high" if longest_s >= _LONG_S else "medium",
        bundles=tuple(by_bundle),
        numbers={"lines": len(lines), "longest_s": longest_s},
        values={"name": name, "count": len(by_bundle)},
        **of_lines(night, lines),
    )
