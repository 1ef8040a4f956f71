"""What a finding has of the moves, or of the lines, that show it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.night import Event, Move, Night
from trimtab.diagnose.other_events import round_at

#: Lines that are shown of a finding of which there may be very many.
SHOWN = 5


#: Of a move's lines the last, in which it is unloaded.
UNLOAD = slice(-1, None)
WHOLE = slice(None)


def of_moves(
    moves: Sequence[Move], shown: int | None = SHOWN, lines: slice = UNLOAD
) -> dict[str, Any]:
    """Return the fields of a finding that follow from its moves.

    Args:
        moves: in order.
        shown: of so many moves the lines are shown; None: of all.
        lines: which lines of each.
    """
    return {
        "bundles": tuple(move.bundle for move in moves),
        "moves": tuple(move.id for move in moves),
        "evidence": tuple(event for move in moves[:shown] for event in move.evidence[lines]),
    }


def of_lines(night: Night, lines: Sequence[Event]) -> dict[str, Any]:
    """Return the fields of a finding that some lines of no round give, in order of time."""
    time = lines[0].time
    return {"time": time, "round": round_at(night, time), "evidence": tuple(lines[:SHOWN])}


def densest(times: Sequence[datetime], window: timedelta) -> slice:
    """Return where most of some times, in their order, fall into one window: the first such."""
    best = slice(0, 0)
    start = 0
    for end, time in enumerate(times, start=1):
        while time - times[start] > window:
            start += 1
        if end - start > best.stop - best.start:
            best = slice(start, end)
    return best
