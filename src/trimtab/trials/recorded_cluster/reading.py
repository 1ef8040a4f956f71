"""Tables of a recording → what it tells, as arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.store_source import Span, best_rows, covered, is_logged
from trimtab.files.places import located
from trimtab.lab.reconstruct.evidence import (
    Evidence,
    Lines,
    Owners,
    ProcessCpu,
    Reports,
    Round,
    Stop,
)
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.leader.time_average import METRICS
from trimtab.pulsar.model import RESOURCES, Flags, Floats
from trimtab.pulsar.settings.load_manager import LoadManagerSettings
from trimtab.trials.recorded_cluster.columns import (
    Names,
    coded_table,
    floats,
    rows,
    seconds,
    stored_table,
)
from trimtab.trials.recorded_cluster.leader_memory import printed, stored_averages

# What people write into actions.jsonl when they end a broker.
_STOPS = {"broker_stop": False, "broker_kill": True}
# What they write when they unload a bundle ends like this.
_UNLOAD = "unload"
# A change of owners that is seen so long after an unload is of that unload.
_OF_UNLOAD = timedelta(seconds=20)
# What a process has used of the CPU, s of one core.
_PROCESS_CPU = "process_cpu_seconds_total"
# What tells one report from any other; those of its bundles have the first two.
_REPORT = ("file", "line", "broker", "version", "written", "time")
# What else is asked of reports, and what of their rows on bundles, of which there are many.
_OF_HOST = tuple(f"{name}_{which}" for which in ("usage", "limit") for name in RESOURCES)
_OF_REPORT = (*_REPORT, "origin", "is_gone", "started", *_OF_HOST)
_WORDS = ("file", "broker", "bundle")
_OF_BUNDLE = (*_WORDS, "line", "time", "written", *METRICS, "topics", "producers")


def read(tables: Path, document: Mapping[str, Any], manager: LoadManagerSettings) -> Evidence:
    """Return what a recording holds, as arrays.

    What ZooKeeper's own logs tell stands for what was polled in their time.
    """
    spans = covered(rows(tables, "store_files"))
    reports, bundle_rows = _best_reports(tables, spans)
    ownership = best_rows(rows(tables, "ownership"), spans)
    release = document["release"]
    bundle_names = set(pc.unique(bundle_rows["bundle"]).to_pylist()) | {
        row["bundle"] for row in ownership if row["bundle"]
    }
    bundles = Names([name for name in bundle_names if not is_system_bundle(name, release)])
    brokers = Names(reports["broker"].to_pylist())
    replayed, actions = rows(tables, "replayed_rounds"), rows(tables, "actions")
    interval_s = manager.shedding_interval_s
    is_shedding = manager.is_enabled and manager.is_shedding_enabled
    leaders = _leaders(best_rows(rows(tables, "leaders"), spans), brokers)
    # Where nothing is shed there are no rounds, and where no leader logged nobody knows what
    # they did, though some may have been decided again.
    logs = _logs(tables)
    meta = {row["key"]: row["value"] for row in rows(tables, "recording")}
    is_known = is_shedding and _is_logged(meta, logs, {brokers.names[at] for _, at in leaders})
    # A leader that logged nothing may have shed before its log begins, or where there is none.
    silent = {row["leader"] for row in replayed if row["leader"]}
    silent -= {each for each in silent if _is_logged(meta, logs, {_id(meta, each)})}
    decided = [
        row
        for row in replayed
        if row["round"] is not None
        or (row["leader"] not in silent and row["time"] >= logs.get(row["leader"], row["time"]))
    ]
    rounds = _rounds(document, decided, brokers, bundles, interval_s) if is_known else ()
    said = printed(tables, document["round_list"]) if rounds else {}
    rounds = tuple(
        replace(each, printed=said[each.number]) if each.number in said else each for each in rounds
    )
    return Evidence(
        brokers=brokers.names,
        bundles=bundles.names,
        reports=_reports(reports, brokers),
        lines=_lines(bundle_rows, _prompt(reports, bundle_rows), brokers, bundles),
        owners=_owners(ownership, _unloads(document, actions), brokers, bundles),
        leaders=leaders,
        stops=_stops(actions, brokers),
        rounds=rounds,
        is_attributed=bool(rounds) or not is_shedding,
        process_cpu=_process_cpu(tables, brokers),
        averages=stored_averages(tables, spans, bundles),
        logged_s=_logged_from_s(document, logs),
    )


def _process_cpu(tables: Path, brokers: Names) -> ProcessCpu:
    """Return the CPU of brokers' processes, of those whose scrapes can be told apart."""
    meta = {row["key"]: row["value"] for row in rows(tables, "recording")}
    stored = ds.dataset(**located(tables / "metrics"), format="parquet")
    table = stored.to_table(["time", "log_broker", "value"], ds.field("name") == _PROCESS_CPU)
    table = table.sort_by("time")
    logs = table["log_broker"].to_pylist()
    broker = brokers.all([_id(meta, log) for log in logs])
    known = broker >= 0
    return ProcessCpu(seconds(table["time"])[known], broker[known], floats(table["value"])[known])


