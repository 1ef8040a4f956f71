"""What cannot be streamed, each in one line: what was found, and what was expected."""

from __future__ import annotations

from pathlib import Path

from trimtab.files.fields import FieldError
from trimtab.files.places import is_store
from trimtab.files.tables import INGESTED
from trimtab.ingest.recording import open_growing
from trimtab.ingest.recording_toml import RecordingError
from trimtab.ingest.table_parts import is_folder_of_tables
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER

#: Which writes of ZooKeeper's files count is known once all of them were looked at.
_OF_STORE_FILES = ("store_moves", "store_writes", "store_files")
#: Tables that lines fill, and ZooKeeper's files where there are any.
_ALSO_OF_STORE_FILES = frozenset(
    {
        "load_reports",
        "bundle_reports",
        "bundle_averages",
        "broker_averages",
        "leaders",
        "ownership",
        "bundle_states",
    }
)
_A_FOLDER = "the folder of a recording on this machine's disks, which may grow"


def not_streamed(path: Path, table: str) -> None:
    """Refuse what cannot be streamed whatever the recording holds.

    Raises:
        FieldError: the table cannot be streamed, or there are no files that grow at the path.
    """
    if table not in INGESTED or table in _OF_STORE_FILES:
        streamed = ", ".join(name for name in INGESTED if name not in _OF_STORE_FILES)
        raise FieldError(
            "table", table, f"one that is read line by line: {streamed}; read it with spark.read"
        )
    if is_store(path):
        raise FieldError("path", f"an address, {path}", _A_FOLDER)
    if path.is_file():
        raise FieldError("path", f"a file, {path}", _A_FOLDER)
    if is_folder_of_tables(path):
        raise FieldError("path", f"a folder of tables, {path}", _A_FOLDER)


def unstreamed_files(path: Path, table: str) -> None:
    """Refuse a table that has rows of files that are not made of lines.

    Raises:
        RecordingError: there is such a file, or no recording.
    """
    if table not in _ALSO_OF_STORE_FILES:
        return
    for file in open_growing(path).files.get(ZOOKEEPER, ()):
        raise RecordingError(
            f"{file.name}: found a file of ZooKeeper's, which has rows of {table}, "
            f"expected files that are made of lines: read {table} with spark.read"
        )
