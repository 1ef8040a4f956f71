"""The broker that is highest, and the bundle because of which it stays so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.frontier import Moves, Question, moved

# Share of a broker's usage from which one bundle is what keeps it high.
_LARGE = 0.3


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A broker that moves do not bring down."""

    broker: int
    usage: float
    #: Its largest bundle, if splitting it would help: as a whole it fits nowhere; else -1.
    bundle: int
    #: Points that it takes there, and where it would bring whoever has most room for it.
    points: float
    elsewhere: float


def obstacle(question: Question, moves: Moves) -> Obstacle | None:
    """Return the broker that is highest after moves, and what keeps it there; None if none counts.

    A bundle is named if it takes much of the broker, if whoever takes it would be as high, and
    if half of it would fit somewhere.
    """
    q = question
    if not q.is_counted.any():
        return None
    usage = moved(q, moves)
    owner = q.owner.copy()
    owner[moves.bundle] = moves.to
    highest = np.where(q.is_counted, usage.max(axis=1), -np.inf)
    broker = int(highest.argmax())
    peak, column = float(highest[broker]), int(usage[broker].argmax())
    own = np.flatnonzero((owner == broker) & q.is_movable)
    nothing = Obstacle(broker, peak, -1, 0.0, 0.0)
    if own.size == 0:
        return nothing
    points = q.speed[broker, column] * q.cost[own, column]
    bundle = int(own[points.argmax()])
    who = q.allowed[q.kind[bundle]] & q.is_counted
    who[broker] = False
    if points.max() < _LARGE * peak or not who.any():
        return nothing
    whole, half = (
        float((usage + share * q.speed * q.cost[bundle]).max(axis=1)[who].min())
        for share in (1.0, 0.5)
    )
    if whole < peak or half >= peak:
        return nothing
    return Obstacle(broker, peak, bundle, float(points.max()), whole)
