"""One tenure of leadership, decided again from what the leader had been told.

Pure: rows in, rows out.  `recompute.py` runs it on Spark, and `watch` while it happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from trimtab.diagnose.replay.grace_doubt import grace_doubt
from trimtab.diagnose.replay.leading import Leading, placer_of
from trimtab.diagnose.replay.lookups import Owners, answer, is_lookup
from trimtab.diagnose.replay.missed_writes import Gap
from trimtab.diagnose.replay.round_columns import chosen, hits, states, too_large
from trimtab.diagnose.replay.store_columns import StoredReports
from trimtab.diagnose.replay.timeline import (
    LEFT,
    OWNED,
    REPORT,
    REPORTS,
    ROUND,
    SELECTION,
    STARTED,
    STORED,
    UNLOAD,
    Script,
    timeline,
)
from trimtab.pulsar.bundles import is_system_bundle, namespace
from trimtab.pulsar.leader.load import broker_load, cluster_load, usage_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import ClusterLoad, Decision, Ints, LostRoundError
from trimtab.pulsar.scores import weighted_usage
from trimtab.pulsar.shed import ShedderEntry, shedder

#: Shedders whose score is smoothed usage.
_SMOOTHING = frozenset({"ThresholdShedder"})

#: Shedders that move a bundle only if it fits into what is to move.
_FITTING = frozenset({"UniformLoadShedder", "AvgShedder"})

#: A recorder that polls sees a departure late, by up to this much.
_LEAVING = timedelta(seconds=30)

#: Writes of bundle averages closer together than this are one flush.
_FLUSH = timedelta(seconds=5)
#: Reports that are taken together at most: few need be compared in vain.
_TOGETHER = 1024


@dataclass(slots=True)
class Memory:
    """What the strategies carry, and of which brokers it is not sure."""

    shedder: Any
    placer: Any
    #: Broker → why its smoothed usage may differ from the leader's.
    shed_doubts: dict[str, str] = field(default_factory=dict)
    place_doubts: dict[str, str] = field(default_factory=dict)
    #: Brokers that left while the leader was unloading: it has not looked yet, and yet they
    #: are no candidates.
    away: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Replaying:
    """A tenure on its way: what its leader knows by now, and what its strategies carry."""

    leading: Leading
    view: LeaderView
    memory: Memory
    #: Who owned which bundle from when on, as far as it is known.
    soon: Owners
    #: Says what a row of `load_reports` holds.
    read: Callable[[dict[str, Any]], Report]
    #: From `missed_writes`.
    gaps: Sequence[Gap] = ()
    #: Rows of reports, polled, that tell of brokers that left.
    departures: Sequence[Mapping[str, Any]] = ()
    #: Reports of the stretch on its way, if it is read as columns, and of each of its brokers the
    #: newest one's number of `likes`; -1 if that is another one's, or not known.
    stored: StoredReports | None = None
    likes: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    flushed: datetime | None = None
    #: What `_shed_settings` read.
    settings: Any = None
    #: Why bundles' averages may differ from the leader's throughout; None if they do not.
    averages_doubt: str | None = None


def replaying(
    leading: Leading, view: LeaderView, soon: Owners, read: Callable[[dict[str, Any]], Report]
) -> Replaying:
    """Return the state as a tenure begins, in which the strategies remember nothing yet."""
    shedding, placing = shedder(leading.shedder, leading.release), placer_of(leading)
    memory = Memory(shedding.memory if shedding else None, placing.memory if placing else None)
    return Replaying(leading, view, memory, soon, read)


def replay(now: Replaying, script: Script) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a stretch's rounds and placements, decided again.

    Args:
        now: what the leader knew before; as it ends, what it knows behind.
        script: what happened.

    Yields:
        (table, row): a row of `replayed_rounds` for each tick and a row of
        `replayed_placements` for each logged selection, as far as the strategies are
        known for the release.  The brokers of a round are an Arrow array.

    Quirks:
        A silent round runs the shedder too: its smoothed usage moves on.  What is written
        while the leader unloads, it looks at when the round is over.  A broker that leaves
        is forgotten at once.  A missed write (a gap in the store's versions) makes that
        broker doubtful from the first round that fell into the gap, until it leaves.
    """
    for event in timeline(script):
        yield from taken(now, event)


def follow(now: Replaying, script: Script) -> None:
    """Have the leader know what it knows behind a stretch, and decide no more than that takes.

    Properties:
        What it knows is what it knows when `replay` ends.
    """
    for event in timeline(script):
        if event[1] == ROUND:
            _remember(now, event[0])
        else:
            deque(taken(now, event), maxlen=0)


