"""Bundles that went elsewhere than they were sent."""

from __future__ import annotations

from trimtab.diagnose.broker_loads import broker_loads, percent
from trimtab.diagnose.entry import FindingEntry, Need, Words
from trimtab.diagnose.new_owners import new_owners
from trimtab.diagnose.night import Finding, Move, Night, Round


def lost_destination(night: Night) -> list[Finding]:
    """Find unloads whose bundle was taken by a third broker, neither source nor destination.

    The destination is remembered by range alone and dropped at the first of several lookups
    that come at once, so the next one places the bundle anew.  Medium if the third broker
    stood hotter than the one that was meant, low otherwise.

    Source:
        impl/ModularLoadManagerImpl.java setNamespaceBundleAffinity, 4.0.8 (#24884, #25518)
    """
    findings = []
    takers = new_owners(night)
    for logged in night.rounds:
        for move in logged.moves:
            owner = takers.get(move.id)
            if move.target and owner and owner not in (move.target, move.source):
                findings.append(_finding(night, logged, move, owner))
    return findings


def _finding(night: Night, logged: Round, move: Move, owner: str) -> Finding:
    loads = broker_loads(night, logged, move)
    target, heat, is_worse = move.target or "", "", False
    if loads is not None and {owner, target} <= loads.usage.keys():
        is_worse = loads.is_cooler(target, owner)
        heat = (
            f" They stood at {percent(loads.usage[owner])} and {percent(loads.usage[target])} "
            f"({loads.basis})."
        )
    return Finding(
        code="lost-destination",
        severity="medium" if is_worse else "low",
        time=move.time,
        round=move.round,
        title=f"{move.bundle} went to {owner} instead of {target}",
        text=f"The leader sent it to {target}, and {owner} took it.{heat}",
        better=f"{target}, as decided",
        advice=(
            "Several lookups at once use the destination up (#24884), and equal ranges of two "
            "namespaces share it (#25518): look whether your release has the corrections."
        ),
        brokers=(move.source, target, owner),
        bundles=(move.bundle,),
        moves=(move.id,),
        evidence=move.evidence[-1:],
        numbers={"owner": owner},
    )


ENTRY = FindingEntry(
    rule=lost_destination,
    rank=12,
    needs=(Need.LEADER_LOGS, Need.TAKERS),
    words=Words("taken by another", "Another broker than the one chosen took the bundle."),
    doubtful=5,
)
