"""The diagnosis from end to end: reads the tables, asks each part, lays the answer out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.answers import answers
from trimtab.diagnose.busy import busy
from trimtab.diagnose.channel import channel
from trimtab.diagnose.clock_skew import Clocks
from trimtab.diagnose.clocks import (
    backward_warnings,
    clock_warnings,
    clocks_document,
    skew_warnings,
)
from trimtab.diagnose.cluster_tables import (
    ClusterTables,
    among,
    clocks_of,
    heaviest,
    log_events,
    log_folders,
    log_spans,
    logs_without_events,
    misread_logs,
    releases_of,
    reports_of,
)
from trimtab.diagnose.course import OF_LEADERS, Basis, Course, beginning, course
from trimtab.diagnose.deployment import (
    Deployment,
    broker_ids,
    deployment,
    logged_releases,
    logged_settings,
    logged_strategies,
    named_by_address,
)
from trimtab.diagnose.document import findings_document, is_large, picture
from trimtab.diagnose.elections import with_elections
from trimtab.diagnose.findings import all_findings
from trimtab.diagnose.log_lines import acquisitions
from trimtab.diagnose.night import Event, Handover
from trimtab.diagnose.other_events import CONSIDERED, OTHER_KINDS
from trimtab.diagnose.replay.lookups import owners, releases
from trimtab.diagnose.replay.recompute import recompute
from trimtab.diagnose.replay.result_tables import Replayed
from trimtab.diagnose.reports import broker_reports, of_origin
from trimtab.diagnose.rounds import SHEDDER_LOGGERS
from trimtab.diagnose.snapshot import snapshot, standing, with_snapshot
from trimtab.diagnose.store_source import Move, Span, best_rows, best_table, covered, move_of
from trimtab.diagnose.transfers.read import Transfers, transfers
from trimtab.diagnose.transitions import TABLE, transitions_table
from trimtab.diagnose.undecidable import moved_sentence, undecidable
from trimtab.diagnose.unexplained import EXPLAINING, TELLING, changes_of_owners, unexplained
from trimtab.diagnose.usage import METRICS, usages
from trimtab.diagnose.usages import Usages
from trimtab.diagnose.verdicts import verdicts
from trimtab.diagnose.whole_night import Beside, whole_night, with_channel
from trimtab.diagnose.wording import iso_time
from trimtab.files.assumed_day import ASSUMED, ASSUMED_DAY
from trimtab.files.partitions import write_rows
from trimtab.pulsar.model import RESOURCES
from trimtab.spark.runner import Runner, threads

#: What is asked of every report; the rest of a large night would not fit beside it.
_REPORTED = (
    *("time", "broker", "origin", "version", "written", "is_gone", "file", "line"),
    "updated",
    "load_manager",
    "rate_in",
    "rate_out",
    "throughput_in",
    "throughput_out",
    *(f"{resource}_{which}" for resource in RESOURCES for which in ("usage", "limit")),
)
_DAY_UNKNOWN = (
    f"the day is not known: the lines have a time and no date, and {ASSUMED_DAY} stands for it in "
    "findings.json and the tables; `from` in recording.toml would say it"
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a recording says."""

    #: findings.json, but for the accounting, which ingest has.
    findings: dict[str, Any]
    #: Series for the report's picture.
    picture: dict[str, Any]


