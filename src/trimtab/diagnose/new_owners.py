"""Who took each bundle after it was unloaded."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from trimtab.diagnose.night import Move, Night

#: Whoever takes the bundle later than this took it for another reason.
_TAKEN = timedelta(minutes=5)


def new_owners(night: Night) -> dict[str, str]:
    """Return the broker that took each moved bundle first after its unload.

    The brokers' own logs are asked first; where the log of the destination is absent, nobody
    knows whether it took the bundle before another.  The store is asked second, and there the
    source is passed over: whoever polls it may still see the bundle where it was.

    Returns:
        Move's id → broker; absent where neither tells within five minutes, and before the
        bundle's next unload.
    """
    by_bundle: dict[str, list[Move]] = {}
    for move in night.moves():
        by_bundle.setdefault(move.bundle, []).append(move)
    takers, logged = {}, night.logged()
    for moves in by_bundle.values():
        moves.sort(key=lambda move: move.time)
        ends = [later.time for _, later in pairwise(moves)]
        for move, end in zip(moves, [*ends, moves[-1].time + _TAKEN], strict=True):
            broker = _taker(night, logged, move, min(end, move.time + _TAKEN))
            if broker is not None:
                takers[move.id] = broker
    return takers


def _taker(night: Night, logged: frozenset[str] | None, move: Move, until: datetime) -> str | None:
    is_logged = move.target is None or logged is None or move.target in logged
    for time, broker in night.acquired.get(move.bundle, ()):
        if move.time <= time < until and (is_logged or broker == move.target):
            return broker
    for time, broker in night.owners.get(move.bundle, ()):
        if move.time <= time < until and broker != move.source:
            return broker
    return None
