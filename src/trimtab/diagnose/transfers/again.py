"""Rounds of TransferShedder, decided again from what the leader had been told.

Pure: lines, samples and changes of states in, rounds out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice, product
from typing import Any, NamedTuple

from trimtab.diagnose.night import (
    BrokerState,
    Event,
    Move,
    Recomputed,
    Round,
    Transition,
    Undecidable,
)
from trimtab.diagnose.transfers.printed import DecidedAgain, counted, differences
from trimtab.diagnose.transfers.published import (
    LoadData,
    Publication,
    TakenBack,
    TopBundles,
)
from trimtab.pulsar.channel import OWNED, SHEDDER, SPLITTING
from trimtab.pulsar.model import TransferDecision
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleRound, Published, TopBundle
from trimtab.pulsar.sequences.extensible.stores import LoadStores
from trimtab.pulsar.settings import BrokerLoadSettings, TransferShedderSettings
from trimtab.pulsar.shed import ExtensibleShedderEntry

#: Where a number is known to some digits, so many states are looked at.
_STATES_MAX = 81
#: What is published reaches the leader within so long; measured: some ms.
_ON_ITS_WAY = timedelta(milliseconds=250)
#: The registered brokers are printed so shortly before a decision.
_LISTED = timedelta(seconds=20)
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


@dataclass(frozen=True, slots=True)
class Sources:
    """What the rounds are decided again from."""

    #: In order of time.
    published: Sequence[Publication]
    #: Lines of the kinds in `AROUND`, in order of time.
    lines: Sequence[Event]
    #: In order of time.
    transitions: Sequence[Transition]
    #: Log folder → (time, mean and deviation by the leader's gauges), in order of time.
    gauges: Mapping[str, Sequence[tuple[datetime, Mapping[str, float]]]]
    names: Mapping[str, str]


#: Lines that tell what the leader knows besides.
AROUND = frozenset({"available-brokers", "extensible-unload", "plays-leader"})


class By(NamedTuple):
    """What the leader decides by."""

    shedder: ExtensibleShedderEntry
    settings: TransferShedderSettings
    loads: BrokerLoadSettings
    grace_period_s: float


class Again(NamedTuple):
    """A round beside its recomputation; nothing of the latter where it could not be made."""

    round: Round
    decided: DecidedAgain | None


@dataclass(slots=True)
class _Memory:
    """What a leader remembers from round to round."""

    hits: int | None = 0
    #: When which bundle and which broker's bundle was unloaded last.
    bundles: dict[str, datetime] = field(default_factory=dict)
    brokers: dict[str, datetime] = field(default_factory=dict)


def decided_again(rounds: Iterable[Round], sources: Sources, by: By) -> list[Again]:
    """Return the rounds of TransferShedder beside their recomputations, in order."""
    memories: dict[tuple[int, str], _Memory] = {}
    every = sorted((r for r in rounds if r.strategy == SHEDDER), key=lambda r: r.number)
    again = []
    for number, logged in enumerate(every):
        memory = memories.setdefault((logged.term, logged.log_broker), _Memory())
        following = [r.time for r in every[number + 1 :] if r.log_broker == logged.log_broker]
        gauges = _gauges(sources, logged, following[0] if following else None)
        again.append(_round(logged, sources, by, (memory, gauges)))
        _unloaded(memory, logged, sources)
    return again


def _round(
    logged: Round, sources: Sources, by: By, known: tuple[_Memory, dict[str, float]]
) -> Again:
    """Return a round beside its recomputation."""
    memory, gauges = known
    why = _not_decidable(logged, sources, memory)
    if why is not None:
        memory.hits = _printed_hits(logged)
        return Again(_with(logged, Recomputed(None, why)), None)
    assert memory.hits is not None
    tried: list[tuple[list[str], DecidedAgain]] = []
    is_whole = True
    for round_, is_exact in _states(logged, sources, by, memory):
        is_whole = is_whole and is_exact
        decision, hits, load = _decide(round_, by, memory.hits)
        decided = DecidedAgain(load, decision, hits, by.settings, gauges if is_exact else {})
        tried.append((differences(logged, decided), decided))
    best, decided = min(tried, key=lambda each: len(each[0]))
    verdict = _verdict(logged, [found for found, _ in tried], best, is_whole=is_whole)
    memory.hits = decided.hits
    for broker in decided.decision.rested:
        memory.brokers.pop(broker, None)
    return Again(_compared(logged, decided, verdict), decided)


def _verdict(
    logged: Round, found: Sequence[Sequence[str]], best: Sequence[str], *, is_whole: bool
) -> Recomputed:
    """Return whether a round agrees, given where each state that may have been differs."""
    numbers = {"numbers_printed": counted(logged), "states": len(found)}
    if not any(found) or (is_whole and not best):
        return Recomputed(True, _AGREES, numbers)
    if is_whole:
        return Recomputed(False, "; ".join(best), numbers)
    digits = "usage is known to two decimals of a percent, and a digit hangs on the others"
    most: Sequence[str] = max(found, key=len)
    return Recomputed(None, f"{digits} ({'; '.join(best or most)})", numbers)


def _not_decidable(logged: Round, sources: Sources, memory: _Memory) -> str | None:
    """Return what is absent for a round; None if nothing is."""
    if memory.hits is None:
        return "how many rounds in a row were out of balance before is not known"
    available = _available(logged, sources)
    if available is None:
        return "which brokers were registered is not in the log (loadBalancerDebugModeEnabled)"
    told = {each.broker for each in sources.published if isinstance(each, LoadData)}
    silent = sorted(set(available) - told - set(_without_data(logged)))
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


def _available(logged: Round, sources: Sources) -> tuple[str, ...] | None:
    """Return the registered brokers as the leader printed them for a round."""
    mine = [
        line
        for line in sources.lines
        if line.kind == "available-brokers"
        and line.log_broker == logged.log_broker
        and timedelta(0) <= logged.time - line.time <= _LISTED
    ]
    return mine[-1].brokers if mine else None


# ------------------------------------------------------------------ what the leader had


def _states(
    logged: Round, sources: Sources, by: By, memory: _Memory
) -> Iterator[tuple[ExtensibleRound, bool]]:
    """Yield what the leader may have had before it, and whether that is known whole."""
    begin = _begin(logged, sources)
    times = [each.time for each in sources.published]
    first, last = bisect_left(times, begin), bisect_left(times, logged.time)
    early = bisect_left(times, logged.time - _ON_ITS_WAY)
    for until in dict.fromkeys((last, early)):
        seen = sources.published[first:until]
        loads, tops = _stores(seen)
        names = list(loads)
        is_whole = all(loads[name].usage.is_whole for name in names)
        for usages in islice(product(*(loads[name].usage.values for name in names)), _STATES_MAX):
            round_ = _as_round(logged, sources, by, memory)
            published = {
                name: _published(loads[name], usage)
                for name, usage in zip(names, usages, strict=True)
            }
            bundles = {name: _listed(top) for name, top in tops.items()}
            yield replace(round_, load_data=published, top_bundles=bundles), is_whole


def _begin(logged: Round, sources: Sources) -> datetime:
    """Return when the leader of a round began to listen: nothing from before is kept."""
    began = [
        line.time
        for line in sources.lines
        if line.kind == "plays-leader"
        and line.log_broker == logged.log_broker
        and line.time <= logged.time
    ]
    # It empties what it has a moment before it says so.
    return began[-1] - _ON_ITS_WAY * 12 if began else logged.time - timedelta(days=1)


def _stores(
    published: Iterable[Publication],
) -> tuple[dict[str, LoadData], dict[str, TopBundles]]:
    """Return what stands in the leader's two stores, in the order in which it came there."""
    loads: dict[str, LoadData] = {}
    tops: dict[str, TopBundles] = {}
    for each in published:
        if isinstance(each, LoadData):
            loads[each.broker] = each
        elif isinstance(each, TopBundles):
            tops[each.broker] = each
        else:
            _take_back(each, loads, tops)
    return loads, tops


