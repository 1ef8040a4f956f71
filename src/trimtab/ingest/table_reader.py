"""What Spark asks for the rows of a table: columns and filters in, batches of rows out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import datasource as spark
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from trimtab.files.datasets import columns_of
from trimtab.files.fields import FieldError, expected_name
from trimtab.files.partitions import TIME
from trimtab.ingest.pushed_filters import taken
from trimtab.ingest.recording_toml import moment_of
from trimtab.ingest.table_parts import parts_of

#: Options that are no filters.
_OPTIONS = ("path", "table", "pushdown")


class HasDatasets(Protocol):
    """A part of a table, whose rows are read when they are asked for."""

    def datasets(self) -> Iterator[ds.Dataset]:
        """Return the rows."""


class TableReader(spark.DataSourceReader):
    """Plans in a process beside the driver, reads in Spark's workers."""

    def __init__(
        self, path: Path, table: str, schema: StructType, filters: Sequence[spark.Filter] = ()
    ) -> None:
        """Take what is to be read: columns, and filters that all rows are to meet."""
        self.path, self.table, self.filters = path, table, list(filters)
        self.columns = to_arrow_schema(schema, timezone="UTC")

    def partitions(self) -> list[spark.InputPartition]:
        """Return the parts of the table, a task each."""
        condition, _ = taken(self.filters, columns_of(self.table))
        parts = parts_of(self.path, self.table, condition)
        return [spark.InputPartition((part, condition)) for part in parts]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of a part; runs in Spark's workers."""
        # Of nothing, Spark makes one partition of nothing.
        if partition.value is None:
            return
        part, condition = partition.value
        yield from rows_of(part, self.columns, condition)


class PushedReader(TableReader):
    """A reader that takes filters from Spark.

    Quirks:
        Spark 4.3.0 keeps them with the data frame: a second query of it, or of a view, is
        answered with the filters of the first.
    """

    def pushFilters(  # noqa: N802  # Spark's name
        self, filters: list[spark.Filter]
    ) -> Iterable[spark.Filter]:
        """Return the filters that Spark is to look at itself; the others are kept."""
        _, left = taken(filters, columns_of(self.table))
        self.filters += [each for each in filters if not any(each is it for it in left)]
        return left


def rows_of(
    part: HasDatasets, columns: pa.Schema, condition: ds.Expression | None
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a part that meet a condition, with some of its columns."""
    for rows in part.datasets():
        asked = rows.scanner(columns=columns.names, filter=condition, use_threads=False)
        for batch in asked.to_batches():
            yield from pa.Table.from_batches([batch]).cast(columns).to_batches()


def filters_of(
    options: Mapping[str, str], schema: pa.Schema, others: Collection[str] = _OPTIONS
) -> list[spark.Filter]:
    """Return the filters that options stand for, which all but the others do.

    Raises:
        FieldError: an option is unknown.
        RecordingError: a time is none.
    """
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    times = ("from", "to") if TIME in schema.names else ()
    filters: list[spark.Filter] = []
    for name, value in options.items():
        if name in texts:
            filters.append(spark.In((name,), tuple(it.strip() for it in value.split(","))))
        elif name in times:
            compare = spark.GreaterThanOrEqual if name == "from" else spark.LessThan
            filters.append(compare((TIME,), moment_of(name, value, UTC)))
        elif name not in others:
            raise FieldError("option", name, expected_name(name, {*others, *times, *texts}))
    return filters
