"""What the metadata store was told, read from the tables as columns; runs in the worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.columns import Moments, beside, floats, moments, stamps
from trimtab.diagnose.store_source import ZOOKEEPER, Span, best_table
from trimtab.files.partitions import DAY, cluster_folder
from trimtab.files.places import located
from trimtab.pulsar.leader.averages import Average
from trimtab.pulsar.leader.reports import Report, Rewrites
from trimtab.pulsar.leader.time_average import METRICS
from trimtab.pulsar.model import RESOURCES, Flags, Floats, Ints

#: Columns of which a row of reports is made, to tell one write from another.
ROW = ("time", "broker", "version", "written", "is_gone", "file")
#: Columns in which few values stand again and again, and which are read so.
_NAMED = ("file", "origin", "broker", "bundle", "bundles.list.element")
# More lines than a file may have.
_LINES = 1 << 40
_NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Names:
    """A column of names: each name once, and which of them stands where."""

    known: list[str]
    codes: Ints
    #: Codes of a stretch → its names: a broker reports the same bundles time after time.
    _parts: dict[bytes, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def of(self, places: Ints) -> list[str]:
        """Return the names at some positions."""
        return [self.known[code] for code in self.codes[places].tolist()]

    def part(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names of a stretch, the same object for the same names."""
        codes = self.codes[start:end]
        key = codes.tobytes()
        if (names := self._parts.get(key)) is None:
            names = self._parts[key] = tuple([self.known[code] for code in codes.tolist()])
        return names


@dataclass(frozen=True, slots=True)
class StoredReports:
    """Load reports that brokers wrote to the store."""

    #: Columns of ROW, what says which write it was.
    writes: pa.Table
    #: (n_asked,) positions in the columns of those that are asked for.
    asked: Ints
    #: (n,) who wrote it.
    brokers: Names
    #: (n,) of one broker's reports those with the same number list the same bundles, and give
    #: numbers of the same.
    likes: Ints
    #: (n, 5) usage and limit, columns RESOURCES; -1 where one is absent, as in the Java.
    usage: Floats
    limit: Floats
    #: (n, 4) METRICS.
    totals: Floats
    #: (n + 1,) where each report's bundles begin in `bundles`.
    offsets: Ints
    bundles: Names
    #: (n,) where each report's statistics begin and end in `measured` and `samples`.
    starts: Ints
    ends: Ints
    measured: Names
    #: (n_measured, 5) METRICS and topics.
    samples: Floats

    def written(self) -> tuple[Ints, Flags]:
        """Return when the leader heard of what is asked for, in µs, and whether it is no more."""
        asked = self.writes.select(("time", "written", "is_gone")).take(pa.array(self.asked))
        return heard(asked), asked["is_gone"].to_numpy(zero_copy_only=False).astype(np.bool_)

    def rows(self, places: Ints) -> list[dict[str, Any]]:
        """Return which writes lie at some positions, and where: `at`."""
        return written_rows(self.writes, places)

    def report(self, row: dict[str, Any]) -> Report:
        """Return what a row of `rows` says."""
        return self.report_at(row["at"])

    def report_at(self, at: int) -> Report:
        """Return the report at a position."""
        bundles = self.bundles.part(int(self.offsets[at]), int(self.offsets[at + 1]))
        measured = self.measured.part(int(self.starts[at]), int(self.ends[at]))
        return Report(
            self.brokers.known[self.brokers.codes[at]],
            self.usage[at],
            self.limit[at],
            self.totals[at],
            bundles,
            measured,
            self.samples[self.starts[at] : self.ends[at]],
        )

    def going_on(self, before: Mapping[str, Report]) -> Ints:
        """Return which of `likes` brokers' newest reports before this have, as far as known.

        Args:
            before: broker → its newest report.

        Returns:
            (n_brokers,) as `brokers.known`: the number that its first report here has, if that
            lists the same bundles as the one before; else -1.
        """
        likes = np.full(len(self.brokers.known), -1)
        codes, firsts = np.unique(self.brokers.codes, return_index=True)
        for code, at in zip(codes.tolist(), firsts.tolist(), strict=True):
            first = self.report_at(at)
            report = before.get(first.broker)
            lists = (first.bundles, first.measured)
            if report is not None and lists == (report.bundles, report.measured):
                likes[code] = self.likes[at]
        return likes

    def rewrites(self, places: Ints) -> Rewrites:
        """Return the reports at some positions, whose brokers listed the same bundles before."""
        starts, ends = self.starts[places], self.ends[places]
        if (starts[1:] == ends[:-1]).all():  # as mostly, and nothing is copied
            samples = self.samples[starts[0] : ends[-1]]
        else:
            parts = zip(starts.tolist(), ends.tolist(), strict=True)
            samples = np.concatenate([self.samples[start:end] for start, end in parts])
        return Rewrites(
            self.brokers.of(places),
            self.usage[places],
            self.limit[places],
            self.totals[places],
            np.append(0, np.cumsum(ends - starts)),
            samples,
        )