def diagnose(spark: Runner, tables: Path, cluster: str) -> Diagnosis:
    """Return the diagnosis of a night, from its tables.

    Args:
        spark: runs the tasks, of `trimtab.spark.choice`.
        tables: folder that ingest wrote; the tables of DIAGNOSED are added to it.
        cluster: whose rows to read: those of one recording.
    """
    cluster_tables = ClusterTables(spark, tables, cluster)
    meta = {row["key"]: row["value"] for row in cluster_tables.rows("recording")}
    names = broker_ids(meta)
    spans = covered(cluster_tables.rows("store_files"))
    move = move_of(cluster_tables.rows("store_moves"))
    cluster_tables = replace(cluster_tables, until=move and move.time)
    reports = best_table(_reports(cluster_tables), spans)
    leaders = best_rows(cluster_tables.rows("leaders"), spans)
    files = cluster_tables.rows("files")
    ids = {*pc.unique(reports["broker"]).to_pylist(), *(row["broker"] for row in leaders)}
    names = named_by_address(names, log_folders(files), ids - {None})
    clocks = clocks_of(cluster_tables, names, reports)
    cluster_tables = replace(cluster_tables, ahead=clocks.ahead_of_logs(names))
    lines = log_events(cluster_tables, among("logger", SHEDDER_LOGGERS) | among("kind", OF_LEADERS))
    events = with_elections(lines, leaders, names)
    ran = _deployment(cluster_tables, meta, events)
    basis = Basis(
        names=names,
        ahead=cluster_tables.ahead,
        leaders=leaders,
        events=events,
        reports=reports,
        ran=ran,
        usages=_usages(cluster_tables, reports, names, ran),
        begin=beginning(meta, events, reports),
    )
    led = course(basis)
    # Nothing else waits for the replay: whatever does not need it is done beside.
    with threads(spark) as pool:
        playing = pool.submit(recompute, spark, (tables, cluster), led.replays, spans)
        (spans_of_logs, logs), silent = log_spans(cluster_tables), logs_without_events(files)
        actions = cluster_tables.rows("actions")
        over_bar = busy(basis.usages, led.end)
        beside = replace(
            _beside(cluster_tables, basis, led.moved(), spans, logs | silent.quiet),
            unread=silent.unread,
            unexplained=_unexplained(cluster_tables, ran, spans),
            misread=misread_logs(cluster_tables, TELLING),
        )
        beside = with_channel(beside, channel(cluster_tables, basis, led.end), led.moved())
        played = playing.result()
        replayed = played.telling() if is_large(basis.usages) else played.tables()
        again = transfers(cluster_tables, basis, whole_night(basis, led, beside, replayed))
        night = again.night
        written = _written(played, replayed, again)
        writing = pool.submit(write_rows, tables, cluster, f"{meta['name']}-00000", written)
        causes = all_findings(night)
        writing.result()
        shown = None if logs else _standing(spark, (tables, cluster), basis, led, spans)
    questions = undecidable(night, led.open_question if not again.again else None, move)
    document = again.with_reasons(
        findings_document(night, causes, verdicts(night, causes), questions, ran)
    )
    document |= _of_clocks(
        document["warnings"], (spans_of_logs, basis.usages.ends()), clocks, lines
    )
    document |= with_snapshot(document["headline"], shown) | {"busy": over_bar}
    stretch = _stretch(basis, led.end, spans_of_logs.values())
    return Diagnosis(
        findings=_of_recording(meta, stretch, move) | _warned(document, meta, move),
        picture=picture(night, replayed["replayed_rounds"], actions),
    )


def _of_recording(
    meta: Mapping[str, str], stretch: tuple[str | None, str | None], move: Move | None
) -> dict[str, Any]:
    """Return which recording it is, and from when to when it was."""
    first, last = stretch
    until = meta.get("to", last) if move is None else iso_time(move.time)
    recording = meta.get("name", meta.get("cluster", "recording"))
    when = {"from": meta.get("from") or first, "to": until}
    return {"recording": recording} | when | {ASSUMED: meta.get(ASSUMED)}


def _warned(document: dict[str, Any], meta: Mapping[str, str], move: Move | None) -> dict[str, Any]:
    """Return the document with the warnings in front that say what all of it stands on."""
    first = [moved_sentence(move)] if move else []
    first += [_DAY_UNKNOWN] if meta.get(ASSUMED) else []
    return document | {"warnings": [*first, *document["warnings"]]}


def _of_clocks(
    warnings: list[str],
    times: tuple[Mapping[str, tuple[datetime, datetime]], Sequence[datetime]],
    clocks: Clocks,
    logged: Sequence[Event],
) -> dict[str, Any]:
    """Return the warnings, with what is odd about the clocks added, and the clocks."""
    odd = [*clock_warnings(*times), *skew_warnings(clocks), *backward_warnings(logged)]
    return {"warnings": [*warnings, *odd], "clocks": clocks_document(clocks)}