def _logs(tables: Path) -> dict[str, datetime]:
    """Return when each broker's log begins."""
    lines = stored_table(tables, "log_events", ["log_broker", "time"])
    first = lines.group_by("log_broker").aggregate([("time", "min")]).to_pylist()
    return {row["log_broker"]: row["time_min"] for row in first}


def _logged_from_s(document: Mapping[str, Any], logs: Mapping[str, datetime]) -> float:
    """Return when the log of the leader of the first round begins; infinity if there is none."""
    leaders = [row["leader"] for row in document["round_list"]]
    begin = logs.get(leaders[0]) if leaders else None
    return np.inf if begin is None else begin.timestamp()


def _is_logged(meta: Mapping[str, str], logs: Collection[str], leaders: Set[str]) -> bool:
    """Return whether a log of a leader is there; of any broker if its id is not known."""
    return any(not leaders or _id(meta, log) in {log, *leaders} for log in logs)


def _id(meta: Mapping[str, str], log: str) -> str:
    """Return the id of the broker whose log has a name; the name if nobody says."""
    return meta.get(f"brokers.{log}.id", log)


def _best_reports(tables: Path, spans: Sequence[Span]) -> tuple[pa.Table, pa.Table]:
    """Return the reports and their rows on bundles, without those that a better source has, too."""
    reports = stored_table(tables, "load_reports", _OF_REPORT)
    bundle_rows = coded_table(tables, "bundle_reports", _OF_BUNDLE, _WORDS)
    all_reports = [row | {"at": i} for i, row in enumerate(reports.select(_REPORT).to_pylist())]
    best = best_rows(all_reports, spans)
    if len(best) < len(all_reports):
        reports = reports.take([row["at"] for row in best])
        places = {(row["file"], row["line"]) for row in best}
        bundle_rows = bundle_rows.filter(pa.array(_among(bundle_rows, places)))
    return _in_order(reports), _in_order(bundle_rows)


def _in_order(table: pa.Table) -> pa.Table:
    """Return rows in order of the time at which they were so, then of file and line."""
    heard = pc.coalesce(table["written"], table["time"])
    table = table.append_column("heard", heard)
    files = Names(pc.unique(table["file"]).to_pylist())
    keys = (table["line"].to_numpy(), files.of(table["file"]), heard.cast(pa.int64()).to_numpy())
    order = np.lexsort(keys)
    # Mostly they were written so.
    return table if (np.diff(order) == 1).all() else table.take(pa.array(order))