@dataclass(frozen=True, slots=True)
class StoredAverages:
    """Averages that leaders wrote to the store, in order of time."""

    #: (n,)
    written: Moments
    bundles: Names
    #: A row each.
    averages: Average

    def flushes(self) -> Iterator[tuple[datetime, tuple[str, ...], Average]]:
        """Yield what was written at a time together."""
        starts = np.flatnonzero(np.diff(self.written, prepend=self.written[:1] - 1))
        bounds = [*starts.tolist(), self.written.size]
        for written, (start, end) in zip(
            moments(self.written[starts]), pairwise(bounds), strict=True
        ):
            yield written, self.bundles.part(start, end), self.averages.part(slice(start, end))


def stored_reports(
    folder_and_cluster: tuple[Path, str],
    lines: Mapping[str, Ints],
    recorded: tuple[datetime, datetime] | None,
    origin: str = "store",
) -> StoredReports:
    """Return reports that were written to the store, or given over REST.

    Args:
        folder_and_cluster: tables and whose rows of them.
        lines: file → lines of the reports that are asked for.
        recorded: least and greatest `time` of these; None if there are none.
        origin: whose.
    """
    mine = _within(recorded) & (ds.field("origin") == origin)
    resources = [[f"{each}_{which}" for each in RESOURCES] for which in ("usage", "limit")]
    lean = (*ROW, "line", "bundles", *resources[0], *resources[1], *METRICS)
    table = in_order(folder_and_cluster, "load_reports", mine, lean)
    lists = table["bundles"].combine_chunks()
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    numbers = (*METRICS, "topics")
    stats = in_order(
        folder_and_cluster, "bundle_reports", mine, ("file", "line", "bundle", *numbers)
    )
    files = sorted({*_files(table, stats), *lines})
    places, theirs = _places(table, files), _places(stats, files)
    rank = {file: i for i, file in enumerate(files)}
    asked = [rank[file] * _LINES + each for file, each in lines.items()]
    starts = np.searchsorted(theirs, places, side="left")
    ends = np.searchsorted(theirs, places, side="right")
    brokers, measured = _names(table["broker"]), _names(stats["bundle"])
    bundles = _names(pc.list_flatten(lists))
    parts = ((offsets[:-1], offsets[1:], bundles.codes), (starts, ends, measured.codes))
    return StoredReports(
        writes=table.select(ROW),
        asked=np.flatnonzero(np.isin(places, np.concatenate([_NOWHERE, *asked]))),
        brokers=brokers,
        likes=likes_of(brokers.codes, parts),
        usage=beside(table, resources[0], -1.0),
        limit=beside(table, resources[1], -1.0),
        totals=beside(table, METRICS, np.nan),
        offsets=offsets,
        bundles=bundles,
        starts=starts,
        ends=ends,
        measured=measured,
        samples=beside(stats, numbers, 0.0),
    )


def stored_averages(
    folder_and_cluster: tuple[Path, str],
    which: ds.Expression,
    spans: Sequence[Span],
    *,
    reads_long: bool,
) -> StoredAverages:
    """Return averages that were written; long-term ones nobody reads are NaN.

    Args:
        folder_and_cluster: tables and whose rows of them.
        which: of the rows of `bundle_averages`, by when they were written.
        spans: when ZooKeeper's logs tell of every write.
        reads_long: somebody reads the long-term ones.
    """
    terms = ("short", "long") if reads_long else ("short",)
    metrics = {term: [f"{term}_{metric}" for metric in METRICS] for term in terms}
    counts = [f"{term}_samples" for term in terms]
    metric_columns = [name for columns in metrics.values() for name in columns]
    lean = ("time", "written", "bundle", "file", "line", "topics", *counts, *metric_columns)
    table = in_order(folder_and_cluster, "bundle_averages", which, lean)
    table = best_table(table, spans)
    written = table["written"].to_numpy()
    if np.any(written[1:] < written[:-1]):
        order = np.argsort(written, kind="stable")
        table, written = table.take(pa.array(order)), written[order]
    averages = {term: beside(table, columns, np.nan) for term, columns in metrics.items()}
    samples = {term: table[f"{term}_samples"].to_numpy().astype(np.int64) for term in terms}
    nobody = np.zeros(written.size, np.int64)
    return StoredAverages(
        written=written,
        bundles=_names(table["bundle"]),
        averages=Average(
            short_samples=samples["short"],
            short=averages["short"],
            long_samples=samples.get("long", nobody),
            long=averages["long"] if reads_long else np.full((written.size, 4), np.nan),
            topics=floats(table, "topics", 0.0),
            number=nobody,
        ),
    )


def has_averages(
    folder_and_cluster: tuple[Path, str], end: datetime, spans: Sequence[Span]
) -> bool:
    """Return whether averages were written until a time, as far as `best_rows` keeps them."""
    tables, cluster = folder_and_cluster
    files = ds.dataset(**located(cluster_folder(tables, "bundle_averages", cluster)))
    # A write that was polled counts unless ZooKeeper's logs tell of its time.
    best = ~pc.starts_with(ds.field("file"), "store/")
    best |= pc.starts_with(ds.field("file"), ZOOKEEPER)
    polled = pc.scalar(True)
    for first, last in spans:
        polled &= ~((ds.field("written") >= first) & (ds.field("written") <= last))
    which = (ds.field("written") <= end) & (best | polled)
    return bool(files.head(1, columns=["written"], filter=which).num_rows)


