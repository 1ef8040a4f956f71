"""Logged rounds beside the recomputed ones: equal, different, or not decidable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

from trimtab.diagnose.night import BrokerState, Draw, Move, Recomputed, Round
from trimtab.diagnose.printed_differences import printed_differences, state_of

#: Lines that name a bundle which the shedder chose, whatever became of it.
_CHOSEN_KINDS = frozenset({"unload", "no-broker-available", "same-destination", "unload-failed"})

Row = Mapping[str, Any]


def compared(
    logged: Round, replayed: Row, placements: Mapping[tuple[str, int], Row], threshold: float
) -> Round:
    """Return a logged round beside its recomputation, number by number.

    Args:
        logged: the round as logged.
        replayed: its row of `replayed_rounds`, with `brokers` as columns.
        placements: rows of `replayed_placements` by (file, line).
        threshold: fraction above the average at which ThresholdShedder sheds.

    Returns:
        The round with its brokers' numbers, its verdict and that of each move.
    """
    differences = printed_differences(logged, replayed, threshold)
    chosen = _chosen_differences(logged, replayed)
    moves = tuple(
        _compared_move(move, replayed, differences | chosen, placements) for move in logged.moves
    )
    is_smoothed = replayed["is_smoothed"]
    return replace(
        logged,
        moves=moves,
        brokers=_states(replayed),
        average=replayed["average"] if is_smoothed else None,
        threshold=threshold if is_smoothed else None,
        recomputed=_verdict(differences | chosen, replayed, {}),
    )


def _chosen_differences(logged: Round, replayed: Row) -> dict[str, str]:
    """Return by broker where the chosen bundles differ, as sets."""
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
    differences: Mapping[str, str], replayed: Row, numbers: Mapping[str, Any]
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
    replayed: Row,
    differences: Mapping[str, str],
    placements: Mapping[tuple[str, int], Row],
) -> Move:
    state = state_of(replayed, move.source)
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
            "smoothed" if replayed["is_smoothed"] else "score": state["score"],
            "average": replayed["average"],
            "offload": state["offload"],
            "throughput_bytes_s": state["throughput"],
            "rate_messages_s": state["rate"],
        }
    mine = {b: why for b, why in differences.items() if b == move.source}
    draw = _compared_draw(move.draw, move.target, placements)
    if draw is not None and draw.scores:
        numbers["placer_scores"] = draw.scores
        numbers["placer_average"] = draw.average
    if draw is not None and draw.equal is not None:
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
    placements: Mapping[tuple[str, int], Row],
) -> Draw | None:
    """Return the placer's logged draw beside the recomputed one."""
    if draw is None or draw.scores:
        return draw
    lines = ((event.file, event.line) for event in draw.evidence)
    row = next((placements[at] for at in lines if at in placements), None)
    if row is None:
        return draw
    says_fallback = row["placer"] == "LeastResourceUsageWithWeight"
    equal = (
        len(row["candidates"]) == draw.count
        and (not says_fallback or row["is_fallback"] == draw.is_fallback)
        and target in row["best"]
    )
    if not equal and row["doubt"]:
        return draw
    if not says_fallback:
        return replace(draw, equal=equal)
    return replace(
        draw,
        scores=dict(zip(row["candidates"], row["scores"], strict=True)),
        average=row["average"],
        equal=equal,
    )


def _states(replayed: Row) -> dict[str, BrokerState]:
    states_by_column = replayed["brokers"]
    smoothed = states_by_column["score"] if replayed["is_smoothed"] else repeat(None)
    others = (states_by_column[name] for name in ("throughput", "offload", "bundles", "reason"))
    states = map(BrokerState, states_by_column["usage"], smoothed, *others)
    return dict(zip(states_by_column["broker"], states, strict=True))
