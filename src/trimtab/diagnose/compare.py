"""Logged rounds beside the recomputed ones: equal, different, or not decidable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.diagnose.night import BrokerState, Draw, Event, Move, Recomputed, Round

_MIB = 1_048_576.0
#: Lines that name a bundle which the shedder chose, whatever became of it.
_CHOSEN_KINDS = frozenset({"unload", "no-broker-available", "same-destination", "unload-failed"})


def compared(
    logged: Round,
    replayed: Mapping[str, Any],
    placements: Mapping[tuple[str, int], Mapping[str, Any]],
    settings: Any,
) -> Round:
    """Put a logged round beside its recomputation, number by number.

    Args:
        logged: the round as logged.
        replayed: its row of `replayed_rounds`.
        placements: rows of `replayed_placements` by (file, line).
        settings: the shedder's settings, for the threshold.

    Returns:
        The round with its brokers' numbers, its verdict and that of each move.
    """
    states = {row["broker"]: row for row in replayed["brokers"]}
    threshold = settings.threshold
    differences = _attempt_differences(logged, replayed, states, threshold)
    chosen = _chosen_differences(logged, replayed)
    moves = tuple(
        _compared_move(move, replayed, differences | chosen, placements) for move in logged.moves
    )
    return replace(
        logged,
        moves=moves,
        brokers={b: _state(row) for b, row in states.items()},
        average=replayed["average"],
        threshold=threshold,
        recomputed=_verdict(differences | chosen, replayed, {}),
    )


def _attempt_differences(
    logged: Round, replayed: Mapping[str, Any], states: Mapping[str, Any], threshold: float
) -> dict[str, str]:
    """Compare what the shedder printed of each broker, to the last digit.

    Returns:
        Broker → the first difference in words; brokers that agree are absent.
    """
    found: dict[str, str] = {}
    attempts = [event for event in logged.events if event.kind == "shed-attempt"]
    for event in attempts:
        broker = event.broker or ""
        state = states.get(broker)
        if state is None or state["offload"] is None:
            found[broker] = f"{broker} was shed, recomputed it is not above the bar"
            continue
        carried, offload = state["throughput"], state["offload"]
        recomputed = {
            "usage_percent": state["smoothed"] * 100,
            "average_percent": replayed["average"] * 100,
            "threshold_percent": threshold * 100,
            "offload_mbyte_s": offload / _MIB,
            "left_mbyte_s": (carried - offload) / _MIB,
        }
        for name, value in recomputed.items():
            if event.numbers.get(name) != value:
                was = event.numbers.get(name)
                found[broker] = f"{name} of {broker} was {was!r}, recomputed {value!r}"
                break
    shed = {row["source"] for row in replayed["unloads"]}
    for broker in shed - {event.broker for event in attempts}:
        if attempts:
            found[broker] = f"{broker} was left alone, recomputed it sheds"
    return found


def _chosen_differences(logged: Round, replayed: Mapping[str, Any]) -> dict[str, str]:
    """Compare the bundles chosen of each broker, as sets."""
    was: dict[str, set[str]] = {}
    for event in logged.events:
        if event.kind in _CHOSEN_KINDS and event.broker and event.bundle:
            was.setdefault(event.broker, set()).add(event.bundle)
    recomputed: dict[str, set[str]] = {}
    for row in replayed["unloads"]:
        recomputed.setdefault(row["source"], set()).add(row["bundle"])
    return {
        broker: (
            f"bundles of {broker}: logged {_names(was.get(broker))}, "
            f"recomputed {_names(recomputed.get(broker))}"
        )
        for broker in was.keys() | recomputed.keys()
        if was.get(broker) != recomputed.get(broker)
    }


def _names(bundles: set[str] | None) -> str:
    return ", ".join(sorted(bundles or ())) or "none"


def _verdict(
    differences: Mapping[str, str], replayed: Mapping[str, Any], numbers: Mapping[str, Any]
) -> Recomputed:
    if not differences:
        return Recomputed(True, "every printed digit and every bundle agrees", numbers)
    why = "; ".join(differences[broker] for broker in sorted(differences))
    doubt = replayed["doubt"] or replayed["bundle_doubt"]
    if doubt:
        return Recomputed(None, f"{doubt} ({why})", numbers)
    return Recomputed(False, why, numbers)


def _compared_move(
    move: Move,
    replayed: Mapping[str, Any],
    differences: Mapping[str, str],
    placements: Mapping[tuple[str, int], Mapping[str, Any]],
) -> Move:
    state = next((row for row in replayed["brokers"] if row["broker"] == move.source), None)
    throughput = next(
        (
            row["throughput"]
            for row in replayed["unloads"]
            if (row["source"], row["bundle"]) == (move.source, move.bundle)
        ),
        None,
    )
    numbers: dict[str, Any] = {}
    if state is not None:
        numbers = {
            "usage": state["usage"],
            "smoothed": state["smoothed"],
            "average": replayed["average"],
            "offload_bytes_s": state["offload"],
            "throughput_bytes_s": state["throughput"],
        }
    mine = {b: why for b, why in differences.items() if b == move.source}
    draw = _compared_draw(move.draw, move.target, placements)
    if draw is not None and draw.scores:
        numbers["placer_scores"] = dict(draw.scores)
        numbers["placer_average"] = draw.average
        numbers["placement_equal"] = draw.equal
    return replace(
        move,
        throughput=throughput,
        draw=draw,
        recomputed=_verdict(mine, replayed, numbers),
    )


def _compared_draw(
    draw: Draw | None,
    target: str | None,
    placements: Mapping[tuple[str, int], Mapping[str, Any]],
) -> Draw | None:
    """Put the placer's logged draw beside the recomputed one."""
    if draw is None or draw.scores:
        return draw
    row = next((placements[at] for at in _lines(draw.evidence) if at in placements), None)
    if row is None:
        return draw
    equal = (
        len(row["candidates"]) == draw.count
        and row["is_fallback"] == draw.is_fallback
        and target in row["best"]
    )
    if not equal and row["doubt"]:
        return draw
    return replace(
        draw,
        scores=dict(zip(row["candidates"], row["scores"], strict=True)),
        average=row["average"],
        equal=equal,
    )


def _lines(events: Sequence[Event]) -> list[tuple[str, int]]:
    return [(event.file, event.line) for event in events]


def _state(row: Mapping[str, Any]) -> BrokerState:
    return BrokerState(
        usage=row["usage"],
        smoothed=row["smoothed"],
        throughput=row["throughput"],
        offload=row["offload"],
        bundles=row["bundles"],
    )