def _among(table: pa.Table, places: Set[tuple[str, int]]) -> Flags:
    """Return which rows are of some files and lines, (n_rows,)."""
    files = Names([file for file, _ in places])
    count = 1 + max((line for _, line in places), default=0)
    wanted = np.array([count * files.at(file) + line for file, line in places], np.int64)
    file, line = files.of(table["file"]), table["line"].to_numpy()
    is_near: Flags = (file >= 0) & (line < count)
    return np.asarray(is_near & np.isin(count * file + line, wanted))


def _reports(table: pa.Table, brokers: Names) -> Reports:
    def resources(which: str) -> Floats:
        return np.stack([floats(table[f"{name}_{which}"]) for name in RESOURCES], axis=1)

    return Reports(
        time_s=seconds(table["heard"]),
        broker=brokers.all(table["broker"].to_pylist()),
        is_gone=np.array(table["is_gone"].to_pylist(), np.bool_),
        is_stored=np.array([origin == "store" for origin in table["origin"].to_pylist()]),
        started_s=seconds(table["started"]),
        usage=resources("usage"),
        limit=resources("limit"),
    )


def _prompt(reports: pa.Table, bundle_rows: pa.Table) -> Flags:
    """Return which rows of bundles are of reports before which no write was missed, (n_rows,)."""
    last, prompt = dict[str, int](), set[tuple[str, int]]()
    for row in reports.select([*_REPORT, "origin"]).to_pylist():
        if row["origin"] == "store" and row["version"] is not None:
            if row["version"] in (0, last.get(row["broker"], -1) + 1):
                prompt.add((row["file"], row["line"]))
            last[row["broker"]] = row["version"]
    return _among(bundle_rows, prompt)


def _lines(table: pa.Table, is_prompt: Flags, brokers: Names, bundles: Names) -> Lines:
    bundle = bundles.of(table["bundle"])
    is_known = bundle >= 0
    return Lines(
        time_s=seconds(table["heard"])[is_known],
        broker=brokers.of(table["broker"])[is_known],
        bundle=bundle[is_known],
        rates=np.stack([floats(table[name]) for name in METRICS], axis=1)[is_known],
        topics=np.nan_to_num(floats(table["topics"]))[is_known],
        producers=np.nan_to_num(floats(table["producers"]))[is_known],
        is_prompt=np.asarray(is_prompt[is_known], np.bool_),
    )


#: When somebody wrote down that a bundle was unloaded, and whether it was the leader in a round.
_Unload: TypeAlias = tuple[datetime, bool]


def _unloads(
    document: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]
) -> dict[str, list[_Unload]]:
    """Return by bundle the unloads of the leader's log and of people."""
    by_bundle: dict[str, list[_Unload]] = {}
    for unload in document["unloads"]:
        time = datetime.fromisoformat(unload["time"])
        by_bundle.setdefault(unload["bundle"], []).append((time, True))
    for row in actions:
        bundle = json.loads(row["detail"]).get("bundle") if row["event"].endswith(_UNLOAD) else None
        if isinstance(bundle, str):
            by_bundle.setdefault(bundle, []).append((row["time"], False))
    return by_bundle


def _owners(
    owned: Sequence[Mapping[str, Any]],
    unloads: Mapping[str, Sequence[_Unload]],
    brokers: Names,
    bundles: Names,
) -> Owners:
    """Return changes of owners, each at the time of its unload if somebody wrote that down."""
    changes = sorted(_changes(owned, unloads, brokers, bundles), key=itemgetter(0))
    table = np.array(changes, "f8, i8, i8, ?, ?")
    return Owners(*(np.ascontiguousarray(table[name]) for name in table.dtype.names or ()))