def heard(reports: pa.Table) -> Ints:
    """Return when the leader heard of each row, as `write_time`, in µs since 1970."""
    is_seen = pc.or_(reports["is_gone"], pc.is_null(reports["written"]))
    return stamps(pc.if_else(is_seen, reports["time"], reports["written"]))


def written_rows(table: pa.Table, places: Ints) -> list[dict[str, Any]]:
    """Return which writes lie at some positions of a table of reports, and where: `at`."""
    rows = table.select(ROW).take(pa.array(places))
    columns = {name: _cells(column) for name, column in zip(ROW, rows.columns, strict=True)}
    columns["at"] = places.tolist()
    names = tuple(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def likes_of(brokers: Ints, parts: Sequence[tuple[Ints, Ints, Ints]]) -> Ints:
    """Return a number for each report, the same for one broker's with the same codes.

    Args:
        brokers: (n,) whose each is.
        parts: (n,) where its codes begin, (n,) where they end, and all codes; several times.
    """
    order = np.argsort(brokers, kind="stable")
    is_new = np.append(True, np.diff(brokers[order]) != 0)[: order.size]
    for starts, ends, codes in parts:
        sizes = (ends - starts)[order]
        before = np.append(0, sizes)[: order.size]
        is_new |= sizes != before
        edges = np.append(0, np.cumsum(sizes))
        within = np.arange(edges[-1]) - np.repeat(edges[:-1], sizes)
        laid_out = codes[np.repeat(starts[order], sizes) + within]
        # What lies as far in front is the same place of the report before, if that is as long.
        differs = laid_out != laid_out[np.arange(edges[-1]) - np.repeat(before, sizes)]
        counts = np.append(0, np.cumsum(differs))
        is_new |= counts[edges[1:]] != counts[edges[:-1]]
    likes = np.empty(order.size, np.int64)
    likes[order] = np.cumsum(is_new)
    return likes


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return what stands in a column of `ROW`; Arrow's own way takes ten times as long."""
    if pa.types.is_timestamp(column.type):
        return moments(column.to_numpy())
    if pa.types.is_dictionary(column.type) and not column.null_count:
        names = _names(column)
        return list(map(names.known.__getitem__, names.codes.tolist()))
    if column.null_count:
        return column.to_pylist()  # type: ignore[no-any-return]  # a list of what stands there
    cells: list[Any] = column.to_numpy().tolist()
    return cells


def _within(recorded: tuple[datetime, datetime] | None) -> ds.Expression:
    """Return the condition that rows were recorded between two times, those included."""
    if recorded is None:
        return pc.scalar(False)
    first, last = recorded
    time, day = ds.field("time"), ds.field(DAY)
    # Files of other days are not even opened.
    among_days = (day >= pa.scalar(first.date())) & (day <= pa.scalar(last.date()))
    return among_days & (time >= first) & (time <= last)


def in_order(
    folder_and_cluster: tuple[Path, str],
    name: str,
    condition: ds.Expression,
    columns: Sequence[str] | Mapping[str, ds.Expression],
) -> pa.Table:
    """Return rows of a table by file and line, which are among the columns; they lie by days.

    A condition may ask for the folder's `day`.
    """
    days = ds.partitioning(pa.schema([(DAY, pa.date32())]), flavor="hive")
    parquet = ds.ParquetFileFormat(dictionary_columns=_NAMED)
    folder = cluster_folder(folder_and_cluster[0], name, folder_and_cluster[1])
    files = ds.dataset(**located(folder), format=parquet, partitioning=days)
    table = files.to_table(
        columns=dict(columns) if isinstance(columns, Mapping) else list(columns), filter=condition
    ).unify_dictionaries()
    places = _places(table, _files(table))
    # Of one day they are in order already, and to take millions of rows apart is dear.
    if np.any(places[1:] < places[:-1]):
        table = table.take(pa.array(np.argsort(places, kind="stable")))
    return table


def _names(column: pa.ChunkedArray | pa.Array) -> Names:
    """Return a column of names as its different names and their codes."""
    names = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    codes = names.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return Names(names.dictionary.to_pylist(), codes)


def _files(*tables: pa.Table) -> list[str]:
    """Return the files that rows may come from, in order."""
    return sorted({file for table in tables for file in _names(table["file"]).known})


def _places(table: pa.Table, files: Sequence[str]) -> Ints:
    """Return a number for the line that each row comes from."""
    names = _names(table["file"])
    rank = {file: i for i, file in enumerate(files)}
    file = np.array([rank[name] for name in names.known], np.int64)[names.codes]
    places: Ints = file * _LINES + table["line"].to_numpy()
    return places
