"""Rounds of a broker that was no longer the leader."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from trimtab.diagnose.elections import DEPOSED, ELECTED
from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Event, Finding, Night, Round
from trimtab.diagnose.other_events import other_events

#: Clocks of two brokers may differ by this much, and a round may be under way.
_TOLERANCE = timedelta(seconds=5)


def two_leaders(night: Night) -> list[Finding]:
    """Find rounds of a broker after another one had been elected, or after it said it follows.

    Losing the leadership does not stop a shedding task for certain, so two brokers may move
    the same bundles by two different memories.  A round counts if it began more than five
    seconds after another broker's election or after its own broker said that it follows, and
    its own broker had not been elected since, nor has another said since that it follows.
    One finding for all rounds that one line shows.

    Source:
        LoadSheddingTask.java, 4.0.8: does not ask who leads
    """
    lines = other_events(night, *ELECTED, *DEPOSED)
    odd: dict[tuple[str, int], tuple[Event, list[Round]]] = {}
    for logged in night.rounds:
        known = [line for line in lines if _is_comparable(night, line, logged)]
        proof = _other_leader(night, known, logged) or _following(known, logged)
        if proof is not None:
            odd.setdefault((logged.log_broker, id(proof)), (proof, []))[1].append(logged)
    return [_finding(night, proof, rounds) for proof, rounds in odd.values()]


def _is_comparable(night: Night, line: Event, logged: Round) -> bool:
    """Return whether it can be told if a line is of the round's own broker.

    The store names brokers by their ids, and a log may lie in a folder of another name.
    """
    return logged.log_broker in night.names or line.logger is not None


def _other_leader(night: Night, lines: Sequence[Event], logged: Round) -> Event | None:
    """Return the election of the other broker that led at a round; None if none is known."""
    elections = [line for line in lines if line.kind in ELECTED]
    before = [line for line in elections if line.time + _TOLERANCE < logged.time]
    if not before or before[-1].log_broker == logged.log_broker:
        return None
    other = before[-1]
    is_own_later = any(
        line.log_broker == logged.log_broker and other.time <= line.time <= logged.time
        for line in elections
    )
    has_ended = any(
        line.kind in DEPOSED
        and line.log_broker == other.log_broker
        and other.time < line.time < logged.time
        for line in lines
    ) or any(broker is None and other.time < time < logged.time for time, broker in night.leaders)
    is_leader = not (is_own_later or has_ended) and _had_led(night, before, logged, other)
    return other if is_leader else None


def _had_led(night: Night, before: Sequence[Event], logged: Round, other: Event) -> bool:
    """Return whether its broker led before the other: else its election may be missing."""
    return any(line.log_broker == logged.log_broker for line in before) or any(
        earlier.log_broker == logged.log_broker and earlier.time < other.time
        for earlier in night.rounds
    )


def _following(lines: Sequence[Event], logged: Round) -> Event | None:
    """Return the line in which a round's broker had said that it follows; None if it may lead.

    At a change of the leader all others say that they follow; where another broker has said so
    since, it changed again, and an election may be missing.
    """
    before = [line for line in lines if line.time <= logged.time]
    mine = [line for line in before if line.log_broker == logged.log_broker]
    if not mine or mine[-1].kind != "follower" or mine[-1].time + _TOLERANCE >= logged.time:
        return None
    has_changed = any(
        line.kind in DEPOSED
        and line.log_broker != logged.log_broker
        and line.time > mine[-1].time + _TOLERANCE
        for line in before
    )
    return None if has_changed else mine[-1]


def _finding(night: Night, proof: Event, rounds: Sequence[Round]) -> Finding:
    first = rounds[0]
    mine, other = night.broker(first.log_broker), night.broker(proof.log_broker)
    moves = [move for logged in rounds for move in logged.moves]
    return Finding(
        "two-leaders" if mine != other else "two-leaders.follows",
        "high",
        first.time,
        first.number,
        brokers=tuple(dict.fromkeys((mine, other))),
        numbers={
            "minutes": (first.time - proof.time).total_seconds() / 60,
            "rounds": [logged.number for logged in rounds],
        },
        values={"many": f"{len(rounds)} rounds" if len(rounds) > 1 else "one round"},
        **of_moves(moves) | {"evidence": (proof, *first.events[:4])},
    )
