"""What a task of a batch does: its rows into files that nobody sees yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext

from trimtab.follow.places import part_name, placed
from trimtab.tables import INGESTED

#: What a task tells: a row for each file that it wrote, and one for each accounting.
STAGED = (
    "staged string, part string, tab string, rows long, "
    "item int, name string, source string, account string"
)
_STAGED = pa.schema(
    [
        ("staged", pa.string()),
        ("part", pa.string()),
        ("tab", pa.string()),
        ("rows", pa.int64()),
        ("item", pa.int32()),
        ("name", pa.string()),
        ("source", pa.string()),
        ("account", pa.string()),
    ]
)
#: Rows in a row group, about; readers skip and parallelize by row groups.
_GROUP_ROWS = 1 << 16


def stage(folder: Path, batch: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of one partition, a file for each place that has any.

    A task that is tried again writes files of its own; what was told of the attempt that
    counts says which ones are to be shown.

    Args:
        folder: for files that are not to be seen yet.
        batch: number of the batch.
        batches: rows of `source.SCHEMA`.
    """
    context = TaskContext.get()
    task, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    waiting: dict[tuple[str, str], list[pa.Table]] = {}
    told = []
    for given in batches:
        for row in given.to_pylist():
            if row["account"] is not None:
                told.append({key: row[key] for key in ("item", "name", "source", "account")})
                continue
            rows = _numbered(row["rows"], row["before"])
            for place, share in placed(row["tab"], rows):
                waiting.setdefault((place, row["tab"]), []).append(share)
    for i, ((place, table), shares) in enumerate(sorted(waiting.items(), key=lambda it: it[0])):
        rows = pa.concat_tables(shares).cast(INGESTED[table])
        name = f"{task}-{attempt}-{i}"
        pq.write_table(rows, folder / name, compression="zstd", row_group_size=_GROUP_ROWS)
        part = f"{place}/{part_name(batch, task)}"
        told.append({"staged": name, "part": part, "tab": table, "rows": len(rows)})
    yield pa.RecordBatch.from_pylist(told, _STAGED)


def _numbered(packed: bytes, before: int) -> pa.Table:
    """Return rows of one table, their lines counted from the first line of their name."""
    rows = pa.ipc.open_stream(packed).read_all()
    place = rows.schema.get_field_index("line")
    lines = pc.add(rows.column(place), before)
    return rows.set_column(place, rows.schema.field(place), lines)
