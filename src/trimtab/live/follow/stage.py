"""What a task of a batch does: its rows into files that nobody sees yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from trimtab.files.packing import unpacked
from trimtab.ingest.folder import BOOKS
from trimtab.ingest.pieces import moved
from trimtab.live.follow.broker_totals import LINES
from trimtab.live.follow.facts import FACTS, facts_of
from trimtab.live.follow.places import FACTS_FOLDER, columns, part_name, placed
from trimtab.pulsar.settings import ResourceWeights

#: What a task tells: a row for each file that it wrote, and one for each accounting.
STAGED = columns(
    "staged string, part string, tab string, rows int64, "
    "item int32, name string, source string, account string"
)
#: Rows in a row group, about; readers skip and parallelize by row groups.
_GROUP_ROWS = 1 << 16


def stage(
    folder: Path,
    cluster: str,
    batch: int,
    weights: ResourceWeights,
    rows_of_tasks: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Return the files that one partition's rows are written into, one for each place.

    A task that is tried again writes files of its own; what was told of the attempt that
    counts says which ones are to be shown.

    Args:
        folder: for files that are not to be seen yet.
        cluster: of the tables.
        batch: number of the batch.
        weights: how much each resource counts in a broker's usage.
        rows_of_tasks: rows of `source.COLUMNS`.
    """
    context = TaskContext.get()
    task, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    waiting: dict[tuple[str, str], list[pa.Table]] = {}
    facts: list[dict[str, Any]] = []
    staged = []
    for rows_of_task in rows_of_tasks:
        for row in rows_of_task.to_pylist():
            if row["account"] is not None:
                staged.append({key: row[key] for key in ("item", "name", "source", "account")})
                facts += _lines(row)
                continue
            rows = moved(unpacked(row["rows"]), row["before"])
            facts += facts_of(row["tab"], rows, weights)
            for place, share in placed(cluster, row["tab"], rows):
                waiting.setdefault((place, row["tab"]), []).append(share)
    if facts:
        table = pa.Table.from_pylist(facts, FACTS)
        waiting[f"{BOOKS}/{FACTS_FOLDER}", FACTS_FOLDER] = [table]
    for i, ((place, table), shares) in enumerate(sorted(waiting.items(), key=lambda it: it[0])):
        rows = pa.concat_tables(shares)
        name = f"{task}-{attempt}-{i}"
        pq.write_table(rows, folder / name, compression="zstd", row_group_size=_GROUP_ROWS)
        part = f"{place}/{part_name(batch, task)}"
        staged.append({"staged": name, "part": part, "tab": table, "rows": len(rows)})
    yield pa.RecordBatch.from_pylist(staged, STAGED)


def _lines(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return how many lines of a broker's log there were."""
    if row["source"] == "log":
        lines = float(json.loads(row["account"])["lines"])
        yield {"broker": row["log_broker"], "kind": LINES, "time_us": 0, "value": lines}
