"""Bundles unloaded and taken again by the broker that had them."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_moves
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
            "same-broker",
            "high" if len(same) > 1 else "medium",
            same[0].time,
            same[0].round,
            brokers=(same[0].source,),
            numbers={"unloads": len(same)},
            **of_moves(same) | {"bundles": (bundle,)},
        )
        for bundle, same in moves.items()
    ]
