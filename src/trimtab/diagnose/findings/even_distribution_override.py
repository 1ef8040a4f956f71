"""Destinations forced by the number of bundles, whatever the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.broker_loads import broker_loads, percent, points
from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.night import Finding, Move, Night, Round

_SETTING = "loadBalancerDistributeBundlesEvenlyEnabled"


def even_distribution_override(night: Night) -> list[Finding]:
    """Find moves whose only candidate was the broker with the fewest bundles, not the coolest.

    The filter keeps the brokers with the fewest bundles of the bundle's namespace; where one
    is left, loads are not compared at all.  That it was this filter is proved by doing it
    again: it leaves as many candidates as the leader logged.  High if the broker was hotter
    than the average and another cooler by the placer's margin, medium for either of both,
    low if another was cooler at all; none if it was the coolest anyway.

    Source:
        impl/LoadManagerShared.java removeMostServicingBrokersForNamespace, 4.0.8 (#16059)
    """
    findings = []
    for logged in night.rounds:
        for move in logged.moves:
            finding = _finding(night, logged, move) if is_forced(move) else None
            if finding is not None:
                findings.append(finding)
    return findings


def is_forced(move: Move) -> bool:
    """Return whether the filter, done again, left the logged single candidate."""
    draw = move.draw
    return (
        draw is not None
        and draw.count == 1
        and draw.equal is True
        and not any(event.kind == "placer-scores" for event in draw.evidence)
    )


def _finding(night: Night, logged: Round, move: Move) -> Finding | None:
    loads, target = broker_loads(night, logged, move), move.target
    if loads is None or target is None or target not in loads.usage:
        return None
    right = loads.coolest(but=move.source)
    if right is None or not loads.is_cooler(right, target):
        return None
    usage, gap = loads.usage[target], loads.usage[target] - loads.usage[right]
    signs = (usage > loads.average()) + (gap >= night.margin)
    return Finding(
        code="even-distribution-override",
        severity=("low", "medium", "high")[signs],
        time=move.time,
        round=logged.number,
        title=f"{target} was the only candidate, and {right} was cooler",
        text=(
            f"The filter left the broker with the fewest bundles of the namespace. It stood at "
            f"{percent(usage)}, number {loads.rank(target)} of {len(loads.usage)} from the "
            f"hottest, and {right} at {percent(loads.usage[right])} ({loads.basis})."
        ),
        better=f"{right}, {points(gap)} cooler",
        advice=f"{_SETTING} = false; 5.0 has it so by default.",
        brokers=(move.source, target),
        bundles=(move.bundle,),
        moves=(move.id,),
        evidence=move.evidence,
        numbers={"target_usage": usage, "cooler_usage": loads.usage[right]},
    )


def _evenly(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    forced = [
        move
        for logged in night.rounds
        for move in logged.moves
        if move.draw is not None and move.draw.count == 1
    ]
    if not forced:
        return None
    setting = "loadBalancerDistributeBundlesEvenlyEnabled"
    return len(forced), Change(
        title=f"{setting} = false",
        why=(
            "The even-distribution filter keeps only the brokers with the fewest bundles of the "
            f"namespace, hot or cold: {many(len(forced), 'bundle')} had a single candidate left."
        ),
        effect=f"In {many(len(forced), 'case')} the placer would have had a choice.",
        evidence=place(places, setting),
        confidence="counted in the log: one broker was considered",
    )


ENTRY = FindingEntry(
    rule=even_distribution_override,
    rank=8,
    needs=(Need.LEADER_LOGS, Need.SETTINGS, Need.ROUNDS_DECIDED_AGAIN),
    words=Words(
        "forced by a filter",
        "Only the broker with the fewest bundles was a candidate, and another was cooler.",
    ),
    useless=Useless(32, "forced by a filter onto a broker hotter than the average", only_high=True),
    doubtful=7,
    cure=Cure(2, _evenly),
)
