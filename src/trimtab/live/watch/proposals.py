"""A decided round, or a turn of a strategy of trimtab's own, as moves that may be carried out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trimtab.live.control.trust import Trust
from trimtab.live.watch.nouns import Decided, Steered
from trimtab.live.watch.targets import moves_of


@dataclass(frozen=True, slots=True)
class ProposedMove:
    """One bundle that is to go from one broker to another."""

    bundle: str
    source: str
    destination: str
    reason: str
    #: Bytes/s, in and out.
    throughput: float
    #: Of the source, percent, before any move.
    source_percent: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """What somebody would move now."""

    number: int
    time: datetime
    #: "round" or "turn".
    noun: str
    moves: tuple[ProposedMove, ...]
    #: How far what is predicted of them is to be believed; None where nothing is.
    trust: Trust | None = None


def of_round(decided: Decided) -> Proposal:
    """Return what a round of one of Pulsar's classes would move; nothing if it did not decide."""
    shadow = decided.shadow
    if shadow is None:
        return Proposal(decided.number, decided.time, "round", ())
    states = {each["broker"]: each for each in shadow["brokers"].to_pylist()}
    traffic = {(each["bundle"], each["source"]): each["throughput"] for each in shadow["unloads"]}
    moves = tuple(
        ProposedMove(
            bundle,
            source,
            target,
            f"score of the source {states[source]['score']:.4g}, of the destination "
            f"{states[target]['score']:.4g}",
            traffic[bundle, source],
            100.0 * states[source]["usage"],
        )
        for bundle, source, target in moves_of(shadow)
        if target is not None
    )
    return Proposal(decided.number, decided.time, "round", moves)


def of_turn(turn: Steered) -> Proposal:
    """Return what a turn would move."""
    moves = tuple(
        ProposedMove(
            each.bundle,
            each.source,
            each.target,
            each.reason,
            each.throughput,
            turn.levels[each.source],
        )
        for each in turn.moves
    )
    return Proposal(turn.number, turn.time, "turn", moves, turn.trust)
