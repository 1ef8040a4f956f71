"""Rounds in which shedder and placer saw different clusters."""

from __future__ import annotations

from itertools import combinations

from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.standing import percent, points


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
    swapped = [
        (a, b)
        for a, b in combinations(pairs, 2)
        if (pairs[a][0] - pairs[b][0]) * (pairs[a][1] - pairs[b][1]) < 0
    ]
    widest = max(pairs, key=lambda broker: abs(pairs[broker][0] - pairs[broker][1]))
    gap = abs(pairs[widest][0] - pairs[widest][1])
    if not swapped and gap <= night.margin:
        return None
    order = "".join(
        f" The shedder holds {a if pairs[a][0] > pairs[b][0] else b} for the hotter of "
        f"{a} and {b}, the placer the other."
        for a, b in swapped[:1]
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
        brokers=tuple(pairs),
        bundles=(move.bundle,),
        evidence=move.evidence,
        numbers={
            "scores": {
                broker: {"shedder": shedder, "placer": placer}
                for broker, (shedder, placer) in pairs.items()
            },
            "swapped_pairs": len(swapped),
        },
    )
