"""Recordings and their tables as a source of Spark's: `spark.read.format("trimtab")`.

`spark.readStream` reads recordings that grow.

Every Spark of an environment looks at what it could read, so that nothing is imported here until
it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import datasource as spark

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql.types import StructType

#: The table that is read where none is named.
_TABLE = "log_events"


class TrimtabSource(spark.DataSource):
    """Registers the source with Spark.

    Options: `path` is a recording or a folder of tables, `table` the table's name.  `from` and
    `to` are times, the latter left out; an option that is named as a column of text has the
    values that are read, with commas between them.  `pushdown` lets Spark hand filters down.
    Streams have `maxFilesPerTrigger`, `maxBytesPerTrigger`, `rest` and `failOnDataLoss` besides.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        """Take the options."""
        super().__init__(dict(options))
        self._table = self.options.get("table", _TABLE)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "trimtab"

    def schema(self) -> StructType:
        """Return the table's columns; whoever gives a schema of some of them reads only those.

        Raises:
            FieldError: there is no such table.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        from trimtab.files.datasets import columns_of

        return from_arrow_schema(columns_of(self._table))

    def reader(self, schema: StructType) -> spark.DataSourceReader:
        """Return what reads.

        Raises:
            FieldError: an option is missing, unknown, or not what it should be.
            RecordingError: a time is none.
        """
        from trimtab.files.datasets import columns_of
        from trimtab.files.generations import current
        from trimtab.ingest.table_reader import PushedReader, TableReader, filters_of

        path = current(self._path("a recording or a folder of tables"))
        filters = filters_of(self.options, columns_of(self._table))
        is_pushed = self.options.get("pushdown", "false").lower() == "true"
        reader = PushedReader if is_pushed else TableReader
        return reader(path, self._table, schema, filters)

    def streamReader(self, schema: StructType) -> spark.DataSourceStreamReader:  # noqa: N802  # Spark's name
        """Return what reads a recording that grows.

        Raises:
            FieldError: an option is missing, unknown, or not what it should be; or what it
                names cannot be streamed.
            RecordingError: a time is none.
        """
        from trimtab.files.datasets import columns_of
        from trimtab.files.fields import FieldError
        from trimtab.ingest.growing.stream_options import STREAM_OPTIONS, stream_options
        from trimtab.ingest.growing.table_stream import StreamReader
        from trimtab.ingest.pushed_filters import taken
        from trimtab.ingest.table_reader import filters_of

        path = self._path("the folder of a recording")
        # As Spark hands them on; whoever makes a source without it may have written capitals.
        options = {name.lower(): value for name, value in self.options.items()}
        if "pushdown" in options:
            raise FieldError("option", "pushdown", "none: Spark hands no filters to a stream")
        columns = columns_of(self._table)
        filters = filters_of(options, columns, ("path", "table", *STREAM_OPTIONS))
        condition, _ = taken(filters, columns)
        return StreamReader(path, self._table, schema, condition, stream_options(options))

    def _path(self, expected: str) -> Path:
        """Return what is to be read; workers may stand in another folder."""
        from trimtab.files.fields import FieldError
        from trimtab.files.places import place_of

        if "path" not in self.options:
            raise FieldError("path", "nothing", expected)
        return place_of(self.options["path"]).absolute()
