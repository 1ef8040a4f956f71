"""What became of a round until the next one: of Pulsar's by its reports, of the other projected.

Both start from what the brokers reported when the round was decided.  For the strategy
beside, the reports that follow are shifted by what it would have moved and by what Pulsar
moved instead, by what bundles are known to cost; where that is not known, a bundle's usage is
its traffic times the cluster's usage for each byte/s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from trimtab.diagnose.night import Round
from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.predict import by_work, works
from trimtab.lab.outcomes import measured
from trimtab.lab.outcomes.recording import Reported, Unloaded, recorded
from trimtab.live.watch.events import measures, write_time
from trimtab.live.watch.memory import Memory, Owners, Span, Term
from trimtab.live.watch.nouns import Scored, Unexplained
from trimtab.live.watch.targets import moves_of
from trimtab.pulsar.scores import busiest_resource

#: A level looks so far back.
_BACK = timedelta(minutes=5)
_KEPT = timedelta(minutes=15)
#: No broker uses more of a resource than there is, %.
_FULL = 100.0


def remember_usage(memory: Memory, term: Term, row: Mapping[str, Any]) -> None:
    """Keep what a broker said of itself."""
    usage = None
    if not row["is_gone"]:
        used, limit = (measures(row, which)[None, :] for which in ("usage", "limit"))
        weights = term.own.leading.weights
        usage = 100.0 * float(busiest_resource(used, limit, weights)[0])
    time_s = write_time(row).timestamp()
    memory.usages.append(Reported(time_s, row["broker"], usage))
    oldest_s = time_s - _KEPT.total_seconds()
    if memory.usages[0].time_s < oldest_s - _KEPT.total_seconds():
        memory.usages = [each for each in memory.usages if each.time_s >= oldest_s]


def unloaded(owners: Owners, logged: Round) -> list[Unloaded]:
    """Return what a round of the log unloaded; times are s since 1970."""
    return [
        Unloaded(
            time_s=move.time.timestamp(),
            round=0,
            bundle=move.bundle,
            source=move.source,
            target=_landing(owners, move.bundle, move.time) or move.target,
        )
        for move in logged.moves
    ]


def scored(memory: Memory, term: Term, now: datetime) -> list[Scored | Unexplained]:
    """Return the scores of rounds whose next one has been decided, and whose moves are known.

    Before each stands what changed owners without a line that says why.
    """
    owners = term.owners
    scores: list[Scored | Unexplained] = []
    while len(memory.spans) > 1:
        span, after = memory.spans[:2]
        end = after.decided.time
        moves = span.moves
        if moves is None and span.decided.guessed:
            moves = _handovers(owners, span.decided.time, end)
        if moves is None:
            break
        memory.spans.pop(0)
        if term.log and span.decided.guessed:
            strange = _unexplained(memory, term, span, end)
            moves = moves or strange
            if strange:
                triples = tuple((it.bundle, it.source, it.target or "") for it in strange)
                decided = span.decided
                scores.append(Unexplained(decided.number, decided.time, triples, span.misread))
        if span.decided.leader == after.decided.leader:
            scores.append(_scored(memory, span, moves, end))
    owners.handovers = [each for each in owners.handovers if each[0] > now - _KEPT]
    return scores


def projected(
    span: Span, moves: Iterable[Unloaded], known: Knowledge | None = None, *, idle: float = 0.0
) -> dict[str, float]:
    """Return by how much brokers' usage would differ after the other decision.

    Args:
        span: a round.
        moves: what Pulsar moved.
        known: what was learned of costs; None: not enough to say what a move does.
        idle: of each broker's usage what no traffic causes, fraction; for what is not learned.

    Returns:
        Broker → points of usage; 0 for those that are not named.
    """
    usage = sum(max(0.0, each - idle) for each in span.usage.values())
    throughput = sum(span.throughput.values())
    points = 100.0 * usage / throughput if throughput > 0 else 0.0
    shadow = span.decided.shadow
    traffic = {
        each["bundle"]: each["throughput"]
        for row in (span.decided.pulsar, shadow)
        for each in (row["unloads"] if row else ())
    }
    shift: dict[str, float] = {}
    learned = {} if known is None else dict(zip(known.bundle_names, works(known), strict=True))
    speed = {} if known is None else dict(zip(known.broker_names, by_work(known), strict=True))
    ours = moves_of(shadow)
    theirs = [(move.bundle, move.target, move.source) for move in moves]
    for bundle, source, target in [*ours, *theirs]:
        if source is None or target is None:
            continue
        for broker, sign in ((source, -1.0), (target, 1.0)):
            by = points * traffic.get(bundle, 0.0)
            if bundle in learned and broker in speed:
                by = float(learned[bundle] * speed[broker])
            shift[broker] = shift.get(broker, 0.0) + sign * by
    return shift


def _scored(memory: Memory, span: Span, moves: list[Unloaded], end: datetime) -> Scored:
    begin_s = span.decided.time.timestamp()
    shadow_moves = [
        Unloaded(begin_s, 0, bundle, source, target)
        for bundle, source, target in moves_of(span.decided.shadow)
    ]
    mine = _measured(memory.usages, moves, begin_s, end.timestamp())
    # How much of usage traffic causes is not known: all of it, or all but what the least busy
    # broker uses.
    most, least = (
        _measured(shifted(memory.usages, shift, begin_s), shadow_moves, begin_s, end.timestamp())
        for idle in (0.0, min(span.usage.values(), default=0.0))
        for shift in [projected(span, moves, memory.known, idle=idle)]
    )
    between = {
        name: (min(value, least[name]), max(value, least[name]))
        for name, value in most.items()
        if name in least
    }
    for_s = end.timestamp() - begin_s
    return Scored(span.decided.number, span.decided.time, for_s, mine, most, between)


def shifted(
    usages: Iterable[Reported], shift: Mapping[str, float], begin_s: float
) -> list[Reported]:
    """Return reports as they would be after a shift, which makes nobody pass what is possible."""
    return [
        each
        if each.usage is None or each.time_s <= begin_s
        else Reported(
            each.time_s,
            each.broker,
            min(max(_FULL, each.usage), max(0.0, each.usage + shift.get(each.broker, 0.0))),
        )
        for each in usages
    ]


def _measured(
    usages: list[Reported], moves: list[Unloaded], begin_s: float, end_s: float
) -> dict[str, float]:
    """Return the outcomes of one round; those that are not known are left out."""
    origin_s = begin_s - _BACK.total_seconds()
    reports = [
        Reported(each.time_s - origin_s, each.broker, each.usage)
        for each in usages
        if each.time_s < end_s
    ]
    unloads = [
        Unloaded(move.time_s - origin_s, 0, move.bundle, move.source, move.target) for move in moves
    ]
    back_s = begin_s - origin_s
    if not reports or end_s - begin_s < 15.0:
        return {}
    with np.errstate(all="ignore"):
        outcomes = measured(
            recorded(reports, [back_s], unloads, from_s=back_s, to_s=end_s - origin_s)
        )
    return {name: value for name, value in outcomes.items() if not math.isnan(value)}


def _landing(owners: Owners, bundle: str, time: datetime) -> str | None:
    """Return where a bundle went, by its owner."""
    return next((to for at, name, _, to in owners.handovers if name == bundle and at >= time), None)


def _unexplained(memory: Memory, term: Term, span: Span, end: datetime) -> list[Unloaded]:
    """Return the changes of owners up to the next round that were neither ours nor a departure."""
    begin = span.decided.time
    return [
        move
        for move in _handovers(term.owners, begin, end)
        if not _is_since(memory.own.get(move.bundle), begin - _KEPT)
        and not _is_since(term.gone.get(move.source), begin - _BACK)
    ]


def _is_since(time: datetime | None, begin: datetime) -> bool:
    return time is not None and time >= begin


def _handovers(owners: Owners, begin: datetime, end: datetime) -> list[Unloaded]:
    """Return the moves that owners tell of."""
    return [
        Unloaded(time.timestamp(), 0, bundle, source, target)
        for time, bundle, source, target in owners.handovers
        if begin <= time < end
    ]
