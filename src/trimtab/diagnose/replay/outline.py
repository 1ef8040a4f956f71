"""One tenure before any of it is decided: what only the whole of it tells, and its stretches.

Runs in the worker, and reads of each report no more than which write it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.diagnose.columns import microseconds, moments
from trimtab.diagnose.replay.busy_leader import Spans, unloading
from trimtab.diagnose.replay.leading import is_deaf, reads_long
from trimtab.diagnose.replay.lookups import OWNING
from trimtab.diagnose.replay.missed_writes import Gap, missed_write
from trimtab.diagnose.replay.store_columns import ROW, has_averages, heard, in_order, written_rows
from trimtab.diagnose.replay.stretches import Outline, Stretch
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.store_source import Span, best_positions, best_rows, is_logged
from trimtab.files.partitions import cluster_folder
from trimtab.files.places import located
from trimtab.pulsar.model import Ints

Timed = TypeVar("Timed")

#: What makes a stretch: reports, and bundles that they list.  A stretch of so many is some
#: seconds of work and a few hundred MB; it decides where a tenure is cut, and cores do not.
STRETCH_SIZE = 1_000_000
#: What is asked of a selection and of a bundle that gets an owner or loses it.
_SELECTION = ("time", "thread", "count", "bundle", "file", "line")
_OWNERSHIP = ("time", "bundle", "broker", "file", "line")
_TICK = timedelta(microseconds=1)


def outline(
    folder_and_cluster: tuple[Path, str],
    tenure: Tenure,
    logged: Sequence[Span],
    cuts: Sequence[datetime] | None = None,
) -> Outline:
    """Return the outline of a tenure.

    Args:
        folder_and_cluster: tables and whose rows of them.
        tenure: the tenure.
        logged: when ZooKeeper's logs tell of every write.
        cuts: times between two stretches, in order; None: by the size of the work.  While the
            leader unloads nothing is cut, but when it is done.
    """
    reports = _reports(folder_and_cluster, tenure)
    reports = reports.take(pa.array(best_positions(reports, logged)))
    written = heard(reports)
    ownership = best_rows(_ownership(folder_and_cluster, tenure), logged)
    exact = [row for row in ownership if is_logged(row)]
    busy = unloading(tenure.ticks, tenure.unloads, exact) if is_deaf(tenure.leading) else ()
    wanted = _by_size(reports, written) if cuts is None else cuts
    between = sorted({_after(cut, busy) for cut in wanted})
    is_left = reports["is_gone"].to_numpy(zero_copy_only=False).astype(np.bool_)
    departures = written_rows(reports, np.flatnonzero(is_left))
    return Outline(
        stretches=_stretches(folder_and_cluster, tenure, between, (reports, written, ownership)),
        busy=busy,
        gaps=_gaps(reports, written),
        departures=tuple(row for row in departures if not is_logged(row)),
        since=_since(reports, tenure),
        lacks_averages=reads_long(tenure.leading)
        and not has_averages(folder_and_cluster, tenure.end, logged),
    )


def _reports(folder_and_cluster: tuple[Path, str], tenure: Tenure) -> pa.Table:
    """Return of each report which write it was, when the broker had started and its size."""
    columns = {name: ds.field(name) for name in (*ROW, "line", "started")}
    columns["bundles"] = pc.list_value_length(ds.field("bundles"))
    mine = (ds.field("origin") == tenure.origin) & (ds.field("time") <= tenure.end)
    return in_order(folder_and_cluster, "load_reports", mine, columns)


def _by_size(reports: pa.Table, written: Ints) -> list[datetime]:
    """Return where the work is cut into stretches of some STRETCH_SIZE."""
    order = np.argsort(written, kind="stable")
    size = 1 + pc.fill_null(reports["bundles"], 0).to_numpy().astype(np.int64)[order]
    number = (np.cumsum(size) - size) // STRETCH_SIZE
    return moments(written[order[1:]][np.diff(number) > 0])


def _after(time: datetime, busy: Spans) -> datetime:
    """Return a time, or the first after it at which the leader waits for no unload."""
    # They are disjoint, but one may begin before the one before it is told to have ended.
    for begin, end in busy:
        if begin < time <= end:
            time = end + _TICK
    return time


def _stretches(
    folder_and_cluster: tuple[Path, str],
    tenure: Tenure,
    cuts: Sequence[datetime],
    stored: tuple[pa.Table, Ints, Sequence[Mapping[str, Any]]],
) -> list[Stretch]:
    """Return the stretches between cuts."""
    reports, written, ownership = stored
    count, edges = len(cuts) + 1, microseconds(cuts)
    numbers = np.searchsorted(edges, written, side="right")
    ticks = _shared(tenure.ticks, [time for time, _ in tenure.ticks], cuts)
    unloads = _shared(tenure.unloads, [time for time, _ in tenure.unloads], cuts)
    selections = _selections(folder_and_cluster, tenure)
    selected = _shared(selections, [row["time"] for row in selections], cuts)
    starts, ends = [None, *cuts], [*cuts, None]
    stretches = []
    for i in range(count):
        mine = reports.take(pa.array(np.flatnonzero(numbers == i)))
        times = pc.min_max(mine["time"]).as_py()
        stretches.append(
            Stretch(
                start=starts[i],
                end=ends[i],
                reports=_lines(mine),
                recorded=(times["min"], times["max"]) if len(mine) else None,
                ticks=ticks[i],
                selections=selected[i],
                unloads=unloads[i],
                ownership=_around(ownership, starts[i], ends[i]),
            )
        )
    return stretches


def _shared(
    things: Sequence[Timed], times: Sequence[datetime], cuts: Sequence[datetime]
) -> list[list[Timed]]:
    """Return things by stretch, each of them in the order that they had."""
    shares: list[list[Timed]] = [[] for _ in range(len(cuts) + 1)]
    for thing, time in zip(things, times, strict=True):
        shares[bisect_right(cuts, time)].append(thing)
    return shares


def _around(
    ownership: Sequence[Mapping[str, Any]], start: datetime | None, end: datetime | None
) -> list[Mapping[str, Any]]:
    """Return the rows of a stretch, and those that tell whom a lookup in it was sent to."""
    return [
        row
        for row in ownership
        if (start is None or row["time"] >= start) and (end is None or row["time"] <= end + OWNING)
    ]


def _lines(reports: pa.Table) -> dict[str, Ints]:
    """Return the lines of each file."""
    codes = reports["file"].combine_chunks().dictionary_encode()
    lines = reports["line"].to_numpy()
    at = codes.indices.to_numpy(zero_copy_only=False)
    return {
        file: lines[mine]
        for i, file in enumerate(codes.dictionary.to_pylist())
        if (mine := np.flatnonzero(at == i)).size
    }


def _gaps(reports: pa.Table, written: Ints) -> tuple[Gap, ...]:
    """Return the gaps in the versions of each broker's node, as `missed_writes` finds them."""
    order = np.argsort(written, kind="stable")
    broker = reports["broker"].combine_chunks().dictionary_encode().indices.to_numpy()[order]
    version = pc.fill_null(reports["version"], -1).to_numpy()[order].astype(np.int64)
    is_gone = reports["is_gone"].to_numpy(zero_copy_only=False).astype(np.bool_)[order]
    by_broker = np.argsort(broker, kind="stable")
    is_first = np.append(True, np.diff(broker[by_broker]) != 0)[: order.size]
    before = np.where(is_first, -1, np.append(-1, by_broker)[: order.size])
    begins = is_first | is_gone[before]
    expected = np.where(begins, 0, version[before] + 1)
    # What a row without a version comes before is looked at, too.
    is_odd = ~begins & (version[before] < 0)
    suspect = ~is_gone[by_broker] & ((version[by_broker] > expected) | is_odd)
    gaps: list[Gap] = []
    for at, last in sorted(zip(by_broker[suspect], before[suspect], strict=True)):
        (row,) = written_rows(reports, order[[at]])
        earlier = None if last < 0 else written_rows(reports, order[[last]])[0]
        gaps += missed_write(earlier, row)
    return tuple(gaps)


