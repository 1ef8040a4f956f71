"""Tables → findings, in this process: the parts of the diagnosis, put together without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose import diagnosis as parts
from trimtab.diagnose.clock_pairs import KINDS, pairs_of
from trimtab.diagnose.clock_skew import Clocks, measured
from trimtab.diagnose.deployment import (
    Deployment,
    deployment,
    logged_releases,
    logged_settings,
)
from trimtab.diagnose.document import findings_document
from trimtab.diagnose.findings import found
from trimtab.diagnose.frames import acquired, decided
from trimtab.diagnose.lookups import owners
from trimtab.diagnose.night import Event, Heavy, Night, Usage
from trimtab.diagnose.recompute import Tenure, _ordered, _script
from trimtab.diagnose.replay import replay
from trimtab.diagnose.reported import broker_reports, bundle_reports
from trimtab.diagnose.rounds import SHEDDER_LOGGERS, UNLOADING, rounds
from trimtab.diagnose.store_source import (
    ZOOKEEPER,
    Span,
    best_told,
    best_told_table,
    covered,
)
from trimtab.diagnose.terms import terms, with_elections
from trimtab.diagnose.undecidable import undecidable
from trimtab.diagnose.usage import METRICS, usages_from_metrics, usages_from_reports
from trimtab.diagnose.verdicts import verdicts
from trimtab.diagnose.watched import WATCHED
from trimtab.partitions import cluster_folder
from trimtab.tables import DIAGNOSED, INGESTED

_HEAVIEST = 20
_LINES = ("elected-leader", "only-one-broker", "broker-starting")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explained:
    """What the diagnosis makes of a recording."""

    night: Night
    #: findings.json, but for the accounting.
    document: Row


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one cluster, read as Arrow has them."""

    folder: Path
    cluster: str

    def table(self, name: str) -> pa.Table:
        """Return a table whole."""
        folder = cluster_folder(self.folder, name, self.cluster)
        names = INGESTED[name].names
        return ds.dataset(folder, format="parquet").to_table(columns=names)

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table, by file and line where it has them."""
        rows: list[Row] = self.table(name).to_pylist()
        if "line" in INGESTED[name].names:
            rows.sort(key=lambda row: (row["file"], row["line"]))
        return rows


def explained(folder: Path, cluster: str) -> Explained:
    """Explain a small recording as `trimtab.diagnose.diagnose` does, without Spark.

    Args:
        folder: tables that `ingested` wrote.
        cluster: whose.
    """
    tables = Tables(folder, cluster)
    meta = {row["key"]: row["value"] for row in tables.rows("recording")}
    names = parts._ids(meta)
    spans = covered(tables.rows("store_files"))
    reports = best_told_table(_reports(tables), spans)
    ahead = parts._ahead(_clocks(tables, reports, names), names)
    events = _events(tables, ahead)
    leaders = best_told(tables.rows("leaders"), spans)
    logged = with_elections([e for e in events if _is_of_leaders(e)], leaders, names)
    ran = deployment(
        meta,
        tables.rows("settings") or logged_settings(e for e in events if e.kind == "broker-ready"),
        sorted(filter(None, pc.unique(reports["release"]).to_pylist()), reverse=True)
        or logged_releases(logged),
        (
            [e.strategy for e in logged if e.kind == "unload" and e.strategy],
            [e.logger for e in logged if e.logger in parts._PLACER_LOGGERS],
        ),
    )
    usages = _usages(tables, ran, reports, names)
    end = max(
        [e.time for e in logged] + [u.time for u in usages],
        default=datetime.fromtimestamp(0, UTC),
    )
    tenures = terms(rounds(logged, ran.manager.shedding_interval_s), logged, end)
    open_question = parts._not_covered(ran, reports)
    asked = parts._tenures(tenures, ran, names, ahead) if open_question is None else []
    replayed = _replayed((folder, cluster), asked, spans)
    again = parts._Replayed(replayed)
    known = [parts._known(r, again, ran, open_question) for t in tenures for r in t.rounds]
    moved = {move.bundle for each in known for move in each.moves}
    night = Night(
        rounds=tuple(sorted(known, key=lambda each: each.number)),
        usages=usages,
        threshold=ran.threshold_shedder.threshold,
        margin=ran.least_resource_usage_with_weight.difference_threshold,
        grace_period_s=ran.manager.grace_period_s,
        interval_s=ran.manager.shedding_interval_s,
        elected={t.number: t.elected for t in tenures if t.elected is not None},
        history_share=ran.threshold_shedder.history_share,
        leaders=tuple((row["written"] or row["time"], row["broker"]) for row in leaders),
        names=names,
        release=ran.release,
        shedder=ran.shedder,
        placer=ran.placer,
        conf=ran.conf,
        end=end,
        decided=decided(replayed["replayed_rounds"]),
        logs=frozenset(event.log_broker for event in events),
        has_settings=bool(ran.conf),
        events=tuple(event for event in events if event.kind in WATCHED),
        reports=broker_reports(parts._of_origin(reports, "store")),
        owners=owners(best_told(_of(tables.rows("ownership"), moved), spans)),
        acquired=acquired(
            [e for e in events if e.kind == "ownership-acquired" and e.bundle in moved], names
        ),
    )
    night = _with_bundles(tables, night, moved)
    causes = found(night)
    document = findings_document(
        night, causes, verdicts(night, causes), undecidable(night, open_question), ran
    )
    return Explained(night, document)


def _is_of_leaders(event: Event) -> bool:
    return event.logger in SHEDDER_LOGGERS or event.kind in UNLOADING or event.kind in _LINES


def _of(rows: Sequence[Row], bundles: set[str]) -> list[Row]:
    return [row for row in rows if row["bundle"] in bundles]


def _clocks(tables: Tables, reports: pa.Table, names: Mapping[str, str]) -> Clocks:
    lines = [row for row in tables.rows("log_events") if row["kind"] in KINDS]
    exact = [row for row in tables.rows("ownership") if row["file"].startswith(ZOOKEEPER)]
    stamped = parts._of_origin(reports, "store").select(["broker", "updated", "written"])
    return measured(pairs_of(lines, exact, stamped.to_pylist(), names))


def _events(tables: Tables, ahead: Mapping[str, timedelta]) -> list[Event]:
    lists = ("numbers", "scores")
    events = [
        Event(
            **row
            | {"time": row["time"] - ahead.get(row["log_broker"], timedelta(0))}
            | {name: dict(row[name] or ()) for name in lists}
            | {"brokers": tuple(row["brokers"] or ())}
        )
        for row in tables.rows("log_events")
    ]
    return sorted(events, key=lambda event: (event.time, event.file, event.line))


def _reports(tables: Tables) -> pa.Table:
    told = tables.table("load_reports")
    told = told.append_column("bundle_count", pc.list_value_length(told["bundles"]))
    return told.sort_by([("file", "ascending"), ("line", "ascending")])


def _usages(
    tables: Tables, ran: Deployment, reports: pa.Table, names: Mapping[str, str]
) -> tuple[Usage, ...]:
    weights = ran.threshold_shedder.weights
    for origin in ("store", "rest"):
        usages = usages_from_reports(parts._of_origin(reports, origin), weights)
        if any(usage.usage is not None for usage in usages):
            return usages
    samples = [row for row in tables.rows("metrics") if row["name"] in METRICS]
    samples.sort(key=lambda row: row["log_broker"] is None)
    return usages_from_metrics(samples, names, weights)


def _replayed(
    held: tuple[Path, str], asked: Sequence[Tenure], spans: Sequence[Span]
) -> dict[str, pa.Table]:
    rows = [row for tenure in asked for row in replay(_script(held, tenure, spans))]
    return {
        name: _ordered(
            pa.chunked_array(
                [pa.array([row for table, row in rows if table == name], pa.struct(list(schema)))]
            ),
            schema,
        )
        for name, schema in DIAGNOSED.items()
    }


def _with_bundles(tables: Tables, night: Night, moved: set[str]) -> Night:
    told = tables.table("bundle_reports")
    told = told.filter(pc.equal(told["origin"], "store"))
    mine = told.filter(pc.is_in(told["bundle"], pa.array(sorted(moved), pa.string())))
    carried = pc.add(told["throughput_in"], told["throughput_out"])
    told = told.append_column("throughput", carried).sort_by(
        [(name, "ascending") for name in ("time", "file", "line")]
    )
    by_bundle = told.group_by("bundle", use_threads=False).aggregate(
        [("throughput", "mean"), ("topics", "max"), ("broker", "last")]
    )
    by_bundle = by_bundle.sort_by([("throughput_mean", "descending"), ("bundle", "ascending")])
    heavy = tuple(
        Heavy(
            row["bundle"], row["broker_last"], row["throughput_mean"] or 0.0, row["topics_max"] or 0
        )
        for row in by_bundle.slice(0, _HEAVIEST).to_pylist()
    )
    return replace(night, bundles=bundle_reports(mine), heaviest=heavy)
