"""Replays every tenure of leadership on Spark: tables in, tables out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.diagnose.replay import Leading, Script, replay
from trimtab.diagnose.store_source import Span, best_told
from trimtab.diagnose.stored import stored_averages, stored_reports
from trimtab.partitions import cluster_folder
from trimtab.settings import LoadManagerSettings, ResourceWeights
from trimtab.tables import DIAGNOSED

#: Rows that travel together; a round of a large cluster is thousands of numbers.
_ROWS = 64

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
    #: What is taken off the leader's times, since its clock is off; all others of these are so.
    ahead: timedelta = timedelta(0)


def recompute(
    spark: SparkSession,
    held: tuple[Path, str],
    tenures: Sequence[Tenure],
    spans: Sequence[Span],
) -> dict[str, pa.Table]:
    """Decide every tenure again, one task a tenure.

    Args:
        spark: session.
        held: folder of the ingested tables, readable by every executor, and the cluster.
        tenures: what to replay.
        spans: when ZooKeeper's logs tell of every write.

    Returns:
        Each table of DIAGNOSED, in order of tenure and time.
    """
    if not tenures:
        return {name: schema.empty_table() for name, schema in DIAGNOSED.items()}
    listed, logged = list(tenures), tuple(spans)

    def play(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                rows = replay(_script(held, listed[i], logged))
                while some := list(islice(rows, _ROWS)):
                    yield _envelope(some)

    frame = spark.range(0, len(listed), 1, len(listed)).mapInArrow(
        play, from_arrow_schema(_ENVELOPE)
    )
    found = frame.toArrow()
    return {name: _ordered(found[name], schema) for name, schema in DIAGNOSED.items()}


def _ordered(column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Take one table's rows out of the envelopes, and put them in order."""
    chunks = [chunk.drop_null() for chunk in column.chunks]
    batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in chunks if len(chunk)]
    if not batches:
        return schema.empty_table()
    table = pa.Table.from_batches(batches).cast(schema)
    by = [(name, "ascending") for name in ("term", "time", "line") if name in schema.names]
    return table.take(pc.sort_indices(table, sort_keys=by))


def _envelope(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> pa.RecordBatch:
    columns = [
        pa.array([row if table == field.name else None for table, row in rows], field.type)
        for field in _ENVELOPE
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ENVELOPE)


def _script(held: tuple[Path, str], tenure: Tenure, spans: Sequence[Span]) -> Script:
    """Read one tenure's rows; runs in the worker."""
    reports = stored_reports(held, tenure.end, spans)
    ownership = _rows(held, "ownership", ds.field("time") <= tenure.end)
    starts = [
        row["started"] - tenure.ahead
        for row in reports.rows
        if row["broker"] == tenure.leader_id
        and row["started"] is not None
        and (tenure.start is None or row["started"] - tenure.ahead <= tenure.start)
    ]
    leading = Leading(
        term=tenure.term,
        leader=tenure.leader,
        leader_id=tenure.leader_id,
        release=tenure.release,
        shedder=tenure.shedder,
        placer=tenure.placer,
        conf=tenure.conf,
        manager=tenure.manager,
        weights=tenure.weights,
        doubt=tenure.doubt,
    )
    return Script(
        leading=leading,
        reports=reports,
        averages=stored_averages(held, tenure.end, spans),
        ticks=tenure.ticks,
        selections=_selections(held, tenure),
        unloads=tenure.unloads,
        ownership=best_told(ownership, spans),
        since=max(starts, default=None),
    )


def _rows(held: tuple[Path, str], table: str, condition: ds.Expression) -> list[dict[str, Any]]:
    """Return rows of a table, by file and line."""
    tables, cluster = held
    files = ds.dataset(cluster_folder(tables, table, cluster), format="parquet")
    rows: list[dict[str, Any]] = files.to_table(filter=condition).to_pylist()
    return sorted(rows, key=lambda row: (row["file"], row["line"]))


def _selections(held: tuple[Path, str], tenure: Tenure) -> list[dict[str, Any]]:
    mine = (
        (ds.field("kind") == "candidates-considered")
        & (ds.field("log_broker") == tenure.leader)
        & (ds.field("time") <= tenure.end + tenure.ahead)
    )
    if tenure.start is not None:
        mine &= ds.field("time") >= tenure.start + tenure.ahead
    found = _rows(held, "log_events", mine)
    return [row | {"time": row["time"] - tenure.ahead} for row in found]
