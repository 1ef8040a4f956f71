"""Rounds in which shedder and placer saw different clusters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.standing import percent, points

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
    found = []
    for logged in night.rounds:
        for move in logged.moves:
            finding = _finding(night, logged, move)
            if finding is not None:
                found.append(finding)
                break
    return found


def _finding(night: Night, logged: Round, move: Move) -> Finding | None:
    if move.draw is None:
        return None
    pairs = {
        broker: (state.smoothed, move.draw.scores[broker])
        for broker, state in logged.brokers.items()
        if state.smoothed is not None and broker in move.draw.scores
    }
    if len(pairs) < 2:
        return None
    swapped, count = _swapped(pairs)
    widest = max(pairs, key=lambda broker: abs(pairs[broker][0] - pairs[broker][1]))
    gap = abs(pairs[widest][0] - pairs[widest][1])
    if not swapped and gap <= night.margin:
        return None
    order = "".join(
        f" The shedder holds {a if pairs[a][0] > pairs[b][0] else b} for the hotter of "
        f"{a} and {b}, the placer the other."
        for a, b in swapped
    )
    return Finding(
        code="score-disagreement",
        severity="medium" if swapped else "low",
        time=logged.time,
        round=logged.number,
        title="Shedder and placer disagree about who is hot",
        text=(
            f"For {widest} the shedder's score is {percent(pairs[widest][0])} and the placer's "
            f"{percent(pairs[widest][1])}, {points(gap)} apart in the same second.{order}"
        ),
        better="one score for both decisions",
        advice="Use AvgShedder for both roles: one object, one score.",
        brokers=tuple(_named(pairs)),
        bundles=(move.bundle,),
        evidence=move.evidence,
        numbers={
            "scores": {
                broker: {"shedder": shedder, "placer": placer}
                for broker, (shedder, placer) in _named(pairs).items()
            },
            "swapped_pairs": count,
        },
    )


def _swapped(pairs: Mapping[str, tuple[float, float]]) -> tuple[list[tuple[str, str]], int]:
    """Find the first pair of brokers that the two rank differently, and count all of them."""
    brokers = list(pairs)
    shedder, placer = np.array(list(pairs.values())).T
    with np.errstate(all="ignore"):
        turned = np.subtract.outer(shedder, shedder) * np.subtract.outer(placer, placer) < 0
    turned = np.triu(turned)
    if not turned.any():
        return [], 0
    a, b = np.unravel_index(int(np.argmax(turned)), turned.shape)
    return [(brokers[int(a)], brokers[int(b)])], int(np.count_nonzero(turned))


def _named(pairs: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Choose the brokers that are named: all, or of very many those furthest apart."""
    if len(pairs) <= _NAMED_MAX:
        return dict(pairs)
    ranked = sorted(pairs, key=lambda broker: -abs(pairs[broker][0] - pairs[broker][1]))
    kept = set(ranked[:_FURTHEST])
    return {broker: scores for broker, scores in pairs.items() if broker in kept}
