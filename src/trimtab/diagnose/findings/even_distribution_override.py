"""Destinations forced by the number of bundles, whatever the load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trimtab.diagnose.broker_loads import broker_loads
from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import WHOLE, of_moves
from trimtab.diagnose.night import Event, Finding, Move, Night, Round
from trimtab.pulsar.releases import release_order


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


def is_sole_candidate(night: Night, lines: Iterable[Event]) -> bool:
    """Return whether one broker was considered while bundles are distributed evenly.

    `lines` are those of one selection.  Other filters leave a single broker too: it is what the
    filter does, and not proved that nothing else did.  Where no setting is known, it is not said.
    """
    counts = [event.count for event in lines if event.kind == "candidates-considered"]
    default = "false" if release_order(night.release) >= release_order("5.0") else "true"
    is_even = night.conf.get("loadBalancerDistributeBundlesEvenlyEnabled", default) != "false"
    is_even = is_even or release_order(night.release) < release_order("2.11")
    return is_even and night.has_settings and counts[-1:] == [1]


def _finding(night: Night, logged: Round, move: Move) -> Finding | None:
    loads, target = broker_loads(night, logged, move), move.target
    if loads is None or target is None or target not in loads.usage:
        return None
    right = loads.coolest(but=move.source)
    if right is None or not loads.is_cooler(right, target):
        return None
    usage, cooler = loads.usage[target], loads.usage[right]
    signs = (usage > loads.average()) + (usage - cooler >= night.margin)
    return Finding(
        "even-distribution-override",
        ("low", "medium", "high")[signs],
        move.time,
        logged.number,
        brokers=(move.source, target),
        numbers={"target_usage": usage, "cooler_usage": cooler},
        values={
            "right": right,
            "place": loads.rank(target),
            "count": len(loads.usage),
            "basis": loads.basis,
            "gap": usage - cooler,
        },
        **of_moves([move], lines=WHOLE),
    )


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal to turn the filter off, for bundles to which it left one candidate."""
    del findings
    forced = sum(move.draw is not None and move.draw.count == 1 for move in night.moves())
    return Proposal(forced, {"forced": forced}) if forced else None
