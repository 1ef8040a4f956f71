"""Unloads that a shedder ordered and that came to nothing: the bundle stayed where it was."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from trimtab.diagnose.night import Event, Move, Night, Round
from trimtab.diagnose.other_events import other_events

#: What brokers log of an unload that failed; one that timed out may have been carried out late.
FAILURES = (
    "unload-failed",
    "admin-call-failed",
    "admin-unload-failed",
    "bundle-unload-timed-out",
)


def failed_orders(night: Night) -> dict[str, tuple[Event, ...]]:
    """Return the orders that failed, each with the lines that say so.

    A failure belongs to an order for its bundle that was given at most one interval before
    it.  The order counts as failed unless the bundle is known to have left its source after it
    and before the next order for it, as one that timed out may.

    Returns:
        Move's id → lines, in order of time.
    """
    failures: dict[str, list[Event]] = defaultdict(list)
    for event in other_events(night, *FAILURES):
        if event.bundle:
            failures[event.bundle].append(event)
    orders: dict[str, list[tuple[datetime, Move]]] = defaultdict(list)
    for logged in night.rounds:
        for move in logged.moves:
            if move.bundle in failures:
                orders[move.bundle].append((logged.time, move))
    failed = {}
    for bundle, given in orders.items():
        ends = [move.time for _, move in given[1:]] + [None]
        for (began, move), end in zip(given, ends, strict=True):
            lines = tuple(
                event
                for event in failures[bundle]
                if began <= event.time <= move.time + timedelta(seconds=night.interval_s)
            )
            if lines and not _has_left(night, move, end):
                failed[move.id] = lines
    return failed


def carried_out(night: Night) -> tuple[Round, ...]:
    """Return the rounds without the orders that failed: their bundles stayed where they were."""
    failed = failed_orders(night)
    if not failed:
        return night.rounds
    return tuple(
        replace(each, moves=tuple(move for move in each.moves if move.id not in failed))
        for each in night.rounds
    )


def _has_left(night: Night, order: Move, end: datetime | None) -> bool:
    """Return whether the bundle left its source between an order and the next.

    Another broker acquired it, or the store lost its owner and the source did not take it again.
    """
    takers = [
        broker
        for source in (night.owners, night.acquired)
        for time, broker in source.get(order.bundle, ())
        if order.time < time and (end is None or time <= end)
    ]
    if takers:
        return any(broker != order.source for broker in takers)
    return any(
        order.time < time and (end is None or time <= end)
        for time in night.released.get(order.bundle, ())
    )
