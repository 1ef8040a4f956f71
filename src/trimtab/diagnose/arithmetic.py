"""Rounds recomputed from their own log lines, where these print the scores.

A broker built with extra logging prints the maps from which it decided; stock brokers
print only the result, of which the arithmetic can still be checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trimtab.diagnose.night import BrokerState, Event, Move, Recomputed, Round
from trimtab.pulsar.scores import mean_in_order

_MIB = 1_048_576.0
#: ADDITIONAL_THRESHOLD_PERCENT_MARGIN in ThresholdShedder.
_MARGIN = 0.05
#: Of numbers that are worked out from others that were rounded when they were printed.
_ROUNDING = 1e-12


def checked_against_print(logged: Round) -> Round:
    """Return a round, recomputed from the numbers that its own lines print.

    Returns:
        The round with the numbers found, and `equal` where every printed number follows
        from the others to the last digit; untouched where nothing can be checked.
    """
    raw = _last(logged, "usage-unsmoothed")
    smoothed = _last(logged, "usage-smoothed")
    numbers, differences = _shedder_numbers(logged, smoothed)
    if not numbers:
        return logged
    moves = tuple(_checked_move(move, numbers, differences) for move in logged.moves)
    why = "; ".join(differences) or "every printed number follows from the others, digit for digit"
    return replace(
        logged,
        moves=moves,
        brokers=_states(raw, smoothed, logged),
        average=numbers["average"],
        threshold=numbers["threshold"],
        recomputed=Recomputed(not differences, why, numbers),
    )


def _last(logged: Round, kind: str) -> Event | None:
    return next((event for event in reversed(logged.events) if event.kind == kind), None)


def _shedder_numbers(logged: Round, smoothed: Event | None) -> tuple[dict[str, Any], list[str]]:
    """Return ThresholdShedder's numbers by its own arithmetic, and where the printed ones differ.

    The printed percentages are fractions times 100 and the printed MB/s are bytes/s over
    2^20, so both ways are tried only where the printing allows it without loss.
    """
    attempt = _last(logged, "shed-attempt")
    if attempt is None or attempt.broker is None or "average_percent" not in attempt.numbers:
        return {}, []
    printed = attempt.numbers
    average = printed["average_percent"] / 100
    usage = printed["usage_percent"] / 100
    threshold = printed["threshold_percent"] / 100
    differences: list[str] = []
    numbers: dict[str, Any] = {}
    if smoothed is not None and smoothed.scores:
        numbers["smoothed"] = dict(smoothed.scores)
        usage = smoothed.scores[attempt.broker]
        average = mean_in_order(np.array(list(smoothed.scores.values())))
        threshold = smoothed.numbers.get("threshold", threshold)
        _compare(differences, "average", smoothed.numbers.get("average"), average)
        _compare(differences, "usage_percent", printed["usage_percent"], usage * 100)
        _compare(differences, "average_percent", printed["average_percent"], average * 100)
    excess = usage - average - threshold + _MARGIN
    carried = (printed["offload_mbyte_s"] + printed["left_mbyte_s"]) * _MIB
    offload = carried * excess
    _compare_rounded(differences, "offload_mbyte_s", printed, offload / _MIB)
    _compare_rounded(differences, "left_mbyte_s", printed, (carried - offload) / _MIB)
    numbers |= {
        "usage": usage,
        "average": average,
        "threshold": threshold,
        "excess": excess,
        "offload_mbyte_s": offload / _MIB,
        "left_mbyte_s": (carried - offload) / _MIB,
        "throughput_bytes_s": carried,
    }
    return numbers, differences


def _compare(differences: list[str], name: str, was: float | None, value: float) -> None:
    if was is not None and was != value:
        differences.append(f"{name} was {was!r}, recomputed {value!r}")


def _compare_rounded(
    differences: list[str], name: str, printed: Mapping[str, float], value: float
) -> None:
    """Compare what was added and taken apart again, which costs the last digits."""
    if not math.isclose(printed[name], value, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        _compare(differences, name, printed[name], value)


def _states(raw: Event | None, smoothed: Event | None, logged: Round) -> dict[str, BrokerState]:
    unsmoothed: Mapping[str, float] = raw.scores if raw else {}
    after: Mapping[str, float] = smoothed.scores if smoothed else {}
    printed = {
        event.broker: event.numbers["usage_percent"] / 100
        for event in logged.events
        if event.kind == "shed-attempt" and event.broker and "usage_percent" in event.numbers
    }
    brokers = dict.fromkeys([*unsmoothed, *after, *printed])
    return {
        broker: BrokerState(
            usage=unsmoothed.get(broker),
            smoothed=after.get(broker, printed.get(broker)),
        )
        for broker in brokers
    }


def _checked_move(move: Move, shedder: Mapping[str, Any], differences: list[str]) -> Move:
    numbers = dict(shedder)
    contradictions = list(differences)
    draw = move.draw
    if draw is not None and draw.scores and draw.average is not None and draw.margin is not None:
        average = mean_in_order(np.array(list(draw.scores.values())))
        best = [b for b, score in draw.scores.items() if score + draw.margin <= average]
        _compare(contradictions, "placer_average", draw.average, average)
        if bool(best) == draw.is_fallback:
            contradictions.append(f"placer's best brokers recomputed: {best or 'none'}")
        allowed = best or list(draw.scores)
        if move.target not in allowed:
            contradictions.append(f"{move.target} was chosen, recomputed it is not among {allowed}")
        numbers |= {"placer_scores": dict(draw.scores), "placer_average": average}
        draw = replace(draw, equal=len(contradictions) == len(differences))
        numbers["placement_equal"] = draw.equal
    why = (
        "; ".join(contradictions) or "every printed number follows from the others, digit for digit"
    )
    return replace(move, draw=draw, recomputed=Recomputed(not contradictions, why, numbers))
