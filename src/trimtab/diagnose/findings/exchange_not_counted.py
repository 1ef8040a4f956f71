"""Exchanges of TransferShedder that it does not count unless it is in debug mode."""

from __future__ import annotations

from trimtab.diagnose.night import Finding, Move, Night
from trimtab.pulsar.channel import SHEDDER

#: Lines that only a leader in debug mode prints.
_DEBUGGING = frozenset({"transfer-attempt", "transfer-decided"})
#: So many rounds are more than chance.
_OFTEN = 3


def exchange_not_counted(night: Night) -> list[Finding]:
    """Find pairs of brokers that exchanged bundles while the leader was not in debug mode.

    What comes back to the source is added to what it gains inside the block that prints it, so
    without debug mode the round takes the source for relieved by more than it was, and stops
    early.  One finding a round and pair, medium where a pair has three of them or more, else low.

    Source:
        TransferShedder.java findBundlesForUnloading, 3.0.0 to 5.0.1
    """
    channel = night.channel
    if channel is None or not night.has_settings or channel.settings.is_debugging:
        return []
    by_pair: dict[tuple[str, str], list[tuple[list[Move], list[Move]]]] = {}
    for logged in night.rounds:
        if logged.strategy != SHEDDER or any(e.kind in _DEBUGGING for e in logged.events):
            continue
        ways: dict[tuple[str, str], list[Move]] = {}
        for move in logged.moves:
            if move.target is not None:
                ways.setdefault((move.source, move.target), []).append(move)
        for (source, target), there in ways.items():
            back = ways.get((target, source))
            # Whoever gives first is the more loaded: each pair is walked from there.
            if back and logged.moves.index(there[0]) < logged.moves.index(back[0]):
                by_pair.setdefault((source, target), []).append((there, back))
    return [
        _finding(pair, there, back, len(every))
        for pair, every in by_pair.items()
        for there, back in every
    ]


def _finding(pair: tuple[str, str], there: list[Move], back: list[Move], rounds: int) -> Finding:
    moves = [*there, *back]
    return Finding(
        "exchange-not-counted",
        "medium" if rounds >= _OFTEN else "low",
        there[0].time,
        there[0].round,
        brokers=pair,
        bundles=tuple(move.bundle for move in moves),
        moves=tuple(move.id for move in moves),
        evidence=tuple(move.evidence[-1] for move in (there[0], back[0])),
        numbers={"there": len(there), "back": len(back)},
    )