def taken(now: Replaying, event: tuple[datetime, int, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the decision that the next event asks for, if any.

    Yields:
        As `replay`; it must be walked to its end.
    """
    time, what, thing = event
    if what == ROUND:
        yield from decided(now, time, thing)
    elif what == SELECTION:
        yield from _place(now, thing)
    elif what == STORED:
        if now.flushed is None or time - now.flushed > _FLUSH:
            now.view.recompute()
        now.flushed = time
        now.view.store(*thing)
    else:
        _learn(now, event)


def _learn(now: Replaying, event: tuple[datetime, int, Any]) -> None:
    """Take what changes the leader's maps and asks for no decision."""
    time, what, thing = event
    view = now.view
    if what == REPORT:
        _look(now, thing)
    elif what == REPORTS:
        _take_reports(now, thing)
    elif what == LEFT:
        now.memory.away.add(thing)
    elif what == STARTED:
        view.start()
    elif what == UNLOAD:
        view.recently_unloaded[thing] = time.timestamp()
    elif what == OWNED:
        view.own.discard(thing["bundle"])
        if thing["broker"] == now.leading.leader_id:
            view.own.add(thing["bundle"])


def _look(now: Replaying, rows: Sequence[dict[str, Any]]) -> None:
    """Look at all that was written since the last look."""
    now.view.look([row["broker"] if row["is_gone"] else now.read(row) for row in rows])
    if now.stored is not None:
        now.likes[now.stored.brokers.codes[[row["at"] for row in rows]]] = -1
    for row in rows:
        if row["is_gone"]:
            forget(now, row["broker"])


def _take_reports(now: Replaying, places: Ints) -> None:
    """Take reports at some positions of the stretch's columns, each looked at alone."""
    stored = now.stored
    assert stored is not None
    while places.size:
        count = _rewrites(now, stored, places[:_TOGETHER])
        mine, places = np.split(places, [max(1, count)])
        if count:
            now.view.rewrite(stored.rewrites(mine))
        else:
            now.view.take(stored.report_at(int(mine[0])))
        now.likes[stored.brokers.codes[mine]] = stored.likes[mine]


def _rewrites(now: Replaying, stored: StoredReports, places: Ints) -> int:
    """Return how many of the first list the same bundles as their brokers' reports before.

    None where a look may do more than to feed averages.
    """
    if not now.view.is_settled:
        return 0
    is_other = now.likes[stored.brokers.codes[places]] != stored.likes[places]
    return int(np.argmax(is_other)) if is_other.any() else places.size


def forget(now: Replaying, broker: str) -> None:
    """Let the strategies forget a broker that the view has dropped."""
    leading, memory = now.leading, now.memory
    active = frozenset(now.view.reports)
    if (shedding := shedder(leading.shedder, leading.release)) is not None:
        memory.shedder = shedding.forget(memory.shedder, active)
    if (placing := placer_of(leading)) is not None:
        memory.placer = placing.forget(memory.placer, active)
    memory.shed_doubts.pop(broker, None)
    memory.place_doubts.pop(broker, None)
    memory.away.discard(broker)


def _begin_round(now: Replaying, time: datetime) -> float:
    """Take what a round changes before it decides; return from when on unloads count, s."""
    view, memory = now.view, now.memory
    for broker, after, before, why in now.gaps:
        if after < time < before:
            memory.shed_doubts[broker] = why
    for row in now.departures:
        if timedelta(0) < row["time"] - time < _LEAVING:
            why = f"{row['broker']} left about then, and when exactly was not recorded"
            memory.shed_doubts.update(dict.fromkeys(view.reports, why))
    return time.timestamp() - now.leading.manager.grace_period_s


def _shed_settings(now: Replaying, shedding: ShedderEntry[Any, Any]) -> Any:
    """Return the shedder's settings, which are read at the first round: a tenure has one conf."""
    if now.settings is None:
        now.settings = shedding.settings(now.leading.conf, now.leading.release)
    return now.settings


def _remember(now: Replaying, time: datetime) -> None:
    """Have a round's shedder remember what it does behind the round."""
    view, memory, leading = now.view, now.memory, now.leading
    shedding = shedder(leading.shedder, leading.release)
    if shedding is None or len(view.order()) < 2:
        return
    over_s = _begin_round(now, time)
    remembering = shedding.remembering(_shed_settings(now, shedding))
    if remembering is None:
        _decide(now, over_s)
        return
    view.forget_unloads_before(over_s)
    memory.shedder = remembering(usage_load(view), memory.shedder)


def _decide(now: Replaying, over_s: float) -> tuple[ClusterLoad, Decision] | None:
    """Return a round and what is decided; None if the round is lost."""
    view, memory, leading = now.view, now.memory, now.leading
    shedding = shedder(leading.shedder, leading.release)
    assert shedding is not None
    view.forget_unloads_before(over_s)
    load = cluster_load(view, lambda bundle: is_system_bundle(bundle, leading.release))
    settings = _shed_settings(now, shedding)
    try:
        decision, memory.shedder = shedding.shed(load, memory.shedder, settings)
    except LostRoundError as error:  # nothing was decided, in Pulsar either
        memory.shedder = error.memory
        return None
    return load, decision


def decided(
    now: Replaying, time: datetime, number: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of a round, decided from what the leader knows by now.

    Yields:
        A row of `replayed_rounds`, its brokers an Arrow array, if the strategy is known and
        there is something to ask it.
    """
    view, memory, leading, gaps = now.view, now.memory, now.leading, now.gaps
    shedding = shedder(leading.shedder, leading.release)
    # "Only 1 broker available": no shedder is asked.
    if shedding is None or len(view.order()) < 2:
        return
    over_s = _begin_round(now, time)
    of_grace = grace_doubt(view.recently_unloaded, over_s)
    if (made := _decide(now, over_s)) is None:
        return
    load, decision = made
    doubts = [leading.doubt] if leading.doubt else []
    if of_brokers := memory.shed_doubts:
        doubts += [of_brokers[broker] for broker in load.brokers if broker in of_brokers]
    yield (
        "replayed_rounds",
        {
            "term": leading.term,
            "time": time,
            "round": number,
            "leader": leading.leader,
            "doubt": "; ".join(dict.fromkeys(doubts)) or None,
            "bundle_doubt": now.averages_doubt
            or next((why for _, after, _, why in gaps if after < time), None)
            or of_grace,
            "average": decision.average,
            "is_smoothed": leading.shedder in _SMOOTHING,
            "brokers": states(load, decision, weighted_usage(load, leading.weights)),
            "unloads": chosen(load, decision),
            "too_large": too_large(load, decision) if leading.shedder in _FITTING else [],
            "hits_high": hits(memory.shedder, "hits_high"),
            "hits_low": hits(memory.shedder, "hits_low"),
        },
    )


def _place(now: Replaying, event: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of a selection, made again with the candidates that the filter leaves.

    What a lookup selects counts for the selections after it; what a round selects does not.

    Isolation policies and anti-affinity groups are not in a recording; where they matter
    the number of candidates differs from the logged one, and the placer's scores of these
    brokers are doubtful from then on.
    """
    view, memory, leading = now.view, now.memory, now.leading
    placing = placer_of(leading)
    if placing is None:
        return
    view.meet(event["bundle"])
    load = broker_load(view)
    names = (
        view.brokers_with_fewest(namespace(event["bundle"]), memory.away)
        if leading.manager.distributes_evenly
        else tuple(name for name in view.set_order() if name not in memory.away)
    )
    position = view.rank()
    candidates = np.array([position[name] for name in names], np.int64)
    if len(names) == 0:
        return
    if len(names) != event["count"]:
        counts = f"{event['count']} candidates were logged, {len(names)} recomputed"
        why = f"the candidates for {event['bundle']} are not known: {counts}"
        memory.place_doubts.update(dict.fromkeys(view.reports, why))
    settings = placing.settings(leading.conf, leading.release)
    is_shared = leading.placer == leading.shedder
    remembered = memory.shedder if is_shared else memory.placer
    placement, remembered = placing.place(load, event["bundle"], candidates, remembered, settings)
    if is_shared:
        memory.shedder = remembered
    else:
        memory.placer = remembered
    best = [load.brokers[i] for i in placement.best]
    doubts = [memory.place_doubts[name] for name in names if name in memory.place_doubts]
    if is_lookup(event):
        _give(view, memory, event, answer(event, best, now.soon))
    doubts += [why for why in (leading.doubt, now.averages_doubt) if why]
    yield (
        "replayed_placements",
        {
            "term": leading.term,
            "time": event["time"],
            "leader": leading.leader,
            "file": event["file"],
            "line": event["line"],
            "bundle": event["bundle"],
            "placer": leading.placer,
            "doubt": "; ".join(dict.fromkeys(doubts)) or None,
            "candidates": list(names),
            "scores": [float(score) for score in placement.scores],
            "average": placement.average,
            "best": best,
            "is_fallback": placement.is_fallback,
        },
    )


def _give(view: LeaderView, memory: Memory, event: Mapping[str, Any], broker: str | None) -> None:
    """Remember whom a lookup was sent to."""
    if broker is not None:
        view.give(event["bundle"], broker)
        return
    why = f"whom the leader named to a lookup of {event['bundle']} is not known"
    memory.place_doubts.update(dict.fromkeys(view.reports, why))
