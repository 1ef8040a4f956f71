"""Tables that ingest wrote, read to the driver: rows, lines, and what findings look at."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that every Spark program uses
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.diagnose.assembled import HEAVIEST
from trimtab.diagnose.clock_pairs import KINDS, pairs_of
from trimtab.diagnose.clock_skew import Clocks, measured
from trimtab.diagnose.logged import logged
from trimtab.diagnose.night import Event, Heavy
from trimtab.diagnose.reported import BundleReports, bundle_reports, of_origin
from trimtab.diagnose.store_source import ZOOKEEPER
from trimtab.partitions import cluster_folder
from trimtab.tables import INGESTED


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
    return logged(held.rows("log_events", wanted), held.ahead)


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
    stamped = of_origin(reports, "store").select(["broker", "updated", "written"]).to_pylist()
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
        .limit(HEAVIEST)
        .toArrow()
        .to_pylist()
    )
    return tuple(
        Heavy(row["bundle"], row["broker"], row["throughput"] or 0.0, row["topics"] or 0)
        for row in found
    )