def _changes(
    owned: Sequence[Mapping[str, Any]],
    unloads: Mapping[str, Sequence[_Unload]],
    brokers: Names,
    bundles: Names,
) -> Iterator[tuple[float, int, int, bool, bool]]:
    last, done = dict[int, int](), set[tuple[int, datetime]]()
    for row in sorted(owned, key=lambda row: (row["time"], row["file"], row["line"])):
        bundle, broker = bundles.at(row["bundle"]), brokers.at(row["broker"])
        if bundle < 0 or last.get(bundle, -1) == broker:
            continue
        last[bundle] = broker
        near = [
            (time, is_shed)
            for time, is_shed in unloads.get(row["bundle"], ())
            if timedelta(0) <= row["time"] - time <= _OF_UNLOAD and (bundle, time) not in done
        ]
        when, is_shed = max(near, key=itemgetter(0), default=(row["time"], False))
        if near and broker >= 0:
            # Who owns it next does so for another reason.
            done.add((bundle, when))
        yield when.timestamp(), bundle, broker, is_shed, is_logged(row)


def _leaders(rows: Sequence[Mapping[str, Any]], brokers: Names) -> tuple[tuple[float, int], ...]:
    elections = [
        ((row["written"] or row["time"]).timestamp(), brokers.at(row["broker"])) for row in rows
    ]
    return tuple(sorted((time_s, broker) for time_s, broker in elections if broker >= 0))


def _stops(rows: Sequence[Mapping[str, Any]], brokers: Names) -> tuple[Stop, ...]:
    stops = []
    for row in rows:
        if row["event"] not in _STOPS:
            continue
        broker = brokers.at(json.loads(row["detail"]).get("id") or row["broker"])
        if broker >= 0:
            stops.append(Stop(row["time"].timestamp(), broker, _STOPS[row["event"]]))
    return tuple(sorted(stops, key=lambda stop: stop.time_s))


def _rounds(
    document: Mapping[str, Any],
    replayed: Sequence[Mapping[str, Any]],
    brokers: Names,
    bundles: Names,
    interval_s: float,
) -> tuple[Round, ...]:
    """Return the rounds that were logged, and the silent ones that were decided again."""
    logged = document["round_list"]
    unloads: dict[int, list[Mapping[str, Any]]] = {row["round"]: [] for row in logged}
    for unload in document["unloads"]:
        unloads[unload["round"]].append(unload)
    decided = {row["round"]: row for row in replayed if row["round"] is not None}
    leader_rounds = []
    for row, following in zip_longest(logged, logged[1:]):
        mine, again = unloads[row["round"]], decided.get(row["round"])
        leader_rounds.append(
            Round(
                time_s=_logged_s(row),
                number=row["round"],
                unloads=tuple((bundles.at(u["bundle"]), brokers.at(u["target"])) for u in mine),
                waited_s=_waits(mine, _end(row, following, interval_s)),
                scores=None if again is None else _scores(again, brokers),
                doubt=None if again is None else again["doubt"] or again["bundle_doubt"],
            )
        )
    leader_rounds += [
        Round(row["time"].timestamp(), scores=_scores(row, brokers), doubt=row["doubt"])
        for row in replayed
        if row["round"] is None
    ]
    return tuple(sorted(leader_rounds, key=lambda each: each.time_s))


def _logged_s(row: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(row["time"]).timestamp()


def _end(
    row: Mapping[str, Any], following: Mapping[str, Any] | None, interval_s: float
) -> float | None:
    """Return when a round ended: an interval before the next one began, if that is logged."""
    if following is None or following["leader"] != row["leader"]:
        return None
    end_s = _logged_s(following) - interval_s
    # If rounds between the two were silent, their ends are not known.
    return end_s if 0 <= end_s - _logged_s(row) < interval_s / 2 else None


def _waits(unloads: Sequence[Mapping[str, Any]], end_s: float | None) -> tuple[float, ...]:
    times = [_logged_s(unload) for unload in unloads]
    if times and end_s is not None and end_s >= times[-1]:
        times.append(end_s)
    return tuple(after - before for before, after in pairwise(times))


def _scores(row: Mapping[str, Any], brokers: Names) -> dict[int, float]:
    return {brokers.at(state["broker"]): state["score"] for state in row["brokers"]}
