"""Bundles that went elsewhere than they were sent."""

from __future__ import annotations

from typing import Any

from trimtab.diagnose.broker_loads import broker_loads
from trimtab.diagnose.evidence import of_moves
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
    takers = new_owners(night)
    return [
        _finding(night, logged, move, owner)
        for logged in night.rounds
        for move in logged.moves
        if move.target
        and (owner := takers.get(move.id))
        and owner not in (move.target, move.source)
    ]


def _finding(night: Night, logged: Round, move: Move, owner: str) -> Finding:
    loads, target = broker_loads(night, logged, move), move.target or ""
    values: dict[str, Any] = {}
    is_worse = False
    if loads is not None and {owner, target} <= loads.usage.keys():
        is_worse = loads.is_cooler(target, owner)
        values = {
            "owner_usage": loads.usage[owner],
            "target_usage": loads.usage[target],
            "basis": loads.basis,
        }
    return Finding(
        "lost-destination.compared" if values else "lost-destination",
        "medium" if is_worse else "low",
        move.time,
        move.round,
        brokers=(move.source, target, owner),
        numbers={"owner": owner},
        values=values,
        **of_moves([move]),
    )
