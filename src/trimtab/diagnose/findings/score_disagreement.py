"""Rounds in which shedder and placer saw different clusters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.pulsar.model import Floats

#: Of more brokers than this only those are named whose scores are furthest apart.
_NAMED_MAX = 100
_FURTHEST = 5


def score_disagreement(night: Night) -> list[Finding]:
    """Find rounds in which shedder and placer rank or score the same brokers differently.

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
        "medium" if swapped else "low",
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

    In the shedder's order a broker is swapped with each before it to which the placer gives
    more.  Brokers that are equal to the shedder stand in the placer's order: they are not.
    """
    before: list[float] = []
    count = 0
    order = np.lexsort((placer, shedder))
    for score in placer[order[~np.isnan(shedder - placer)[order]]].tolist():
        place = bisect_right(before, score)
        count += len(before) - place
        before.insert(place, score)
    if not count:
        return None, 0
    turned = (
        np.sign(shedder - one) * np.sign(placer - other) < 0
        for one, other in zip(shedder, placer, strict=True)
    )
    pairs = ((i, int(np.argmax(row))) for i, row in enumerate(turned) if row.any())
    return next(pairs, None), count


def _named(gaps: Floats) -> list[int]:
    """Return the brokers that are named: all, or of very many those furthest apart."""
    if len(gaps) <= _NAMED_MAX:
        return list(range(len(gaps)))
    return sorted(np.argsort(-gaps, kind="stable")[:_FURTHEST].tolist())
