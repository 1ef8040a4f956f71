"""Bundles unloaded and taken again by the broker that had them."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.findings.even_distribution_override import is_sole_candidate
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
    for move in night.moves():
        if move.source in (move.target, takers.get(move.id)):
            moves.setdefault(move.bundle, []).append(move)
    return [
        Finding(
            f"same-broker{_why(night, same)}",
            "high" if len(same) > 1 else "medium",
            same[0].time,
            same[0].round,
            brokers=(same[0].source,),
            numbers={"unloads": len(same)},
            **of_moves(same) | {"bundles": (bundle,)},
        )
        for bundle, same in moves.items()
    ]


def _why(night: Night, same: list[Move]) -> str:
    """Return the variant of the wording that names the cause, if the lines do."""
    named = [move for move in same if move.target == move.source]
    is_even = any(is_sole_candidate(night, move.evidence) for move in named)
    return ".sole-candidate" if is_even else ""
