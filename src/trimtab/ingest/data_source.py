"""Recordings and their tables as a source of Spark's: `spark.read.format("trimtab")`.

Every Spark of an environment looks at what it could read, so that nothing is imported here until
it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import datasource as spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

#: The table that is read where none is named.
_TABLE = "log_events"


class TrimtabSource(spark.DataSource):
    """Registers the source with Spark.

    Options: `path` is a recording or a folder of tables, `table` the table's name.  `from` and
    `to` are times, the latter left out; an option that is named as a column of text has the
    values that are read, with commas between them.  `pushdown` lets Spark hand filters down.
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
        from trimtab.files.fields import FieldError
        from trimtab.files.generations import current
        from trimtab.files.places import place_of
        from trimtab.ingest.table_reader import PushedReader, TableReader, filters_of

        if "path" not in self.options:
            raise FieldError("path", "nothing", "a recording or a folder of tables")
        # Workers may stand in another folder.
        path = current(place_of(self.options["path"]).absolute())
        filters = filters_of(self.options, columns_of(self._table))
        is_pushed = self.options.get("pushdown", "false").lower() == "true"
        reader = PushedReader if is_pushed else TableReader
        return reader(path, self._table, schema, filters)
