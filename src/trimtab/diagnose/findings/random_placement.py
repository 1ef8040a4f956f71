"""Bundles whose destination was drawn by lot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trimtab.diagnose.broker_loads import BrokerLoads, broker_loads
from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import WHOLE, of_moves
from trimtab.diagnose.night import Draw, Finding, Move, Night, Round


def random_placement(night: Night) -> list[Finding]:
    """Find moves whose destination was drawn by lot among several brokers.

    The placer takes brokers that stand a margin below the average of its own scores.
    When nobody does, it draws among all candidates, hot or cold, and says in the log
    that "all brokers are overloaded", which is not what happened.

    Quirks:
        One candidate is no draw: the filters before the placer had chosen already.

    Source:
        impl/LeastResourceUsageWithWeight.java selectBroker, 4.0.8
    """
    return [
        _finding(night, logged, move, draw)
        for logged in night.rounds
        for move in logged.moves
        if (draw := _among_several(move)) is not None
    ]


def _among_several(move: Move) -> Draw | None:
    """Return the draw by lot of a move's destination; None if there was none."""
    draw = move.draw
    return draw if draw is not None and draw.is_fallback and (draw.count or 2) > 1 else None


def _finding(night: Night, logged: Round, move: Move, draw: Draw) -> Finding:
    scored = _of_scores(draw)
    compared, severity = _of_usage(broker_loads(night, logged, move), move, draw)
    return Finding(
        f"random-placement{scored.variants}{compared.variants}",
        severity,
        move.time,
        logged.number,
        brokers=tuple(b for b in (move.source, move.target) if b),
        numbers={"candidates": draw.count, **scored.numbers, **compared.numbers},
        values={
            "target": move.target or "an unknown broker",
            "lots": f"{draw.count} brokers" if draw.count else "all candidates",
            **scored.values,
            **compared.values,
        },
        **of_moves([move], lines=WHOLE),
    )


def closest(draw: Draw) -> tuple[str, float, float] | None:
    """Return the candidate nearest to the bar, its score, and by how much it missed.

    Returns:
        (broker, score, distance), fractions; None where the scores are not known.
    """
    if not draw.scores or draw.average is None or draw.margin is None:
        return None
    broker = min(draw.scores, key=draw.scores.__getitem__)
    return broker, draw.scores[broker], draw.scores[broker] + draw.margin - draw.average


class _Part(NamedTuple):
    """What one side of the evidence adds to a finding."""

    variants: str = ""
    numbers: Mapping[str, Any] = {}
    values: Mapping[str, Any] = {}


def _of_scores(draw: Draw) -> _Part:
    """Return what the placer's scores show: where the bar was, and who was nearest to it."""
    near = closest(draw)
    if near is None or draw.average is None or draw.margin is None:
        return _Part()
    broker, score, missed = near
    enough = int((draw.average - score) * 100)
    bar = ".impossible" if draw.average < draw.margin else ".missed"
    numbers = {
        "placer_scores": dict(draw.scores),
        "placer_average": draw.average,
        "margin": draw.margin,
        "bar": draw.average - draw.margin,
        "closest": broker,
        "missed_by": missed,
    }
    advice = ".too-close" if enough < 1 else ".enough"
    return _Part(bar + advice, numbers, {"score": score, "enough": enough})


def _of_usage(loads: BrokerLoads | None, move: Move, draw: Draw) -> tuple[_Part, str]:
    """Return what usage shows: how hot the drawn broker was, which was right; and how bad that is.

    A draw is bad (high) if it fell on a broker hotter than the average, a chance missed
    (medium) if another stood a whole margin below the drawn one, and luck otherwise.
    """
    target = move.target
    if loads is None or target is None or target not in loads.usage:
        return _Part(), "medium"
    usage, right = loads.usage[target], loads.coolest(but=move.source)
    numbers = {
        "target_usage": usage,
        "target_rank": loads.rank(target),
        "usage": dict(loads.usage),
        "usage_basis": loads.basis,
    }
    values: dict[str, Any] = {"count": len(loads.usage)}
    if right is None or not loads.is_cooler(right, target):
        return _Part(".known.lucky", numbers, values), "low"
    gap = usage - loads.usage[right]
    values |= {"right": right, "right_usage": loads.usage[right], "gap": gap}
    is_left_out = bool(draw.scores) and right not in draw.scores
    is_far = draw.margin is not None and gap >= draw.margin
    severity = "high" if usage > loads.average() else "medium" if is_far else "low"
    return _Part(".known.cooler" + ".left-out" * is_left_out, numbers, values), severity


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the largest margin under which as many draws as possible had a candidate."""
    del findings
    draws = [draw for move in night.moves() if (draw := _among_several(move)) is not None]
    depths = [draw.average - near[1] for draw in draws if (near := closest(draw)) and draw.average]
    whole = [int(depth * 100) for depth in depths if int(depth * 100) >= 1]
    if not whole:
        return None
    values = {
        "enough": min(whole),
        "margin_points": night.margin * 100,
        "draws": len(draws),
        "spared": len(whole),
    }
    return Proposal(len(draws), values)
