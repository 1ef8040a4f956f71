"""Where the rows of a batch are put, names of parts of our own, and columns of our own streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from trimtab.files import partitions

#: Folder within the books for what the running state has not taken in yet.
FACTS_FOLDER = "facts"
#: Name of the parts that are there before any batch, and of the accounting.
FIRST_PART = "follow-begun"


def columns(text: str) -> pa.Schema:
    """Return the schema of columns in Arrow's words, such as `item int32, name string`."""
    return pa.schema(dict(each.split() for each in text.split(", ")))


def placed(cluster: str, table: str, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Return rows by the folders that they belong to.

    Returns:
        Folder within the tables, and its rows; each row in one of them.
    """
    mine = partitions.cluster_folder(Path(), table, cluster)
    for folder, those in partitions.parted(rows):
        yield (mine / folder).as_posix(), those


def part_name(batch: int, task: int) -> str:
    """Return a part's name, such that parts in order of names hold rows in order of reading."""
    return partitions.part_name(f"follow-{batch:08}-{task:05}")


def parts_of(folder: Path, batch: int) -> list[Path]:
    """Return the files of a batch in a folder, task by task."""
    return sorted(folder.glob(part_name(batch, 0).replace("00000.parquet", "*.parquet")))


def batch_of(part: Path) -> int:
    """Return the batch that a part is named after."""
    return int(part.name.split("-")[2])
