"""One tenure of leadership, decided again from what the leader had been told.

Pure: rows in, rows out.  `recompute.py` runs it on Spark, and `watch` while it happens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

import numpy as np

from trimtab.diagnose.replay.busy_leader import looks, unloading
from trimtab.diagnose.replay.lookups import Owners, answer, is_lookup, owners
from trimtab.diagnose.replay.missed_writes import Gap, missed_writes, write_time
from trimtab.diagnose.replay.round_columns import chosen, hits, states, too_large
from trimtab.diagnose.replay.store_columns import StoredAverages, StoredReports
from trimtab.diagnose.store_source import is_logged
from trimtab.pulsar.bundles import is_system_bundle, namespace
from trimtab.pulsar.leader import load_data
from trimtab.pulsar.leader.averages import LeaderAverages
from trimtab.pulsar.leader.load import broker_load, cluster_load
from trimtab.pulsar.leader.view import LeaderView, Report
from trimtab.pulsar.model import LostRoundError
from trimtab.pulsar.place import PlacerEntry, placer
from trimtab.pulsar.scores import weighted_usage
from trimtab.pulsar.settings import LoadManagerSettings, ResourceWeights
from trimtab.pulsar.shed import shedder

#: What happens first when two things bear the same time: the leader hears of a write
#: before it acts on it, and a round's placements follow its decision.
REPORT, LEFT, STORED, STARTED, OWNED, ROUND, SELECTION, UNLOAD = range(8)

#: The only load manager whose rounds are replayed.
_LOAD_MANAGER = "ModularLoadManagerImpl"

#: Placers of which a recording holds all that they go by in a shedding round; a round robin
#: would need a count from the leader's start.
_PLACERS = frozenset({"LeastResourceUsageWithWeight", "LeastLongTermMessageRate", "AvgShedder"})

#: Shedders whose score is smoothed usage.
_SMOOTHING = frozenset({"ThresholdShedder"})

#: Shedders that move a bundle only if it fits into what is to move.
_FITTING = frozenset({"UniformLoadShedder", "AvgShedder"})

#: A recorder that polls sees a departure late, by up to this much.
_LEAVING = timedelta(seconds=30)

#: Said where a strategy looks at averages over a long time, and the store's are absent.
_NO_AVERAGES = "bundles' averages over a long time (store/bundles.jsonl) are not in the recording"
#: An unload takes up to so long; measured: 0.03 to 4 s.
_UNLOADING_S = 5.0
#: Of many bundles so many are named.
_NAMED_MAX = 3
#: Writes of bundle averages closer together than this are one flush.
_FLUSH = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Leading:
    """Who led during one tenure, and by what."""

    term: int
    leader: str
    #: Broker id of the leader; None if it is not known.
    leader_id: str | None
    #: Pulsar's release, such as "4.0.8".
    release: str
    shedder: str
    placer: str
    conf: Mapping[str, str]
    manager: LoadManagerSettings
    weights: ResourceWeights
    #: Why the smoothed usage is not known from the start; None if it is.
    doubt: str | None


@dataclass(frozen=True, slots=True)
class Script:
    """What happened during one tenure, as recorded."""

    leading: Leading
    reports: StoredReports
    averages: StoredAverages
    #: (time, round number or None for a silent round).
    ticks: Sequence[tuple[datetime, int | None]]
    #: Rows of `log_events` of kind candidates-considered.
    selections: Sequence[Mapping[str, Any]]
    #: (time, bundle) of the logged unloads.
    unloads: Sequence[tuple[datetime, str]]
    #: Rows of `ownership`.
    ownership: Sequence[Mapping[str, Any]]
    #: When the leader's process started, from which on it averages; None if not known.
    since: datetime | None


@dataclass(slots=True)
class _Memory:
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
    memory: _Memory
    #: Who owned which bundle from when on, as far as it is known.
    soon: Owners
    #: Says what a row of `load_reports` holds.
    read: Callable[[dict[str, Any]], Report]
    #: From `missed_writes`.
    gaps: Sequence[Gap] = ()
    #: Rows of reports, polled, that tell of brokers that left.
    departures: Sequence[Mapping[str, Any]] = ()
    flushed: datetime | None = None
    #: Why bundles' averages may differ from the leader's throughout; None if they do not.
    averages_doubt: str | None = None


def replaying(
    leading: Leading, view: LeaderView, soon: Owners, read: Callable[[dict[str, Any]], Report]
) -> Replaying:
    """Return the state as a tenure begins, in which the strategies remember nothing yet."""
    shedding, placing = shedder(leading.shedder, leading.release), _placer(leading)
    memory = _Memory(shedding.memory if shedding else None, placing.memory if placing else None)
    return Replaying(leading, view, memory, soon, read)


def replay(script: Script) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of one tenure's rounds and placements, decided again.

    Args:
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
    # The samples are all in memory, whether they wait or not.
    averages = LeaderAverages(reads_long(script.leading), waiting_max=sys.maxsize)
    view = LeaderView(averages)
    now = replaying(script.leading, view, owners(script.ownership), script.reports.report)
    now.gaps = missed_writes(script.reports.rows)
    if reads_long(script.leading) and not script.averages.written.size:
        now.averages_doubt = _NO_AVERAGES
    now.departures = tuple(
        row for row in script.reports.rows if row["is_gone"] and not is_logged(row)
    )
    for event in _timeline(script):
        yield from taken(now, event)


def reads_long(leading: Leading) -> bool:
    """Return whether a strategy of the leader's looks at long-term averages."""
    entries = shedder(leading.shedder, leading.release), _placer(leading)
    return any(entry.reads_long for entry in entries if entry is not None)


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
        view.look([row["broker"] if row["is_gone"] else now.read(row) for row in thing])
        for row in thing:
            if row["is_gone"]:
                forget(now, row["broker"])
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


