"""Tables → findings, in this process: the parts of the diagnosis, put together without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.answers import answers
from trimtab.diagnose.channel import channel_of, is_extensible, presence
from trimtab.diagnose.clock_pairs import KINDS, pairs_of
from trimtab.diagnose.clock_skew import Clocks, measured
from trimtab.diagnose.course import OF_LEADERS, Basis, beginning, course
from trimtab.diagnose.deployment import (
    Deployment,
    broker_ids,
    deployment,
    logged_releases,
    logged_settings,
    logged_strategies,
)
from trimtab.diagnose.document import findings_document
from trimtab.diagnose.elections import with_elections
from trimtab.diagnose.findings import all_findings
from trimtab.diagnose.log_lines import acquisitions, log_lines
from trimtab.diagnose.night import Channel, Event, Heavy, Night
from trimtab.diagnose.other_events import is_other
from trimtab.diagnose.replay.lookups import owners, releases
from trimtab.diagnose.replay.recompute import recompute
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.reports import broker_reports, bundle_reports, of_origin
from trimtab.diagnose.rounds import SHEDDER_LOGGERS
from trimtab.diagnose.snapshot import snapshot, standing, with_snapshot
from trimtab.diagnose.store_source import (
    ZOOKEEPER,
    Span,
    best_rows,
    best_table,
    covered,
)
from trimtab.diagnose.undecidable import undecidable
from trimtab.diagnose.usage import METRICS, usages
from trimtab.diagnose.verdicts import verdicts
from trimtab.diagnose.whole_night import HEAVIEST, Beside, whole_night, with_channel
from trimtab.files.partitions import cluster_folder
from trimtab.files.tables import INGESTED
from trimtab.pulsar.settings.channel import channel_settings
from trimtab.spark.runner import Here

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explained:
    """What the diagnosis makes of a recording."""

    night: Night
    #: findings.json, but for the accounting.
    document: Row
    #: The tables of DIAGNOSED.
    replayed: Mapping[str, pa.Table]


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
    names = broker_ids(meta)
    spans = covered(tables.rows("store_files"))
    reports = best_table(_reports(tables), spans)
    ahead = _clocks(tables, reports, names).ahead_of_logs(names)
    lines = log_lines(tables.rows("log_events"), ahead)
    leaders = best_rows(tables.rows("leaders"), spans)
    events = with_elections([line for line in lines if _is_of_leaders(line)], leaders, names)
    ran = _deployment(tables, meta, reports, lines, events)
    basis = Basis(
        names=names,
        ahead=ahead,
        leaders=leaders,
        events=events,
        reports=reports,
        ran=ran,
        usages=usages(reports, lambda: _samples(tables), names, ran.threshold_shedder.weights),
        begin=beginning(meta, events, reports),
    )
    led = course(basis)
    beside = _beside(tables, basis, led.moved(), spans, lines)
    beside = with_channel(beside, _channel(tables, basis, lines, led.end), led.moved())
    again = _replayed((folder, cluster), led.replays, spans)
    night = whole_night(basis, led, beside, again)
    causes = all_findings(night)
    document = findings_document(
        night, causes, verdicts(night, causes), undecidable(night, led.open_question), ran
    )
    of = None if beside.logs else standing(basis, led)
    shown = None
    if of is not None:
        shown = snapshot(of, _replayed((folder, cluster), [of.tenure], spans), basis)
    document |= with_snapshot(document["headline"], shown)
    return Explained(night, document, again)


def _channel(tables: Tables, basis: Basis, lines: Sequence[Event], end: datetime) -> Channel | None:
    rows = tables.rows("bundle_states")
    if not rows and not is_extensible(basis):
        return None
    settings = channel_settings(basis.ran.conf, basis.ran.release)
    alive = presence(basis.reports, lines)
    return channel_of((rows, lines, ()), alive, settings, basis.names, end)


def _is_of_leaders(line: Event) -> bool:
    return line.logger in SHEDDER_LOGGERS or line.kind in OF_LEADERS


def _clocks(tables: Tables, reports: pa.Table, names: Mapping[str, str]) -> Clocks:
    lines = [row for row in tables.rows("log_events") if row["kind"] in KINDS]
    exact = [row for row in tables.rows("ownership") if row["file"].startswith(ZOOKEEPER)]
    stamped = of_origin(reports, "store").select(["broker", "updated", "written"])
    return measured(pairs_of(lines, exact, stamped, names))


def _reports(tables: Tables) -> pa.Table:
    told = tables.table("load_reports")
    told = told.append_column("bundle_count", pc.list_value_length(told["bundles"]))
    return told.sort_by([("file", "ascending"), ("line", "ascending")])


def _deployment(
    tables: Tables,
    meta: Mapping[str, str],
    reports: pa.Table,
    lines: Sequence[Event],
    events: Sequence[Event],
) -> Deployment:
    releases = filter(None, pc.unique(reports["release"]).to_pylist())
    return deployment(
        meta,
        tables.rows("settings") or logged_settings(e for e in lines if e.kind == "broker-ready"),
        sorted(releases, reverse=True) or logged_releases(events),
        logged_strategies(events),
    )


def _samples(tables: Tables) -> list[Row]:
    return [row for row in tables.rows("metrics") if row["name"] in METRICS]


def _beside(
    tables: Tables,
    basis: Basis,
    moved: frozenset[str],
    spans: Sequence[Span],
    lines: Sequence[Event],
) -> Beside:
    told = tables.table("bundle_reports")
    told = told.filter(pc.equal(told["origin"], "store"))
    owned = [row for row in tables.rows("ownership") if row["bundle"] in moved]
    taken = [e for e in lines if e.kind == "ownership-acquired" and e.bundle in moved]
    records = broker_reports(of_origin(basis.reports, "store"))
    longest_s = basis.ran.manager.report_interval_s_max
    heavy = _heaviest(told)
    wanted = moved | {each.bundle for each in heavy}
    return Beside(
        events=tuple(line for line in lines if is_other(line)),
        reports=records,
        answers=answers(basis.reports, records, lambda: _samples(tables), basis.names, longest_s),
        bundles=bundle_reports(
            told.filter(pc.is_in(told["bundle"], pa.array(sorted(wanted), pa.string())))
        ),
        owners=owners(best_rows(owned, spans)),
        released=releases(best_rows(owned, spans)),
        acquired=acquisitions(taken, basis.names),
        heaviest=heavy,
        logs=frozenset(line.log_broker for line in lines),
    )


def _heaviest(told: pa.Table) -> tuple[Heavy, ...]:
    carried = pc.add(told["throughput_in"], told["throughput_out"])
    told = told.append_column("throughput", carried).sort_by(
        [(name, "ascending") for name in ("time", "file", "line")]
    )
    by_bundle = told.group_by("bundle", use_threads=False).aggregate(
        [("throughput", "mean"), ("topics", "max"), ("broker", "last")]
    )
    by_bundle = by_bundle.sort_by([("throughput_mean", "descending"), ("bundle", "ascending")])
    return tuple(
        Heavy(
            row["bundle"], row["broker_last"], row["throughput_mean"] or 0.0, row["topics_max"] or 0
        )
        for row in by_bundle.slice(0, HEAVIEST).to_pylist()
    )


def _replayed(
    held: tuple[Path, str], asked: Sequence[Tenure], spans: Sequence[Span]
) -> dict[str, pa.Table]:
    return recompute(Here(), held, asked, spans).tables()
