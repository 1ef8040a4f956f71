"""Where the rows of a batch are put: the one place that knows the layout of the tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

#: Folder within the books for what the running state has not taken in yet.
FACTS_FOLDER = "facts"


def placed(table: str, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Share out rows to folders.

    Returns:
        Folder within the tables, and its rows; each row in one of them.
    """
    yield table, rows


def part_name(batch: int, task: int) -> str:
    """Name a part so that parts in order of their names hold rows in the order of reading.

    Parts of a plain ingest, and the empty ones that give a table its schema, come before.
    """
    return f"part-b{batch:08}-{task:05}.parquet"
