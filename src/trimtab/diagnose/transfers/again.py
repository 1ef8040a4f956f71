"""Rounds of TransferShedder, decided again from what the leader had been told.

Pure: lines, samples and changes of states in, rounds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from trimtab.diagnose.night import (
    BrokerState,
    Move,
    Recomputed,
    Round,
    Undecidable,
)
from trimtab.diagnose.transfers.printed import DecidedAgain, counted, differences
from trimtab.diagnose.transfers.published import (
    LoadData,
)
from trimtab.diagnose.transfers.states import By, Memory, Sources, available, states
from trimtab.pulsar.channel import SHEDDER
from trimtab.pulsar.model import TransferDecision
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleRound
from trimtab.pulsar.sequences.extensible.stores import LoadStores

#: An unload ends, and is counted, this long after it was ordered at most.
_UNLOADING = timedelta(seconds=120)
_AGREES = "every printed digit and every bundle agrees"
MISSING = (
    "logs/ of all brokers with loadBalancerDebugModeEnabled = true, and metrics/ of all brokers "
    "for what is printed in two digits"
)
#: Why no round can be decided again where nobody says what he published.
NOTHING_PUBLISHED = Undecidable(
    "recomputation of the rounds",
    "what brokers told the leader of their loads is in topics that keep nothing, and no log has a "
    "line of it",
    MISSING,
)


class _Tried(NamedTuple):
    """A state that the leader may have had before it, and what comes of it."""

    #: Where the round's lines differ.
    differing: Sequence[str]
    #: Whether all that it is made of is known whole.
    is_exact: bool
    decided: DecidedAgain


class Again(NamedTuple):
    """A round beside its recomputation; nothing of the latter where it could not be made."""

    round: Round
    decided: DecidedAgain | None


def decided_again(rounds: Iterable[Round], sources: Sources, by: By) -> list[Again]:
    """Return the rounds of TransferShedder beside their recomputations, in order."""
    memories: dict[tuple[int, str], Memory] = {}
    every = sorted((r for r in rounds if r.strategy == SHEDDER), key=lambda r: r.number)
    again = []
    for number, logged in enumerate(every):
        memory = memories.setdefault((logged.term, logged.log_broker), Memory())
        following = [r.time for r in every[number + 1 :] if r.log_broker == logged.log_broker]
        gauges = _gauges(sources, logged, following[0] if following else None)
        again.append(_round(logged, sources, by, (memory, gauges)))
        _unloaded(memory, logged, sources)
    return again


def _round(
    logged: Round, sources: Sources, by: By, known: tuple[Memory, dict[str, float]]
) -> Again:
    """Return a round beside its recomputation."""
    memory, gauges = known
    why = _not_decidable(logged, sources, memory)
    if why is not None:
        memory.hits = _printed_hits(logged)
        return Again(_with(logged, Recomputed(None, why)), None)
    assert memory.hits is not None
    tried: list[list[_Tried]] = []
    for together in states(logged, sources, by, memory):
        tried.append([])
        for round_, is_exact in together:
            decision, hits, load = _decide(round_, by, memory.hits)
            decided = DecidedAgain(load, decision, hits, by.settings, gauges if is_exact else {})
            tried[-1].append(_Tried(differences(logged, decided), is_exact, decided))
    decided = min(chain(*tried), key=lambda each: len(each.differing)).decided
    verdict = _verdict(logged, tried)
    memory.hits = decided.hits
    for broker in decided.decision.rested:
        memory.brokers.pop(broker, None)
    return Again(_compared(logged, decided, verdict), decided)


def _verdict(logged: Round, tried: Sequence[Sequence[_Tried]]) -> Recomputed:
    """Return whether a round agrees, given where each state that may have been differs.

    It agrees where it does whatever the unprinted digits were, by what had come until one of the
    times at which the leader may have looked.
    """
    every = list(chain(*tried))
    numbers = {"numbers_printed": counted(logged), "states": len(every)}
    if any(not any(each.differing for each in together) for together in tried):
        return Recomputed(True, _AGREES, numbers)
    best, most = (choose(every, key=lambda each: len(each.differing)) for choose in (min, max))
    if all(each.is_exact for each in every):
        return Recomputed(False, "; ".join(best.differing), numbers)
    digits = "usage is known to two decimals of a percent, and a digit hangs on the others"
    return Recomputed(None, f"{digits} ({'; '.join(best.differing or most.differing)})", numbers)


def _not_decidable(logged: Round, sources: Sources, memory: Memory) -> str | None:
    """Return what is absent for a round; None if nothing is."""
    if memory.hits is None:
        return "how many rounds in a row were out of balance before is not known"
    registered = available(logged, sources)
    if registered is None:
        return "which brokers were registered is not in the log (loadBalancerDebugModeEnabled)"
    told = {each.broker for each in sources.published if isinstance(each, LoadData)}
    silent = sorted(set(registered) - told - set(_without_data(logged)))
    if silent:
        return f"what {', '.join(silent[:3])} published is not in the recording"
    return None


def _without_data(logged: Round) -> Iterator[str]:
    for event in logged.events:
        if event.kind == "load-data-missing":
            yield from event.brokers


def _printed_hits(logged: Round) -> int | None:
    """Return the hit count that a round prints, 0 after one that unloads; None if neither."""
    if logged.moves:
        return 0
    counts = [e.count for e in logged.events if e.kind == "round-without-unload"]
    return next((count for count in counts if count is not None), None)


def _decide(round_: ExtensibleRound, by: By, hits: int) -> tuple[TransferDecision, int, Any]:
    """Return the decision, the hits after it, and the load."""
    stores = LoadStores(by.loads)
    stores.update(round_)
    load = stores.load()
    decision, after = by.shedder.shed(load, hits, by.settings)
    return decision, after, load


def _unloaded(memory: Memory, logged: Round, sources: Sources) -> None:
    """Note when what a round moved had moved."""
    for move in logged.moves:
        done = next(
            (
                line.time
                for line in sources.lines
                if line.kind == "extensible-unload"
                and line.bundle == move.bundle
                and line.log_broker == logged.log_broker
                and timedelta(0) <= line.time - move.time <= _UNLOADING
            ),
            move.time,
        )
        memory.bundles[move.bundle] = done
        memory.brokers[move.source] = max(done, memory.brokers.get(move.source, done))


def _gauges(sources: Sources, logged: Round, following: datetime | None) -> dict[str, float]:
    """Return mean and deviation by the leader's first sample that a round changed; none if none.

    The gauges follow when a round's unloads have ended, so that a sample of soon after it may be
    of the round before.
    """
    before: Mapping[str, float] = {}
    for time, values in sources.gauges.get(logged.log_broker, ()):
        if following is not None and time >= following:
            break
        if time <= logged.end:
            before = values
        elif values != before:
            return dict(values)
    return {}


# ------------------------------------------------------------------ beside what was logged


def _with(logged: Round, recomputed: Recomputed) -> Round:
    moves = tuple(replace(move, recomputed=recomputed) for move in logged.moves)
    return replace(logged, recomputed=recomputed, moves=moves)


def _compared(logged: Round, again: DecidedAgain, verdict: Recomputed) -> Round:
    """Return a round with what it went by."""
    load = again.load
    offload = {t.source: t for t in again.decision.transfers}
    brokers = {
        name: BrokerState(
            usage=float(load.usage[i]),
            throughput=float(load.throughput_in[i] + load.throughput_out[i]),
            offload=offload[i].offload if i in offload else None,
            reason=str(offload[i].cause) if i in offload else None,
        )
        for i, name in enumerate(load.brokers)
        if load.has_load_data[i]
    }
    traffic = load.bundle_throughput_in + load.bundle_throughput_out
    carried = {
        (load.brokers[at], name): float(traffic[i])
        for i, (name, at) in enumerate(zip(load.bundles, load.bundle_broker, strict=True))
    }
    moves = tuple(_moved(move, again, verdict, (brokers, carried)) for move in logged.moves)
    return replace(logged, moves=moves, brokers=brokers, recomputed=verdict)


def _moved(
    move: Move,
    again: DecidedAgain,
    verdict: Recomputed,
    known: tuple[Mapping[str, BrokerState], Mapping[tuple[str, str], float]],
) -> Move:
    """Return a move with the numbers that it was decided by."""
    brokers, carried = known
    source = brokers.get(move.source, BrokerState())
    target = brokers.get(move.target or "", BrokerState())
    numbers = {
        "usage": source.usage,
        "usage_target": target.usage,
        "average": again.decision.average,
        "deviation": again.decision.deviation,
        "offload": source.offload,
        "throughput_bytes_s": source.throughput,
    }
    is_chosen = any(
        (move.source, move.bundle, move.target) == (u.source, u.bundle, u.target)
        for transfer in again.decision.transfers
        for u in transfer.unloads
    )
    mine = replace(verdict, numbers={k: v for k, v in numbers.items() if v is not None})
    if verdict.equal is False and is_chosen:
        mine = replace(mine, equal=True, why="this unload is decided again; the round differs")
    throughput = carried.get((move.source, move.bundle))
    return replace(move, throughput=throughput, recomputed=mine)
