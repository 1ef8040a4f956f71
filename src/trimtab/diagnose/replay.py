"""One tenure of leadership, decided again from what the leader had been told.

Pure: rows in, rows out.  `recompute.py` runs it on Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from trimtab.bundles import is_system_bundle, namespace
from trimtab.diagnose.busy_leader import looks, unloading
from trimtab.diagnose.leader_load import broker_load, cluster_load
from trimtab.diagnose.leader_view import LeaderView
from trimtab.diagnose.lookups import Owners, answer, is_lookup, owners
from trimtab.diagnose.store_source import is_logged
from trimtab.diagnose.stored import StoredAverages, StoredReports
from trimtab.load_data import load_data
from trimtab.model import RESOURCES, AvgShedderMemory, ClusterLoad, Decision, LostRoundError
from trimtab.place import PlacerEntry, placer
from trimtab.scores import weighted_usage
from trimtab.settings import LoadManagerSettings, ResourceWeights
from trimtab.shed import shedder

#: What happens first when two things bear the same time: the leader hears of a write
#: before it acts on it, and a round's placements follow its decision.
_REPORT, _LEFT, _STORED, _STARTED, _OWNED, _ROUND, _SELECTION, _UNLOAD = range(8)

#: The only load manager whose rounds are replayed.
_LOAD_MANAGER = "ModularLoadManagerImpl"

#: Placers of which a recording holds all that they go by in a shedding round; a round robin
#: would need a count from the leader's start.
_PLACERS = frozenset({"LeastResourceUsageWithWeight", "LeastLongTermMessageRate", "AvgShedder"})

#: Shedders whose score is smoothed usage.
_SMOOTHING = frozenset({"ThresholdShedder"})

#: A recorder that polls sees a departure late, by up to this much.
_LEAVING = timedelta(seconds=30)

#: Writes of bundle averages closer together than this are one flush.
_FLUSH = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Script:
    """What happened during one tenure, as recorded."""

    term: int
    leader: str
    #: Pulsar's release, such as "4.0.8".
    release: str
    shedder: str
    placer: str
    conf: Mapping[str, str]
    manager: LoadManagerSettings
    weights: ResourceWeights
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
    #: Broker id of the leader; None if it is not known.
    leader_id: str | None
    #: When the leader's process started, from which on it averages; None if not known.
    since: datetime | None
    #: Why the smoothed usage is not known from the start; None if it is.
    doubt: str | None


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


def replay(script: Script) -> Iterator[tuple[str, dict[str, Any]]]:
    """Decide one tenure's rounds and placements again.

    Args:
        script: what happened.

    Yields:
        (table, row): a row of `replayed_rounds` for each tick and a row of
        `replayed_placements` for each logged selection, as far as the strategies are
        known for the release.

    Quirks:
        A silent round runs the shedder too: its smoothed usage moves on.  What is written
        while the leader unloads, it looks at when the round is over.  A broker that leaves
        is forgotten at once.  A missed write (a gap in the store's versions) makes that
        broker doubtful from the first round that fell into the gap, until it leaves.
    """
    shedding = shedder(script.shedder, script.release)
    placing = _placer(script)
    view = LeaderView()
    memory = _Memory(shedding.memory if shedding else None, placing.memory if placing else None)
    gaps = missed_writes(script.reports.rows)
    departures = tuple(row for row in script.reports.rows if row["is_gone"] and not is_logged(row))
    soon = owners(script.ownership)
    flushed: datetime | None = None
    for time, what, thing in _timeline(script):
        if what == _ROUND:
            yield from _decide(view, memory, script, (time, thing, gaps, departures))
        elif what == _SELECTION:
            yield from _place(view, memory, script, thing, soon)
        elif what == _STORED:
            if flushed is None or time - flushed > _FLUSH:
                view.recompute()
            flushed = time
            view.store(*thing)
        else:
            _learn(view, memory, script, (time, what, thing))


def _learn(
    view: LeaderView, memory: _Memory, script: Script, event: tuple[datetime, int, Any]
) -> None:
    """Take what changes the leader's maps and asks for no decision."""
    time, what, thing = event
    if what == _REPORT:
        view.look(
            [row["broker"] if row["is_gone"] else script.reports.report(row) for row in thing]
        )
        for row in thing:
            if row["is_gone"]:
                _forget(view, memory, script, row["broker"])
    elif what == _LEFT:
        memory.away.add(thing)
    elif what == _STARTED:
        view.start()
    elif what == _UNLOAD:
        view.recently_unloaded[thing] = time.timestamp()
    elif what == _OWNED:
        view.own.discard(thing["bundle"])
        if thing["broker"] == script.leader_id:
            view.own.add(thing["bundle"])


def _placer(script: Script) -> PlacerEntry[Any, Any] | None:
    """Look up the placer, if it can be replayed."""
    return placer(script.placer, script.release) if script.placer in _PLACERS else None


def missed_writes(
    reports: Iterable[Mapping[str, Any]],
) -> tuple[tuple[str, datetime, datetime, str], ...]:
    """Find the gaps in the versions of each broker's node.

    Returns:
        (broker, after, before, why): some write between these two times was not recorded.
    """
    last: dict[str, Mapping[str, Any]] = {}
    gaps = []
    for row in sorted(reports, key=_heard):
        broker, before = row["broker"], last.get(row["broker"])
        last[broker] = row
        if row["is_gone"] or row["version"] is None:
            continue
        expected = 0 if before is None or before["is_gone"] else before["version"] + 1
        if row["version"] > expected:
            after = datetime.min.replace(tzinfo=UTC) if before is None else _heard(before)
            versions = f"version {expected} was expected and {row['version']} found"
            gaps.append((broker, after, _heard(row), f"a write of {broker} was missed: {versions}"))
    return tuple(gaps)


def measures(row: Mapping[str, Any], which: str) -> Any:
    """Return a report's five usages or limits; one that is absent is -1, as in the Java."""
    values = (row[f"{resource}_{which}"] for resource in RESOURCES)
    return np.array([-1.0 if value is None else value for value in values])


def _heard(row: Mapping[str, Any]) -> datetime:
    heard: datetime = row["time"] if row["is_gone"] or row["written"] is None else row["written"]
    return heard


def _timeline(script: Script) -> list[tuple[datetime, int, Any]]:
    bookkeeping = load_data(_LOAD_MANAGER, script.release)
    is_deaf = bookkeeping is not None and not bookkeeping.looks_while_unloading
    exact = [row for row in script.ownership if is_logged(row)]
    spans = unloading(script.ticks, script.unloads, exact) if is_deaf else ()
    writes = sorted(((_heard(row), row) for row in script.reports.rows), key=lambda it: it[0])
    found: list[tuple[datetime, int, Any]] = []
    for time, rows in looks(writes, spans):
        found.append((time, _REPORT, rows))
        left = [row for row in rows if row["is_gone"] and _heard(row) < time]
        found += [(_heard(row), _LEFT, row["broker"]) for row in left]
    found += [(written, _STORED, told) for written, *told in script.averages.flushes()]
    found += [] if script.since is None else [(script.since, _STARTED, None)]
    found += [(row["time"], _OWNED, row) for row in script.ownership if row["bundle"]]
    found += [(time, _ROUND, number) for time, number in script.ticks]
    found += [(row["time"], _SELECTION, row) for row in script.selections]
    found += [(time, _UNLOAD, bundle) for time, bundle in script.unloads]
    return sorted(found, key=lambda entry: entry[:2])


def _hear(
    view: LeaderView, memory: _Memory, script: Script, rows: Sequence[dict[str, Any]]
) -> None:
    view.look([row["broker"] if row["is_gone"] else script.reports.report(row) for row in rows])
    for row in rows:
        if row["is_gone"]:
            _forget(view, memory, script, row["broker"])


def _forget(view: LeaderView, memory: _Memory, script: Script, broker: str) -> None:
    """Have the strategies forget a broker that has gone."""
    active = frozenset(view.reports)
    if (shedding := shedder(script.shedder, script.release)) is not None:
        memory.shedder = shedding.forget(memory.shedder, active)
    if (placing := _placer(script)) is not None:
        memory.placer = placing.forget(memory.placer, active)
    memory.shed_doubts.pop(broker, None)
    memory.place_doubts.pop(broker, None)
    memory.away.discard(broker)


def _decide(
    view: LeaderView, memory: _Memory, script: Script, when: tuple[datetime, int | None, Any, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    time, number, gaps, departures = when
    shedding = shedder(script.shedder, script.release)
    # "Only 1 broker available": no shedder is asked.
    if shedding is None or len(view.reports) < 2:
        return
    for broker, after, before, why in gaps:
        if after < time < before:
            memory.shed_doubts[broker] = why
    for row in departures:
        if timedelta(0) < row["time"] - time < _LEAVING:
            why = f"{row['broker']} left about then, and when exactly was not recorded"
            memory.shed_doubts.update(dict.fromkeys(view.reports, why))
    view.forget_unloads_before(time.timestamp() - script.manager.grace_period_s)
    load = cluster_load(view, lambda bundle: is_system_bundle(bundle, script.release))
    settings = shedding.settings(script.conf, script.release)
    try:
        decision, memory.shedder = shedding.shed(load, memory.shedder, settings)
    except LostRoundError as error:  # nothing was decided, in Pulsar either
        memory.shedder = error.memory
        return
    doubts = [script.doubt] if script.doubt else []
    doubts += [memory.shed_doubts[b] for b in load.brokers if b in memory.shed_doubts]
    yield (
        "replayed_rounds",
        {
            "term": script.term,
            "time": time,
            "round": number,
            "leader": script.leader,
            "doubt": "; ".join(dict.fromkeys(doubts)) or None,
            "bundle_doubt": next((why for _, after, _, why in gaps if after < time), None),
            "average": decision.average,
            "is_smoothed": script.shedder in _SMOOTHING,
            "brokers": _states(load, decision, weighted_usage(load, script.weights)),
            "unloads": _chosen(load, decision),
            "hits_high": _hits(memory.shedder, "hits_high"),
            "hits_low": _hits(memory.shedder, "hits_low"),
        },
    )


def _states(load: ClusterLoad, decision: Decision, usage: Any) -> list[dict[str, Any]]:
    throughput = load.throughput_in + load.throughput_out
    rate = load.rate_in + load.rate_out
    return [
        {
            "broker": broker,
            "usage": float(usage[i]),
            "score": float(decision.scores[i]),
            "throughput": float(throughput[i]),
            "rate": float(rate[i]),
            "offload": None if np.isnan(decision.offload[i]) else float(decision.offload[i]),
            "bundles": int(load.bundle_count[i]),
            "reason": str(decision.reasons[i]),
        }
        for i, broker in enumerate(load.brokers)
    ]


def _chosen(load: ClusterLoad, decision: Decision) -> list[dict[str, Any]]:
    throughput = load.bundle_throughput_in + load.bundle_throughput_out
    rate = load.bundle_rate_in + load.bundle_rate_out
    owners = [load.brokers[i] for i in load.bundle_broker]
    at = {pair: i for i, pair in enumerate(zip(owners, load.bundles, strict=True))}
    return [
        {
            "source": unload.source,
            "bundle": unload.bundle,
            "target": unload.target,
            "throughput": float(throughput[at[unload.source, unload.bundle]]),
            "rate": float(rate[at[unload.source, unload.bundle]]),
        }
        for unload in decision.unloads
    ]


def _hits(memory: Any, which: str) -> dict[str, float] | None:
    """Return AvgShedder's counters after the round; other shedders have none."""
    if not isinstance(memory, AvgShedderMemory):
        return None
    counts: Mapping[str, int] = getattr(memory, which)
    return {broker: float(count) for broker, count in counts.items()}


def _place(
    view: LeaderView, memory: _Memory, script: Script, event: Mapping[str, Any], soon: Owners
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Select again, with the candidates that the even-distribution filter leaves.

    What a lookup selects counts for the selections after it; what a round selects does not.

    Isolation policies and anti-affinity groups are not in a recording; where they matter
    the number of candidates differs from the logged one, and the placer's scores of these
    brokers are doubtful from then on.
    """
    placing = _placer(script)
    if placing is None:
        return
    view.meet(event["bundle"])
    load = broker_load(view)
    names = (
        view.brokers_with_fewest(namespace(event["bundle"]), memory.away)
        if script.manager.distributes_evenly
        else tuple(name for name in view.set_order() if name not in memory.away)
    )
    position = {broker: i for i, broker in enumerate(load.brokers)}
    candidates = np.array([position[name] for name in names], np.int64)
    if len(names) == 0:
        return
    if len(names) != event["count"]:
        found = f"{event['count']} candidates were logged, {len(names)} recomputed"
        why = f"the candidates for {event['bundle']} are not known: {found}"
        memory.place_doubts.update(dict.fromkeys(view.reports, why))
    settings = placing.settings(script.conf, script.release)
    is_shared = script.placer == script.shedder
    remembered = memory.shedder if is_shared else memory.placer
    placement, remembered = placing.place(load, event["bundle"], candidates, remembered, settings)
    if is_shared:
        memory.shedder = remembered
    else:
        memory.placer = remembered
    best = [load.brokers[i] for i in placement.best]
    doubts = [memory.place_doubts[name] for name in names if name in memory.place_doubts]
    if is_lookup(event):
        _give(view, memory, event, answer(event, best, soon))
    if script.doubt:
        doubts.append(script.doubt)
    yield (
        "replayed_placements",
        {
            "term": script.term,
            "time": event["time"],
            "leader": script.leader,
            "file": event["file"],
            "line": event["line"],
            "bundle": event["bundle"],
            "placer": script.placer,
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