def _beside(
    tables: ClusterTables,
    basis: Basis,
    moved: frozenset[str],
    spans: Sequence[Span],
    logs: frozenset[str],
) -> Beside:
    """Return the lines of no round, and what brokers and the store reported."""
    mine = among("bundle", moved)
    own = ds.field("kind") == "ownership-acquired"
    stored = tables.rows("ownership", mine) if moved else []
    lines = log_events(tables, own & mine) if moved else []
    records = broker_reports(of_origin(basis.reports, "store"))
    heavy = heaviest(tables)
    without_candidate = (ds.field("kind") == CONSIDERED) & (ds.field("count") == 0)
    return Beside(
        events=tuple(log_events(tables, among("kind", OTHER_KINDS) | without_candidate)),
        reports=records,
        answers=answers(
            basis.reports,
            records,
            lambda: tables.rows("metrics", among("name", METRICS)),
            basis.names,
            basis.ran.manager.report_interval_s_max,
        ),
        bundles=reports_of(tables, moved | {each.bundle for each in heavy}),
        owners=owners(best_rows(stored, spans)),
        released=releases(best_rows(stored, spans)),
        acquired=acquisitions(lines, basis.names),
        heaviest=heavy,
        logs=logs,
    )


def _written(
    played: Replayed, replayed: Mapping[str, pa.Table], again: Transfers
) -> dict[str, pa.Table | Iterable[pa.Table]]:
    """Return the tables to write; of the rounds decided again a stretch at a time is there.

    Args:
        played: what was decided again.
        replayed: the same as tables, but for brokers that nobody looks at.
        again: rounds of the extensible load manager, which come behind.
    """
    own = {TABLE: transitions_table(again.night.channel)} | again.tables()
    rounds = chain(played.each("replayed_rounds"), [own["replayed_rounds"]])
    return {**replayed, **own, "replayed_rounds": rounds}


def _unexplained(
    tables: ClusterTables, ran: Deployment, spans: Sequence[Span]
) -> tuple[Handover, ...]:
    """Return the changes of owners that nothing in the recording explains."""
    columns = ("time", "bundle", "broker", "file", "line")
    changes = changes_of_owners(best_table(tables.table("ownership", columns), spans), ran.release)
    if not changes:
        return ()
    lines = log_events(tables, among("kind", EXPLAINING))
    sources = among("broker", (change.handover.source for change in changes))
    reports = tables.table("load_reports", ("time", "broker", "is_gone", "started"), sources)
    return unexplained(changes, lines, reports.to_pylist())


def _standing(
    spark: Runner,
    place: tuple[Path, str],
    basis: Basis,
    led: Course,
    spans: Sequence[Span],
) -> dict[str, Any] | None:
    """Return how the cluster stands at the end; None where that cannot be decided."""
    of = standing(basis, led)
    if of is None:
        return None
    return snapshot(of, recompute(spark, place, [of.tenure], spans).tables(), basis)


def _reports(tables: ClusterTables) -> pa.Table:
    """Return the columns of every report that the diagnosis needs."""
    columns = {name: ds.field(name) for name in _REPORTED}
    columns["bundle_count"] = pc.list_value_length(ds.field("bundles"))
    reports = tables.table("load_reports", columns)
    return reports.sort_by([("file", "ascending"), ("line", "ascending")])


def _deployment(
    tables: ClusterTables, meta: Mapping[str, str], events: Sequence[Event]
) -> Deployment:
    settings = tables.rows("settings") or logged_settings(
        log_events(tables, ds.field("kind") == "broker-ready")
    )
    return deployment(
        meta,
        settings,
        releases_of(tables) or logged_releases(events),
        logged_strategies(events),
    )


def _usages(
    tables: ClusterTables, reports: pa.Table, names: Mapping[str, str], ran: Deployment
) -> Usages:
    def samples() -> list[dict[str, Any]]:
        return tables.rows("metrics", among("name", METRICS))

    return usages(reports, samples, names, ran.threshold_shedder.weights)


def _stretch(
    basis: Basis, end: datetime, logs: Iterable[tuple[datetime, datetime]]
) -> tuple[str | None, str | None]:
    """Return from when to when rounds or reports are known, else any line; None for neither."""
    times = [event.time for event in basis.events] + [*basis.usages.ends()]
    if times:
        return iso_time(min(times)), iso_time(end)
    times = [time for log in logs for time in log]
    return (iso_time(min(times)), iso_time(max(times))) if times else (None, None)
