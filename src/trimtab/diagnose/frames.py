"""Tables that ingest wrote, read to the driver: rows, lines, and what findings look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that every Spark program uses
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.diagnose.clock_pairs import KINDS, pairs_of
from trimtab.diagnose.clock_skew import Clocks, measured
from trimtab.diagnose.night import Decided, Event, Heavy
from trimtab.diagnose.reported import BundleReports, bundle_reports
from trimtab.diagnose.store_source import ZOOKEEPER
from trimtab.model import Floats
from trimtab.partitions import cluster_folder
from trimtab.tables import INGESTED

#: Bundles of which the mean traffic is kept.
_HEAVIEST = 20


@dataclass(frozen=True, slots=True)
class Held:
    """The tables of one cluster."""

    spark: SparkSession
    tables: Path
    cluster: str
    #: Log folder → what is taken off the times of its lines, since its clock is off.
    ahead: Mapping[str, timedelta] = field(default_factory=dict)

    def frame(self, name: str) -> DataFrame:
        """Return a table, in whatever order Spark reads it."""
        schema = from_arrow_schema(INGESTED[name])
        path = cluster_folder(self.tables, name, self.cluster)
        return self.spark.read.schema(schema).parquet(str(path)).select(INGESTED[name].names)

    def rows(self, name: str, condition: Column | None = None) -> list[dict[str, Any]]:
        """Return rows of a table, by file and line where they have them."""
        frame = self.frame(name)
        if condition is not None:
            frame = frame.where(condition)
        rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
        if "line" in INGESTED[name].names:
            rows.sort(key=lambda row: (row["file"], row["line"]))
        return rows


def log_events(held: Held, wanted: Column) -> list[Event]:
    """Read lines of the logs, in order of time, file and line."""
    none = timedelta(0)
    events = [
        Event(
            **row
            | {
                "time": row["time"] - held.ahead.get(row["log_broker"], none),
                "numbers": dict(row["numbers"] or ()),
                "scores": dict(row["scores"] or ()),
                "brokers": tuple(row["brokers"] or ()),
            }
        )
        for row in held.rows("log_events", wanted)
    ]
    return sorted(events, key=lambda event: (event.time, event.file, event.line))


def clocks_of(held: Held, names: Mapping[str, str], reports: pa.Table) -> Clocks:
    """Measure the brokers' clocks.

    Args:
        held: the tables.
        names: log folder → broker id.
        reports: rows of `load_reports`.
    """
    lines = (
        held.frame("log_events")
        .where(F.col("kind").isin(*sorted(KINDS)))
        .select("time", "log_broker", "kind", "bundle", "broker")
    )
    exact = held.rows("ownership", F.col("file").startswith(ZOOKEEPER))
    in_store = reports.filter(pc.equal(reports["origin"], "store"))
    stamped = in_store.select(["broker", "updated", "written"]).to_pylist()
    return measured(pairs_of(lines.toArrow().to_pylist(), exact, stamped, names))


def reports_of(held: Held, bundles: Collection[str]) -> dict[str, BundleReports]:
    """Read what brokers told the store of some bundles."""
    if not bundles:
        return {}
    wanted = (F.col("origin") == "store") & F.col("bundle").isin(*sorted(bundles))
    columns = ("time", "written", "broker", "bundle", "topics", "rate_in", "rate_out")
    found = held.frame("bundle_reports").where(wanted)
    table = found.select(*columns, "throughput_in", "throughput_out").toArrow()
    return bundle_reports(table)


def heaviest(held: Held) -> tuple[Heavy, ...]:
    """Find the bundles with the most traffic on average, heaviest first."""
    reported = held.frame("bundle_reports").where(F.col("origin") == "store")
    found = (
        reported.withColumn("throughput", F.col("throughput_in") + F.col("throughput_out"))
        .groupBy("bundle")
        .agg(
            F.avg("throughput").alias("throughput"),
            F.max("topics").alias("topics"),
            F.max_by("broker", F.struct("time", "file", "line")).alias("broker"),
        )
        .orderBy(F.desc("throughput"), "bundle")
        .limit(_HEAVIEST)
        .toArrow()
        .to_pylist()
    )
    return tuple(
        Heavy(row["bundle"], row["broker"], row["throughput"] or 0.0, row["topics"] or 0)
        for row in found
    )


def acquired(
    events: Iterable[Event], names: Mapping[str, str]
) -> dict[str, list[tuple[datetime, str]]]:
    """Lay out by bundle who says in its log that it acquired it.

    Args:
        events: lines of kind ownership-acquired, in order of time.
        names: log folder → broker id; lines of other folders are passed over.
    """
    found: dict[str, list[tuple[datetime, str]]] = {}
    for event in events:
        broker = names.get(event.log_broker)
        if broker is not None and event.bundle is not None:
            found.setdefault(event.bundle, []).append((event.time, broker))
    return found


def decided(table: pa.Table) -> Decided:
    """Lay out `replayed_rounds` as columns."""
    lists = table["brokers"].combine_chunks()
    states = pc.list_flatten(lists)
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()

    def names(name: str) -> tuple[str, ...]:
        # Each name is one object, however often it stands there.
        encoded = pc.struct_field(states, name).dictionary_encode()
        known = [*encoded.dictionary.to_pylist(), None]
        codes = pc.fill_null(encoded.indices, len(known) - 1).to_numpy()
        return tuple([known[code] for code in codes.tolist()])

    def column(name: str) -> Floats:
        values = pc.struct_field(states, name)
        floats: Floats = pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False)
        return floats

    return Decided(
        times=tuple(table["time"].to_pylist()),
        terms=tuple(table["term"].to_pylist()),
        numbers=tuple(number or 0 for number in table["round"].to_pylist()),
        unloads=tuple(pc.fill_null(pc.list_value_length(table["unloads"]), 0).to_pylist()),
        averages=tuple(table["average"].to_pylist()),
        offsets=np.append(0, np.cumsum(counts)).astype(np.int64),
        brokers=names("broker"),
        usage=column("usage"),
        scores=column("score"),
        throughput=column("throughput"),
        reasons=names("reason"),
    )
