"""The second Spark job: rows that the first one kept → Parquet files, a part a task.

Spark's own writer is not used: it lists a column's encodings in the order of a Java hash
set, so that two runs over the same rows give different bytes; it needs a job a table; and
it drops the meaning and the unit of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from trimtab.partitions import Part

#: What a task tells: the rows that it wrote of each table, or why it could not.
WRITTEN = "table string, rows long, fault string"
_WRITTEN = pa.schema([("table", pa.string()), ("rows", pa.int64()), ("fault", pa.string())])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of a recording go."""

    #: Folder of tables; on a cluster, on a disk that all workers see.
    tables: Path
    cluster: str
    recording: str

    def part(self, number: int) -> str:
        """Return the name of one of its parts."""
        return f"{self.recording}-{number:05}"


def write_parts(
    place: Place, offsets: Mapping[int, int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the rows of one partition, a file for each table and day that has any.

    A task that is tried again writes the same bytes, and no file under its final name
    is ever half written.  A disk that is full is told and not tried again.

    Args:
        place: where to.
        offsets: lines of the file before a split; a split that is not there is a first one.
        batches: rows of `worker.ENVELOPE`.
    """
    context = TaskContext.get()
    part = Part(place.tables, place.cluster, place.part(context.partitionId() if context else 0))
    told: list[dict[str, Any]]
    try:
        for batch in batches:
            for row in batch.select(["split", "table", "rows"]).to_pylist():
                if row["table"] is not None:
                    part.add(row["table"], unpacked(row["rows"], offsets.get(row["split"], 0)))
        part.close()
        told = [{"table": table, "rows": rows} for table, rows in part.rows.items()]
    except OSError as fault:
        told = [{"rows": 0, "fault": fault.strerror or str(fault)}]
    yield pa.RecordBatch.from_pylist(told, _WRITTEN)


def moved(rows: pa.Table, lines: int) -> pa.Table:
    """Return rows with so many lines added to the number of each line."""
    if not lines:
        return rows
    column = rows.schema.get_field_index("line")
    numbers = pc.add(rows.column(column), lines)
    return rows.set_column(column, rows.schema.field(column), numbers)


def unpacked(packed: bytes, lines_before: int) -> pa.Table:
    """Return rows of one table that a worker packed, so many lines added to each one's."""
    return moved(pa.ipc.open_stream(packed).read_all(), lines_before)
