"""Replays every tenure of leadership on Spark: tables in, tables out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.diagnose.leader_view import METRICS
from trimtab.diagnose.replay import Script, replay
from trimtab.diagnose.store_source import Span, best_told
from trimtab.partitions import cluster_folder
from trimtab.settings import LoadManagerSettings, ResourceWeights
from trimtab.tables import DIAGNOSED

#: One nullable struct a table, so that one job gives the rows of all.
_ENVELOPE = pa.schema([pa.field(name, pa.struct(list(s))) for name, s in DIAGNOSED.items()])


@dataclass(frozen=True, slots=True)
class Tenure:
    """What a task needs to replay one tenure; the rows it reads from the tables itself."""

    term: int
    leader: str
    #: Broker id of the leader; None if the log's folder does not tell.
    leader_id: str | None
    release: str
    shedder: str
    placer: str
    conf: Mapping[str, str]
    manager: LoadManagerSettings
    weights: ResourceWeights
    ticks: Sequence[tuple[datetime, int | None]]
    unloads: Sequence[tuple[datetime, str]]
    #: Selections of brokers are taken from this stretch of the leader's log.
    start: datetime | None
    end: datetime
    doubt: str | None


def recompute(
    spark: SparkSession,
    held: tuple[Path, str],
    tenures: Sequence[Tenure],
    spans: Sequence[Span],
) -> dict[str, list[dict[str, Any]]]:
    """Decide every tenure again, one task a tenure.

    Args:
        spark: session.
        held: folder of the ingested tables, readable by every executor, and the cluster.
        tenures: what to replay.
        spans: when ZooKeeper's logs tell of every write.

    Returns:
        Rows of each table of DIAGNOSED, in order of tenure and time.
    """
    if not tenures:
        return {name: [] for name in DIAGNOSED}
    listed, logged = list(tenures), tuple(spans)

    def play(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                rows = list(replay(_script(held, listed[i], logged)))
                if rows:
                    yield _envelope(rows)

    frame = spark.range(0, len(listed), 1, len(listed)).mapInArrow(
        play, from_arrow_schema(_ENVELOPE)
    )
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in DIAGNOSED}
    for row in frame.toArrow().to_pylist():
        for name, value in row.items():
            if value is not None:
                found[name].append(value)
    for name, rows in found.items():
        rows.sort(key=lambda row: (row["term"], row["time"], row.get("line", 0)))
        found[name] = rows
    return found


def _envelope(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> pa.RecordBatch:
    columns = [
        pa.array([row if table == field.name else None for table, row in rows], field.type)
        for field in _ENVELOPE
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ENVELOPE)


def _script(held: tuple[Path, str], tenure: Tenure, spans: Sequence[Span]) -> Script:
    """Read one tenure's rows; runs in the worker."""
    reports = best_told(_reports(held, tenure.end), spans)
    averages = _rows(held, "bundle_averages", ds.field("written") <= tenure.end)
    ownership = _rows(held, "ownership", ds.field("time") <= tenure.end)
    starts = [
        row["started"]
        for row in reports
        if row["broker"] == tenure.leader_id
        and row["started"] is not None
        and (tenure.start is None or row["started"] <= tenure.start)
    ]
    return Script(
        term=tenure.term,
        leader=tenure.leader,
        release=tenure.release,
        shedder=tenure.shedder,
        placer=tenure.placer,
        conf=tenure.conf,
        manager=tenure.manager,
        weights=tenure.weights,
        reports=reports,
        averages=best_told(averages, spans),
        ticks=tenure.ticks,
        selections=_selections(held, tenure),
        unloads=tenure.unloads,
        ownership=best_told(ownership, spans),
        leader_id=tenure.leader_id,
        since=max(starts, default=None),
        doubt=tenure.doubt,
    )


def _rows(held: tuple[Path, str], table: str, condition: ds.Expression) -> list[dict[str, Any]]:
    """Return rows of a table, by file and line."""
    tables, cluster = held
    files = ds.dataset(cluster_folder(tables, table, cluster), format="parquet")
    rows: list[dict[str, Any]] = files.to_table(filter=condition).to_pylist()
    return sorted(rows, key=lambda row: (row["file"], row["line"]))


def _reports(held: tuple[Path, str], end: datetime) -> list[dict[str, Any]]:
    in_store = (ds.field("origin") == "store") & (ds.field("time") <= end)
    reports = _rows(held, "load_reports", in_store)
    stats: dict[tuple[str, int], dict[str, Any]] = {}
    for row in _rows(held, "bundle_reports", in_store):
        values = np.array([*(row[metric] for metric in METRICS), row["topics"] or 0])
        stats.setdefault((row["file"], row["line"]), {})[row["bundle"]] = values
    for report in reports:
        report["stats"] = stats.get((report["file"], report["line"]), {})
    return reports


def _selections(held: tuple[Path, str], tenure: Tenure) -> list[dict[str, Any]]:
    mine = (
        (ds.field("kind") == "candidates-considered")
        & (ds.field("log_broker") == tenure.leader)
        & (ds.field("time") <= tenure.end)
    )
    if tenure.start is not None:
        mine &= ds.field("time") >= tenure.start
    return _rows(held, "log_events", mine)
