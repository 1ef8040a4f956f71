"""Who took a bundle after it was unloaded."""

from __future__ import annotations

from datetime import datetime, timedelta

from trimtab.diagnose.night import Move, Night

#: Whoever takes the bundle later than this took it for another reason.
_TAKEN = timedelta(minutes=5)


def new_owner(night: Night, move: Move) -> str | None:
    """Return the broker that took a bundle first after it was unloaded.

    The brokers' own logs are asked first.  The store is asked second, and there the source is
    passed over: one that polls may still see the bundle where it was.

    Returns:
        None if neither tells within five minutes, or before the bundle's next unload.
    """
    until = min([_next_unload(night, move), move.time + _TAKEN])
    for time, broker in night.acquired.get(move.bundle, ()):
        if move.time <= time < until:
            return broker
    for time, broker in night.owners.get(move.bundle, ()):
        if move.time <= time < until and broker != move.source:
            return broker
    return None


def _next_unload(night: Night, move: Move) -> datetime:
    later = (
        other.time
        for logged in night.rounds
        for other in logged.moves
        if other.bundle == move.bundle and other.time > move.time
    )
    return min(later, default=move.time + 2 * _TAKEN)