def _take_back(back: TakenBack, loads: dict[str, LoadData], tops: dict[str, TopBundles]) -> None:
    if back.has_load:
        loads.pop(back.broker, None)
    if back.has_bundles:
        tops.pop(back.broker, None)


def _published(load: LoadData, usage: float) -> Published:
    return Published(load.updated_at_ms, load.throughput, (usage, load.smoothed), ())


def _listed(top: TopBundles) -> tuple[TopBundle, ...]:
    return tuple(TopBundle(name, (inward, outward)) for name, inward, outward in top.bundles)


def _as_round(logged: Round, sources: Sources, by: By, memory: _Memory) -> ExtensibleRound:
    """Return a round without its loads."""
    over = logged.time - timedelta(seconds=by.grace_period_s)
    return ExtensibleRound(
        now_ms=_ms(logged.time),
        load_data={},
        top_bundles={},
        available=_available(logged, sources),
        recent_bundles=frozenset(b for b, time in memory.bundles.items() if time >= over),
        recent_brokers={broker: _ms(time) for broker, time in memory.brokers.items()},
        owners=_owners(logged.time, sources.transitions),
        restricted=None,
        filtered=None,
        sheds=True,
        selections=(),
    )


def _owners(time: datetime, transitions: Iterable[Transition]) -> dict[str, str]:
    """Return by bundle the broker that counts as its owner, "" for none."""
    owners: dict[str, str] = {}
    for each in transitions:
        if each.time >= time:
            break
        if each.verdict.startswith("ignored"):
            continue
        owner = {OWNED: each.target, SPLITTING: each.source}.get(each.state)
        owners[each.bundle] = owner or ""
    return owners


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def _decide(round_: ExtensibleRound, by: By, hits: int) -> tuple[TransferDecision, int, Any]:
    """Return the decision, the hits after it, and the load."""
    stores = LoadStores(by.loads)
    stores.update(round_)
    load = stores.load()
    decision, after = by.shedder.shed(load, hits, by.settings)
    return decision, after, load


def _unloaded(memory: _Memory, logged: Round, sources: Sources) -> None:
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
    """Return mean and deviation by the leader's first sample after a round and before the next."""
    for time, values in sources.gauges.get(logged.log_broker, ()):
        if time > logged.end and (following is None or time < following):
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
