"""Bundles unloaded and taken again by the broker that had them."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.new_owners import new_owners
from trimtab.diagnose.night import Finding, Move, Night


def same_broker(night: Night) -> list[Finding]:
    """Find unloads after which the source itself took the bundle again.

    Its clients were interrupted and nothing else changed.  Before #20822 the source was among
    the candidates; later it comes of a lookup that does not heed the chosen destination.
    The unload names its source as the destination, or the source's log says that it acquired
    the bundle next.  One finding a bundle; high from two such unloads on, medium before.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, 3.0.0 and 4.0.8 (#21722)
    """
    takers = new_owners(night)
    moves: dict[str, list[Move]] = {}
    for logged in night.rounds:
        for move in logged.moves:
            if move.source in (move.target, takers.get(move.id)):
                moves.setdefault(move.bundle, []).append(move)
    return [_finding(bundle, same) for bundle, same in moves.items()]


def _finding(bundle: str, moves: list[Move]) -> Finding:
    first = moves[0]
    return Finding(
        code="same-broker",
        severity="high" if len(moves) > 1 else "medium",
        time=first.time,
        round=first.round,
        title=f"{bundle} was unloaded and taken again by {first.source}",
        text=f"So it went {len(moves)} time(s). Its clients were interrupted, and nothing changed.",
        better="another broker, or no unload",
        advice=(
            "Upgrade, if the unload names its source: #20822 took it out of the candidates. "
            "Otherwise a lookup did not heed the destination (#24884)."
        ),
        brokers=(first.source,),
        bundles=(bundle,),
        moves=tuple(move.id for move in moves),
        evidence=tuple(event for move in moves[:5] for event in move.evidence[-1:]),
        numbers={"unloads": len(moves)},
    )


ENTRY = FindingEntry(
    rule=same_broker,
    rank=9,
    needs=(Need.LEADER_LOGS, Need.OTHER_LOGS, Need.TAKERS),
    words=Words("back at once", "The broker that lost the bundle took it again."),
    useless=Useless(11, "taken again by the broker that had just lost it"),
)
