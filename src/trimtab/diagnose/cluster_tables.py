"""Tables that ingest wrote, asked in Spark's workers: rows, lines, and what findings look at.

No data frames: until Java has loaded and compiled what one query of its SQL needs, the workers
have read a large night, and what is asked for comes as Arrow in either case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.clock_pairs import KINDS, pairs_of
from trimtab.diagnose.clock_skew import Clocks, measured
from trimtab.diagnose.log_lines import log_lines
from trimtab.diagnose.night import Event, Heavy
from trimtab.diagnose.reports import BundleReports, bundle_reports, of_origin
from trimtab.diagnose.store_source import ZOOKEEPER
from trimtab.diagnose.whole_night import HEAVIEST
from trimtab.files.batches import batches
from trimtab.files.packing import packed, unpacked
from trimtab.files.partitions import part_files
from trimtab.files.places import located
from trimtab.files.tables import INGESTED
from trimtab.spark.runner import Runner, results

#: Bytes of a table that one task reads, at some 100 MB/s: less is not worth a task.
_SHARE_BYTES = 32 << 20
#: What is asked of each report of bundles that moved.
_OF_BUNDLES = (
    *("time", "written", "broker", "bundle", "topics"),
    *("rate_in", "rate_out", "throughput_in", "throughput_out"),
)


class Silent(NamedTuple):
    """Logs that are there and tell of nothing, by the names of their folders."""

    #: Their lines were read, and none is one that is known.
    quiet: frozenset[str]
    #: None of their lines could be read.
    unread: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClusterTables:
    """The tables of one cluster."""

    spark: Runner
    folder: Path
    cluster: str
    #: Log folder → what is taken off the times of its lines, since its clock is off.
    ahead: Mapping[str, timedelta] = field(default_factory=dict)
    #: From then on nothing is read, as the store had moved.
    until: datetime | None = None

    def answers(self, name: str, ask: Callable[[ds.Dataset], pa.Table]) -> pa.Table:
        """Return the answers of a table's shares as one table, in the order of its parts.

        Args:
            name: of the table, one of INGESTED.
            ask: what to ask of a share; runs in a worker if there are several.
        """
        schema, until = INGESTED[name], self.until
        # The files alone decide, and not the cores.
        parts = part_files(self.folder, name, self.cluster)
        shares = batches(parts, lambda file: file.stat().st_size, _SHARE_BYTES)

        def answer(files: Sequence[Path]) -> pa.Table:
            rows = ds.dataset(**located(files), schema=schema, format="parquet")
            if until is not None and "time" in schema.names:
                rows = rows.filter(ds.field("time") < until)
            return ask(rows)

        if len(shares) == 1:
            return answer(shares[0])
        answers = results(self.spark, lambda files: packed(answer(files)), shares)
        return pa.concat_tables(map(unpacked, answers))

    def table(
        self,
        name: str,
        columns: Sequence[str] | Mapping[str, ds.Expression],
        condition: ds.Expression | None = None,
    ) -> pa.Table:
        """Return columns of the rows of a table for which a condition holds, or what they give."""
        selection = dict(columns) if isinstance(columns, Mapping) else list(columns)

        def ask(share: ds.Dataset) -> pa.Table:
            # A task has one core; the others are for other tasks.
            return share.to_table(columns=selection, filter=condition, use_threads=False)

        return self.answers(name, ask)

    def rows(self, name: str, condition: ds.Expression | None = None) -> list[dict[str, Any]]:
        """Return rows of a table, by file and line where they have them."""
        columns = INGESTED[name].names
        rows: list[dict[str, Any]] = self.table(name, columns, condition).to_pylist()
        if "line" in columns:
            rows.sort(key=lambda row: (row["file"], row["line"]))
        return rows


def among(column: str, names: Iterable[str]) -> ds.Expression:
    """Return the condition that a column has one of some names; of none, no row meets it."""
    return ds.field(column).isin(pa.array(sorted(names), pa.string()))


def log_events(tables: ClusterTables, condition: ds.Expression) -> list[Event]:
    """Return lines of the logs, in order of time, file and line."""
    return log_lines(tables.rows("log_events", condition), tables.ahead)


def log_spans(tables: ClusterTables) -> tuple[dict[str, tuple[datetime, datetime]], frozenset[str]]:
    """Return the first and the last time in each log, and whose logs there are."""
    of_log, times = ["file", "log_broker"], [("time", "min"), ("time", "max")]

    def ask(share: ds.Dataset) -> pa.Table:
        lines = share.to_table(columns=[*of_log, "time"], use_threads=False)
        return lines.group_by(of_log, use_threads=False).aggregate(times)

    by_log = tables.answers("log_events", ask).group_by(of_log, use_threads=False)
    spans = by_log.aggregate([("time_min", "min"), ("time_max", "max")]).to_pydict()
    rows = list(zip(spans["file"], spans["time_min_min"], spans["time_max_max"], strict=True))
    by_file: dict[str, tuple[datetime, datetime]] = {}
    for file, start, end in rows:
        # A collector's file holds the logs of several brokers.
        first, last = by_file.get(file, (start, end))
        by_file[file] = min(first, start), max(last, end)
    return by_file, frozenset(spans["log_broker"])


def logs_without_events(files: Iterable[Mapping[str, Any]]) -> Silent:
    """Return whose logs have no line that is known, and whose have none that could be read.

    Args:
        files: rows of `files`.
    """
    logs = [row for row in files if row["source"] == "log" and not row["rows"]]
    quiet = frozenset(_folder(row["file"]) for row in logs if row["other"])
    rejected = frozenset(_folder(row["file"]) for row in logs if row["rejected"])
    return Silent(quiet, rejected - quiet)


def log_folders(files: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the folders in which logs are, by rows of `files`."""
    return frozenset(_folder(row["file"]) for row in files if row["source"] == "log")