def forget(now: Replaying, broker: str) -> None:
    """Let the strategies forget a broker that the view has dropped."""
    leading, memory = now.leading, now.memory
    active = frozenset(now.view.reports)
    if (shedding := shedder(leading.shedder, leading.release)) is not None:
        memory.shedder = shedding.forget(memory.shedder, active)
    if (placing := _placer(leading)) is not None:
        memory.placer = placing.forget(memory.placer, active)
    memory.shed_doubts.pop(broker, None)
    memory.place_doubts.pop(broker, None)
    memory.away.discard(broker)


def _placer(leading: Leading) -> PlacerEntry[Any, Any] | None:
    """Return the placer, if it can be replayed."""
    return placer(leading.placer, leading.release) if leading.placer in _PLACERS else None


def _timeline(script: Script) -> list[tuple[datetime, int, Any]]:
    bookkeeping = load_data(_LOAD_MANAGER, script.leading.release)
    is_deaf = bookkeeping is not None and not bookkeeping.looks_while_unloading
    exact = [row for row in script.ownership if is_logged(row)]
    spans = unloading(script.ticks, script.unloads, exact) if is_deaf else ()
    writes = sorted(((write_time(row), row) for row in script.reports.rows), key=itemgetter(0))
    events: list[tuple[datetime, int, Any]] = []
    for time, rows in looks(writes, spans):
        events.append((time, REPORT, rows))
        left = [row for row in rows if row["is_gone"] and write_time(row) < time]
        events += [(write_time(row), LEFT, row["broker"]) for row in left]
    events += [(time, STORED, flush) for time, *flush in script.averages.flushes()]
    events += [] if script.since is None else [(script.since, STARTED, None)]
    events += [(row["time"], OWNED, row) for row in script.ownership if row["bundle"]]
    events += [(time, ROUND, number) for time, number in script.ticks]
    events += [(row["time"], SELECTION, row) for row in script.selections]
    events += [(time, UNLOAD, bundle) for time, bundle in script.unloads]
    return sorted(events, key=itemgetter(0, 1))


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
    if shedding is None or len(view.reports) < 2:
        return
    for broker, after, before, why in gaps:
        if after < time < before:
            memory.shed_doubts[broker] = why
    for row in now.departures:
        if timedelta(0) < row["time"] - time < _LEAVING:
            why = f"{row['broker']} left about then, and when exactly was not recorded"
            memory.shed_doubts.update(dict.fromkeys(view.reports, why))
    over_s = time.timestamp() - leading.manager.grace_period_s
    grace_doubt = _grace_doubt(view.recently_unloaded, over_s)
    view.forget_unloads_before(over_s)
    load = cluster_load(view, lambda bundle: is_system_bundle(bundle, leading.release))
    settings = shedding.settings(leading.conf, leading.release)
    try:
        decision, memory.shedder = shedding.shed(load, memory.shedder, settings)
    except LostRoundError as error:  # nothing was decided, in Pulsar either
        memory.shedder = error.memory
        return
    doubts = [leading.doubt] if leading.doubt else []
    doubts += [memory.shed_doubts[b] for b in load.brokers if b in memory.shed_doubts]
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
            or grace_doubt,
            "average": decision.average,
            "is_smoothed": leading.shedder in _SMOOTHING,
            "brokers": states(load, decision, weighted_usage(load, leading.weights)),
            "unloads": chosen(load, decision),
            "too_large": too_large(load, decision) if leading.shedder in _FITTING else [],
            "hits_high": hits(memory.shedder, "hits_high"),
            "hits_low": hits(memory.shedder, "hits_low"),
        },
    )


def _grace_doubt(unloads: Mapping[str, float], over_s: float) -> str | None:
    """Return why it is open whether a bundle's grace period was over; None if none is.

    The leader notes an unload when it is done and logs it before, so one that was logged just
    before the time from which on unloads count may have been noted after it.
    """
    names = sorted(name for name, s in unloads.items() if 0.0 <= over_s - s <= _UNLOADING_S)
    if not names:
        return None
    few = ", ".join(names[:_NAMED_MAX])
    return f"whether the grace period of {few} was over hangs on milliseconds"


def _place(now: Replaying, event: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row of a selection, made again with the candidates that the filter leaves.

    What a lookup selects counts for the selections after it; what a round selects does not.

    Isolation policies and anti-affinity groups are not in a recording; where they matter
    the number of candidates differs from the logged one, and the placer's scores of these
    brokers are doubtful from then on.
    """
    view, memory, leading = now.view, now.memory, now.leading
    placing = _placer(leading)
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


def _give(view: LeaderView, memory: _Memory, event: Mapping[str, Any], broker: str | None) -> None:
    """Remember whom a lookup was sent to."""
    if broker is not None:
        view.give(event["bundle"], broker)
        return
    why = f"whom the leader named to a lookup of {event['bundle']} is not known"
    memory.place_doubts.update(dict.fromkeys(view.reports, why))