def _since(reports: pa.Table, tenure: Tenure) -> datetime | None:
    """Return when the leader's process started; the last time, if it did so again."""
    own = reports.filter(pc.equal(reports["broker"].cast(pa.string()), tenure.leading.leader_id))
    starts = [started - tenure.ahead for started in moments(own["started"].to_numpy()) if started]
    first = tenure.start
    return max((each for each in starts if first is None or each <= first), default=None)


def _ownership(folder_and_cluster: tuple[Path, str], tenure: Tenure) -> list[dict[str, Any]]:
    return _rows(folder_and_cluster, "ownership", ds.field("time") <= tenure.end, _OWNERSHIP)


def _selections(folder_and_cluster: tuple[Path, str], tenure: Tenure) -> list[dict[str, Any]]:
    mine = (
        (ds.field("kind") == "candidates-considered")
        & (ds.field("log_broker") == tenure.leading.leader)
        & (ds.field("time") <= tenure.end + tenure.ahead)
    )
    if tenure.start is not None:
        mine &= ds.field("time") >= tenure.start + tenure.ahead
    rows = _rows(folder_and_cluster, "log_events", mine, _SELECTION)
    return [row | {"time": row["time"] - tenure.ahead} for row in rows]


def _rows(
    folder_and_cluster: tuple[Path, str],
    table: str,
    condition: ds.Expression,
    columns: Sequence[str],
) -> list[dict[str, Any]]:
    """Return rows of a table, by file and line."""
    tables, cluster = folder_and_cluster
    files = ds.dataset(**located(cluster_folder(tables, table, cluster)), format="parquet")
    rows: list[dict[str, Any]] = files.to_table(list(columns), filter=condition).to_pylist()
    return sorted(rows, key=itemgetter("file", "line"))