def misread_logs(tables: ClusterTables, kinds: Iterable[str]) -> dict[str, int]:
    """Return by log how many lines of some kinds were recognized and could not be read."""
    pattern = f"^({'|'.join(sorted(kinds))}): "
    of_kinds = pc.match_substring_regex(ds.field("reason"), pattern)
    return dict(Counter(_folder(row["file"]) for row in tables.rows("rejects", of_kinds)))


def _folder(file: str) -> str:
    """Return whose log a file is: the folder's name under logs/, else its own."""
    *folders, name = file.split("/")
    below = folders[folders.index("logs") + 1 :] if "logs" in folders else folders
    return below[0] if below else name.partition(".")[0]


def clocks_of(tables: ClusterTables, names: Mapping[str, str], reports: pa.Table) -> Clocks:
    """Return the brokers' clocks beside one another."""
    columns = ("time", "log_broker", "kind", "bundle", "broker")
    lines = tables.table("log_events", columns, among("kind", KINDS))
    exact = tables.rows("ownership", pc.starts_with(ds.field("file"), ZOOKEEPER))
    stamped = of_origin(reports.select(["origin", "broker", "updated", "written"]), "store")
    return measured(pairs_of(lines.to_pylist(), exact, stamped, names))


def releases_of(tables: ClusterTables) -> list[str]:
    """Return the releases that brokers report, the latest first."""

    def ask(share: ds.Dataset) -> pa.Table:
        releases = share.to_table(columns=["release"], use_threads=False)
        return releases.group_by("release", use_threads=False).aggregate([])

    releases = tables.answers("load_reports", ask)["release"].unique().to_pylist()
    return sorted((release for release in releases if release), reverse=True)


def reports_of(tables: ClusterTables, bundles: Collection[str]) -> dict[str, BundleReports]:
    """Return what brokers reported to the store of some bundles."""
    if not bundles:
        return {}
    condition = (ds.field("origin") == "store") & among("bundle", bundles)
    return bundle_reports(tables.table("bundle_reports", _OF_BUNDLES, condition))


def heaviest(tables: ClusterTables) -> tuple[Heavy, ...]:
    """Return the bundles with the most traffic on average, heaviest first."""
    in_store = ds.field("origin") == "store"
    added = ds.field("throughput_in") + ds.field("throughput_out")
    columns = {"bundle": ds.field("bundle"), "topics": ds.field("topics"), "throughput": added}

    def ask(share: ds.Dataset) -> pa.Table:
        reports = share.to_table(columns=columns, filter=in_store, use_threads=False)
        sums = [("throughput", "sum"), ("throughput", "count"), ("topics", "max")]
        return reports.group_by("bundle", use_threads=False).aggregate(sums)

    sums = [("throughput_sum", "sum"), ("throughput_count", "sum"), ("topics_max", "max")]
    by_bundle = (
        tables.answers("bundle_reports", ask).group_by("bundle", use_threads=False).aggregate(sums)
    )
    mean = pc.divide(
        by_bundle["throughput_sum_sum"], by_bundle["throughput_count_sum"].cast(pa.float64())
    )
    order = [("throughput", "descending"), ("bundle", "ascending")]
    first = (
        by_bundle.append_column("throughput", mean).sort_by(order).slice(0, HEAVIEST).to_pylist()
    )
    mine = in_store & among("bundle", (row["bundle"] for row in first))
    owners = tables.table("bundle_reports", ("time", "file", "line", "bundle", "broker"), mine)
    order = [(column, "ascending") for column in ("time", "file", "line")]
    last_owner = {row["bundle"]: row["broker"] for row in owners.sort_by(order).to_pylist()}
    return tuple(
        Heavy(
            row["bundle"],
            last_owner[row["bundle"]],
            row["throughput"] or 0.0,
            row["topics_max_max"] or 0,
        )
        for row in first
    )
