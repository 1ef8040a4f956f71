"""What is planned → a document of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from trimtab.lab.planning import Planned, Snapshot
from trimtab.lab.planning.obstacle import Obstacle

#: What is planned, as plain values.
Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan goes out from, in words."""

    #: Of the cluster, or the recording.
    name: str
    #: Whether costs were learned; else usage goes by the share of traffic.
    is_learned: bool
    #: Hours ahead whose peak is planned for; 0 is now.
    hours: int = 0
    #: What a reader should know, a sentence each.
    notes: tuple[str, ...] = ()


def document(basis: Basis, snapshot: Snapshot, planned: Planned) -> Document:
    """Return what is planned as plain values; usages are percent.

    Properties:
        The same plan gives the same document.
    """
    curve, choice, course = planned.frontier, planned.recommendation, planned.course
    return {
        "cluster": basis.name,
        "costs": "learned" if basis.is_learned else "share of traffic",
        "hours": basis.hours,
        "notes": list(basis.notes),
        "highest_percent": course.highest.tolist(),
        "lowest_percent": course.lowest.tolist(),
        "frontier": [
            {
                "moves": i,
                "peak": float(curve.peak[i]),
                "low": float(planned.low[i]),
                "high": float(planned.high[i]),
                "bound": float(curve.bound[i]),
            }
            for i in range(curve.peak.size)
        ],
        "recommended": choice.moves,
        "next": {
            "moves": choice.next_moves,
            "gain": choice.next_gain,
            "is_unsure": choice.is_unsure,
        },
        "moves": list(_moves(snapshot, planned)),
        "aside": list(_obstacles(snapshot, planned.aside)),
        "last": next(_obstacles(snapshot, [planned.last] if planned.last else []), None),
    }


def _moves(snapshot: Snapshot, planned: Planned) -> Iterator[dict[str, Any]]:
    course, moves = planned.course, planned.moves
    pairs = zip(moves.bundle.tolist(), moves.to.tolist(), strict=True)
    for i, (bundle, to) in enumerate(pairs):
        yield {
            "bundle": snapshot.bundles[bundle],
            "source": snapshot.brokers[snapshot.owner[bundle]],
            "destination": snapshot.brokers[to],
            "traffic_bytes_s": float(snapshot.traffic[bundle]),
            "highest": float(course.highest[i + 1]),
            "lowest": float(course.lowest[i + 1]),
        }


def _obstacles(snapshot: Snapshot, obstacles: Iterable[Obstacle]) -> Iterator[dict[str, Any]]:
    for each in obstacles:
        yield {
            "broker": snapshot.brokers[each.broker],
            "usage": each.usage,
            "split": snapshot.bundles[each.bundle] if each.bundle >= 0 else None,
            "points": each.points,
            "elsewhere": each.elsewhere if np.isfinite(each.elsewhere) else None,
        }
