"""Bundles whose destination was drawn by lot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.diagnose.broker_loads import BrokerLoads, broker_loads, percent, points
from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.night import Draw, Finding, Move, Night, Round

_SETTING = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"


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
        _finding(night, logged, move, move.draw)
        for logged in night.rounds
        for move in logged.moves
        if move.draw is not None and move.draw.is_fallback and (move.draw.count or 2) > 1
    ]


def _finding(night: Night, logged: Round, move: Move, draw: Draw) -> Finding:
    loads = broker_loads(night, logged, move)
    better, heat, severity = _better(loads, move, draw)
    lots = f"{draw.count} brokers" if draw.count else "all candidates"
    return Finding(
        code="random-placement",
        severity=severity,
        time=move.time,
        round=logged.number,
        title=f"{move.bundle} was placed by lot on {move.target or 'an unknown broker'}",
        text=f"{_bar(draw)} The destination was drawn at random among {lots}. {heat}".strip(),
        better=better,
        advice=_advice(draw),
        brokers=tuple(b for b in (move.source, move.target) if b),
        bundles=(move.bundle,),
        moves=(move.id,),
        evidence=move.evidence,
        numbers=_numbers(draw, loads, move),
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


def _bar(draw: Draw) -> str:
    near = closest(draw)
    if near is None or draw.average is None or draw.margin is None:
        return "Nobody stood far enough below the average of the placer's own scores."
    broker, score, missed = near
    if draw.average < draw.margin:
        return (
            f"The average of the placer's own scores was {percent(draw.average)}, so nobody could "
            f"stand {points(draw.margin)} below it."
        )
    bar = percent(draw.average - draw.margin)
    return (
        f"Nobody stood {points(draw.margin)} below the average of the placer's own scores, "
        f"{percent(draw.average)}: the bar was {bar}, and {broker} with {percent(score)} "
        f"missed it by {missed:.3f} ({points(missed)})."
    )


def _better(loads: BrokerLoads | None, move: Move, draw: Draw) -> tuple[str, str, str]:
    """Return which broker would have been right, how hot the drawn one was, how bad that is.

    A draw is bad (high) if it fell on a broker hotter than the average, a chance missed
    (medium) if another stood a whole margin below the drawn one, and luck otherwise.
    """
    target = move.target
    if loads is None or target is None or target not in loads.usage:
        return "not known: the recording has no usage of the brokers", "", "medium"
    right = loads.coolest(but=move.source)
    rank, many = loads.rank(target), len(loads.usage)
    heat = (
        f"It fell on {target}, number {rank} of {many} from the hottest, at "
        f"{percent(loads.usage[target])} ({loads.basis})."
    )
    if right is None or not loads.is_cooler(right, target):
        return f"{target} itself: nobody was cooler, the draw was lucky", heat, "low"
    away = " The filters before the placer had left it out." if _is_left_out(right, draw) else ""
    better = (
        f"{right} at {percent(loads.usage[right])}, "
        f"{points(loads.usage[target] - loads.usage[right])} cooler ({loads.basis}).{away}"
    )
    if loads.usage[target] > loads.average():
        return better, heat, "high"
    is_far = draw.margin is not None and loads.usage[target] - loads.usage[right] >= draw.margin
    return better, heat, "medium" if is_far else "low"


def _is_left_out(broker: str, draw: Draw) -> bool:
    return bool(draw.scores) and broker not in draw.scores


def _advice(draw: Draw) -> str:
    near = closest(draw)
    if near is None or draw.average is None:
        return f"Lower {_SETTING}, or use a placer that does not draw by lot (AvgShedder)."
    enough = int((draw.average - near[1]) * 100)
    if enough < 1:
        return "No margin would have helped: the candidates' scores are too close together."
    return f"{_SETTING} = {enough} would have let {near[0]} pass."


def _numbers(draw: Draw, loads: BrokerLoads | None, move: Move) -> dict[str, Any]:
    numbers: dict[str, Any] = {"candidates": draw.count}
    near = closest(draw)
    if near is not None and draw.average is not None and draw.margin is not None:
        numbers |= {
            "placer_scores": dict(draw.scores),
            "placer_average": draw.average,
            "margin": draw.margin,
            "bar": draw.average - draw.margin,
            "closest": near[0],
            "missed_by": near[2],
        }
    target = move.target
    if loads is not None and target is not None and target in loads.usage:
        numbers |= {
            "target_usage": loads.usage[target],
            "target_rank": loads.rank(target),
            "usage": dict(loads.usage),
            "usage_basis": loads.basis,
        }
    return numbers


def _margin(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    """Return the largest margin under which as many draws as possible had a candidate."""
    draws = [
        move.draw
        for logged in night.rounds
        for move in logged.moves
        if move.draw is not None and move.draw.is_fallback and (move.draw.count or 2) > 1
    ]
    depths = sorted(
        (draw.average - near[1] for draw in draws if (near := closest(draw)) and draw.average),
        reverse=True,
    )
    whole = [int(depth * 100) for depth in depths if int(depth * 100) >= 1]
    if not whole:
        return None
    margin, enough = min(whole), len(whole)
    setting = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    return len(draws), Change(
        title=f"{setting} = {margin}",
        why=(
            f"With a margin of {night.margin * 100:g} points nobody was cool enough for "
            f"{many(len(draws), 'bundle')}, and a lot was drawn."
        ),
        effect=f"{enough} of these {len(draws)} draws would have had a candidate.",
        evidence=place(places, setting),
        confidence="counted on the placer's own scores of this recording",
    )


ENTRY = FindingEntry(
    rule=random_placement,
    rank=1,
    needs=(Need.LEADER_LOGS, Need.PLACER_SCORES),
    words=Words(
        "drawn by lot",
        "No broker was cold enough to be a candidate, so the target was drawn by lot.",
    ),
    useless=Useless(31, "drawn by lot onto a broker hotter than the average", only_high=True),
    doubtful=6,
    cure=Cure(1, _margin),
)
