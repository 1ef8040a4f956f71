"""What the metadata store was told, read from the tables as columns; runs in the worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.columns import beside, floats
from trimtab.diagnose.leader_averages import METRICS, Average
from trimtab.diagnose.leader_view import Report
from trimtab.diagnose.store_source import Span, best_told, best_told_table
from trimtab.model import RESOURCES, Floats, Ints
from trimtab.partitions import cluster_folder

#: Columns that tell one write from another, and when it counts.
_LEAN = ("time", "broker", "version", "written", "is_gone", "started", "file", "line")
# More lines than a file may have.
_LINES = 1 << 40


@dataclass(frozen=True, slots=True)
class Names:
    """A column of names: each name once, and which of them stands where."""

    known: list[str]
    codes: Ints

    def part(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names of a stretch."""
        return tuple([self.known[code] for code in self.codes[start:end].tolist()])


@dataclass(frozen=True, slots=True)
class StoredReports:
    """Load reports that brokers wrote to the store."""

    #: What says which write it was, and `at`: its position in the columns.
    rows: Sequence[dict[str, Any]]
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

    def report(self, row: dict[str, Any]) -> Report:
        """Return what a row of `rows` says."""
        at = row["at"]
        start, end = int(self.starts[at]), int(self.ends[at])
        return Report(
            broker=row["broker"],
            usage=self.usage[at],
            limit=self.limit[at],
            totals=self.totals[at],
            bundles=self.bundles.part(int(self.offsets[at]), int(self.offsets[at + 1])),
            measured=self.measured.part(start, end),
            samples=self.samples[start:end],
        )


@dataclass(frozen=True, slots=True)
class StoredAverages:
    """Averages that leaders wrote to the store, in order of time."""

    written: Sequence[datetime]
    bundles: Names
    #: A row each.
    averages: Average

    def flushes(self) -> Iterator[tuple[datetime, tuple[str, ...], Average]]:
        """Yield what was written at a time together."""
        start = 0
        for end in range(1, len(self.written) + 1):
            if end == len(self.written) or self.written[end] != self.written[start]:
                rows = np.arange(start, end)
                names = self.bundles.part(start, end)
                yield self.written[start], names, self.averages.part(rows)
                start = end


def stored_reports(held: tuple[Path, str], end: datetime, spans: Sequence[Span]) -> StoredReports:
    """Read the reports that were written until a time."""
    in_store = (ds.field("origin") == "store") & (ds.field("time") <= end)
    table = _in_order(held, "load_reports", in_store)
    rows = table.select(_LEAN).to_pylist()
    for at, row in enumerate(rows):
        row["at"] = at
    usage, limit = (
        beside(table, [f"{resource}_{which}" for resource in RESOURCES], -1.0)
        for which in ("usage", "limit")
    )
    lists = pa.chunked_array(table["bundles"]).combine_chunks()
    offsets = np.append(0, np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()))
    stats = _in_order(
        held, "bundle_reports", in_store, ["file", "line", "bundle", *METRICS, "topics"]
    )
    files = pc.unique(table["file"])
    mine, theirs = _places(table, files), _places(stats, files)
    order = np.argsort(theirs, kind="stable")
    theirs = theirs[order]
    samples = beside(stats, (*METRICS, "topics"), 0.0)
    return StoredReports(
        rows=best_told(rows, spans),
        usage=usage,
        limit=limit,
        totals=beside(table, METRICS, np.nan),
        offsets=offsets.astype(np.int64),
        bundles=_names(pc.list_flatten(lists)),
        starts=np.searchsorted(theirs, mine, side="left"),
        ends=np.searchsorted(theirs, mine, side="right"),
        measured=_names(stats["bundle"], order),
        samples=samples[order],
    )


def stored_averages(held: tuple[Path, str], end: datetime, spans: Sequence[Span]) -> StoredAverages:
    """Read the averages that were written until a time."""
    until = ds.field("written") <= end
    table = _in_order(held, "bundle_averages", until)
    table = best_told_table(table, spans)
    order = np.argsort(table["written"].cast(pa.int64()).to_numpy(), kind="stable")
    terms = [
        beside(table, [f"{term}_{metric}" for metric in METRICS], np.nan)
        for term in ("short", "long")
    ]
    counts = [
        table[f"{term}_samples"].to_numpy().astype(np.int64)[order] for term in ("short", "long")
    ]
    return StoredAverages(
        written=table["written"].take(pa.array(order)).to_pylist(),
        bundles=_names(table["bundle"], order),
        averages=Average(
            short_samples=counts[0],
            short=terms[0][order],
            long_samples=counts[1],
            long=terms[1][order],
            topics=floats(table, "topics", 0.0)[order],
            number=np.zeros(order.size, np.int64),
        ),
    )


def _in_order(
    held: tuple[Path, str], name: str, condition: ds.Expression, columns: list[str] | None = None
) -> pa.Table:
    """Read rows of a table by file and line; they lie day by day."""
    files = ds.dataset(cluster_folder(held[0], name, held[1]), format="parquet")
    table = files.to_table(columns=columns, filter=condition)
    places = _places(table, pc.unique(table["file"]).sort())
    # Of one day they are in order already, and to take millions of rows apart is dear.
    if np.any(places[1:] < places[:-1]):
        table = table.take(pa.array(np.argsort(places, kind="stable")))
    return table


def _names(column: Any, order: Ints | None = None) -> Names:
    """Take a column of names apart."""
    found = pa.chunked_array(column) if isinstance(column, pa.Array) else column
    encoded = found.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return Names(encoded.dictionary.to_pylist(), codes if order is None else codes[order])


def _places(table: pa.Table, files: pa.Array) -> Ints:
    """Number the lines that rows come from."""
    file = pc.index_in(table["file"], value_set=files).to_numpy()
    line = table["line"].to_numpy()
    places: Ints = file.astype(np.int64) * _LINES + line
    return places
