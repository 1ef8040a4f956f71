"""A small recording → its tables, in this process: a Java would cost more than all the parsing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from trimtab.files.partitions import write_rows
from trimtab.files.tables import INGESTED
from trimtab.ingest.outcome import Origin
from trimtab.ingest.pipeline import meta_rows
from trimtab.ingest.recording import Recording
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split


def ingested(recording: Recording, tables: Path) -> None:
    """Write what a recording's lines say as tables.

    Args:
        recording: without files of ZooKeeper's own, and with every line ended.
        tables: folder to write, as `trimtab.files.partitions` has it.

    Raises:
        ValueError: a line could not be read; nothing that was generated may be unreadable.
    """
    rows = {name: [schema.empty_table()] for name, schema in INGESTED.items()}
    meta = pa.Table.from_pylist(meta_rows(recording), INGESTED["recording"])
    rows["recording"].append(meta)
    for name, part in parsed(recording):
        rows[name].append(part)
    whole = {name: pa.concat_tables(parts) for name, parts in rows.items()}
    rejects = whole["rejects"].to_pylist()
    if rejects:
        raise ValueError(f"{recording.name}: cannot be read: {rejects[0]}")
    write_rows(tables, recording.cluster, f"{recording.name}-00001", whole)


def parsed(recording: Recording) -> Iterator[TableRows]:
    """Yield the rows of a recording's lines, table by table."""
    for source, files in recording.files.items():
        if source == "recording":
            continue
        for file in files:
            origin = Origin(file.name, file.log_broker, recording.zone, recording.day)
            [split] = cut(file.path, origin, source)
            for given in parse_split(split):
                if isinstance(given, TableRows):
                    yield given
