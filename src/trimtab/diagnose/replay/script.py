"""One tenure's rows, read from the tables; runs in the worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from trimtab.diagnose.columns import moments
from trimtab.diagnose.replay.replay import Script, reads_long
from trimtab.diagnose.replay.store_columns import stored_averages, stored_reports
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.store_source import Span, best_rows
from trimtab.files.partitions import cluster_folder
from trimtab.files.places import located


def script(folder_and_cluster: tuple[Path, str], tenure: Tenure, spans: Sequence[Span]) -> Script:
    """Return what `replay` needs of one tenure.

    `spans` are when ZooKeeper's logs tell of every write.
    """
    reports = stored_reports(folder_and_cluster, tenure.end, spans, tenure.origin)
    ownership = _rows(folder_and_cluster, "ownership", ds.field("time") <= tenure.end)
    own = [row["at"] for row in reports.rows if row["broker"] == tenure.leading.leader_id]
    starts = [
        started - tenure.ahead
        for started in moments(reports.started[own])
        if started is not None and (tenure.start is None or started - tenure.ahead <= tenure.start)
    ]
    return Script(
        leading=tenure.leading,
        reports=reports,
        averages=stored_averages(
            folder_and_cluster, tenure.end, spans, reads_long=reads_long(tenure.leading)
        ),
        ticks=tenure.ticks,
        selections=_selections(folder_and_cluster, tenure),
        unloads=tenure.unloads,
        ownership=best_rows(ownership, spans),
        since=max(starts, default=None),
    )


def _rows(
    folder_and_cluster: tuple[Path, str], table: str, condition: ds.Expression
) -> list[dict[str, Any]]:
    """Return rows of a table, by file and line."""
    tables, cluster = folder_and_cluster
    files = ds.dataset(**located(cluster_folder(tables, table, cluster)), format="parquet")
    rows: list[dict[str, Any]] = files.to_table(filter=condition).to_pylist()
    return sorted(rows, key=lambda row: (row["file"], row["line"]))


def _selections(folder_and_cluster: tuple[Path, str], tenure: Tenure) -> list[dict[str, Any]]:
    mine = (
        (ds.field("kind") == "candidates-considered")
        & (ds.field("log_broker") == tenure.leading.leader)
        & (ds.field("time") <= tenure.end + tenure.ahead)
    )
    if tenure.start is not None:
        mine &= ds.field("time") >= tenure.start + tenure.ahead
    rows = _rows(folder_and_cluster, "log_events", mine)
    return [row | {"time": row["time"] - tenure.ahead} for row in rows]
