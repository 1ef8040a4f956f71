"""The second Spark job: rows that the first one kept → Parquet files, a part a task.

Spark's own writer is not used: it lists a column's encodings in the order of a Java hash
set, so that two runs over the same rows give different bytes; it needs a job a table; and
it drops the meaning and the unit of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext

from trimtab.ingest.worker import PARSED
from trimtab.tables import INGESTED

#: What a task tells: the rows that it wrote of each table.
WRITTEN = "table string, rows long"
#: Name of a part; a reader that takes the parts by name has the rows in order.
PART = "part-{:05}.parquet"
#: Rows in a row group, about; readers skip and parallelize by row groups.
_GROUP_ROWS = 1 << 16


@dataclass(slots=True)
class _Part:
    """One table's file of one task."""

    path: Path
    schema: pa.Schema
    rows: int = 0
    waiting: list[pa.Table] = field(default_factory=list)
    writer: pq.ParquetWriter = None

    def add(self, rows: pa.Table) -> None:
        """Take rows; write them once they fill a row group."""
        self.rows += len(rows)
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= _GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self.waiting:
            self.writer = self.writer or pq.ParquetWriter(
                self.path, self.schema, compression="zstd"
            )
            self.writer.write_table(pa.concat_tables(self.waiting))
            self.waiting.clear()


def write_parts(
    folder: Path, offsets: Mapping[int, int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the rows of one partition, a file for each table that has any.

    A task that is tried again writes the same bytes, and no file under its final name
    is ever half written.

    Args:
        folder: has a folder for each table.
        offsets: lines of the file before a split; a split that is not there is a first one.
        batches: rows of `worker.ENVELOPE`.
    """
    context = TaskContext.get()
    number, attempt = (context.partitionId(), context.attemptNumber()) if context else (0, 0)
    parts = {name: _Part(folder / name / f".{number}-{attempt}", INGESTED[name]) for name in PARSED}
    for batch in batches:
        for row in batch.select(["split", "table", "rows"]).to_pylist():
            if row["table"] is not None:
                parts[row["table"]].add(_unpacked(row["rows"], offsets.get(row["split"], 0)))
    for part in parts.values():
        part.flush()
        if part.writer is not None:
            part.writer.close()
            part.path.replace(part.path.with_name(PART.format(number)))
    written = [{"table": name, "rows": part.rows} for name, part in parts.items() if part.rows]
    yield pa.RecordBatch.from_pylist(
        written, pa.schema([("table", pa.string()), ("rows", pa.int64())])
    )


def _unpacked(packed: bytes, lines_before: int) -> pa.Table:
    """Return rows of one table, their lines counted from the start of the file."""
    rows = pa.ipc.open_stream(packed).read_all()
    if lines_before:
        place = rows.schema.get_field_index("line")
        lines = pc.add(rows.column(place), lines_before)
        rows = rows.set_column(place, rows.schema.field(place), lines)
    return rows
