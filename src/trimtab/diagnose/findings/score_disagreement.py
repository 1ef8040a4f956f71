"""Rounds in which shedder and placer saw different clusters."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.pulsar.model import Floats

#: Of more brokers than this only those are named whose scores are furthest apart.
_NAMED_MAX = 100
_FURTHEST = 5
#: Fraction by which each of the two scores must tell two brokers apart to rank them.
APART = 0.01


def score_disagreement(night: Night) -> list[Finding]:
    """Find rounds in which shedder and placer rank or score the same brokers differently.

    Ranked differently is only what both tell apart by a point or more.  Low: what comes of it
    is found by itself.

    Each keeps a smoothed usage of its own: the shedder's moves on once a round, the
    placer's once a selection and only for that selection's candidates.  With an unload
    an hour the placer's is as good as frozen.

    Source:
        impl/ThresholdShedder.java and impl/LeastResourceUsageWithWeight.java, 4.0.8: two
        maps brokerAvgResourceUsage
    """
    findings = []
    for logged in night.rounds:
        scores = {b: s.smoothed for b, s in logged.brokers.items() if s.smoothed is not None}
        for move in logged.moves:
            finding = _finding(night, logged, move, scores)
            if finding is not None:
                findings.append(finding)
                break
    return findings


def _finding(
    night: Night, logged: Round, move: Move, scores: Mapping[str, float]
) -> Finding | None:
    if move.draw is None:
        return None
    placed = move.draw.scores
    brokers = [broker for broker in scores if broker in placed]
    if len(brokers) < 2:
        return None
    shedder = np.array([scores[broker] for broker in brokers])
    placer = np.array([placed[broker] for broker in brokers])
    swapped, count = _swapped(shedder, placer)
    gaps = np.abs(shedder - placer)
    at = int(np.argmax(gaps))
    widest, gap = brokers[at], float(gaps[at])
    if not swapped and gap <= night.margin:
        return None
    values: dict[str, Any] = {
        "widest": widest,
        "shedder": scores[widest],
        "placer": placed[widest],
        "gap": gap,
    }
    if swapped:
        pair = [brokers[i] for i in swapped]
        values |= {"pair": pair, "hotter": pair[not scores[pair[0]] > scores[pair[1]]]}
    shown = [brokers[i] for i in _named(gaps)]
    return Finding(
        "score-disagreement.swapped" if swapped else "score-disagreement",
        "low",
        logged.time,
        logged.number,
        brokers=tuple(shown),
        bundles=(move.bundle,),
        evidence=move.evidence,
        numbers={
            "scores": {
                broker: {"shedder": scores[broker], "placer": placed[broker]} for broker in shown
            },
            "swapped_pairs": count,
        },
        values=values,
    )


def _swapped(shedder: Floats, placer: Floats) -> tuple[tuple[int, int] | None, int]:
    """Return the first pair of brokers that the two rank differently, and the number of all.

    Each of the two must tell them apart clearly: brokers that are about as loaded change places
    all the time, and nobody is worse for it.
    """
    known = np.flatnonzero(~np.isnan(shedder - placer))
    order = known[np.argsort(shedder[known])].tolist()
    # The placer's scores of those that are clearly cooler to the shedder than the one at hand.
    cooler: list[float] = []
    count = 0
    for i in order:
        while shedder[i] - shedder[order[len(cooler)]] >= APART:
            insort(cooler, float(placer[order[len(cooler)]]))
        count += len(cooler) - _at_least(cooler, float(placer[i]))
    if not count:
        return None, 0
    turned = (
        ((shedder - one) * (placer - other) < 0)
        & (np.minimum(abs(shedder - one), abs(placer - other)) >= APART)
        for one, other in zip(shedder, placer, strict=True)
    )
    pairs = ((i, int(np.argmax(row))) for i, row in enumerate(turned) if row.any())
    return next(pairs, None), count


def _at_least(cooler: Sequence[float], score: float) -> int:
    """Return the position of the first of ascending scores that is clearly above a score."""
    at = bisect_left(cooler, score + APART)
    # A sum and a difference may be rounded to two sides of the bar.
    while at > 0 and cooler[at - 1] - score >= APART:
        at -= 1
    while at < len(cooler) and cooler[at] - score < APART:
        at += 1
    return at


def _named(gaps: Floats) -> list[int]:
    """Return the brokers that are named: all, or of very many those furthest apart."""
    if len(gaps) <= _NAMED_MAX:
        return list(range(len(gaps)))
    return sorted(np.argsort(-gaps, kind="stable")[:_FURTHEST].tolist())
