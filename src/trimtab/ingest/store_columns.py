"""Writes to the metadata store in columns: what each is, and what usual values say of the load.

A value that is odd is left to `zookeeper`, the authority: what is said of a write here, it
would say too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from trimtab.files.tables import TIME
from trimtab.ingest.averages import KINDS, averages_at
from trimtab.ingest.columns import ODD, may_hold_endless_number
from trimtab.ingest.load_reports import Report, report_columns, usual_report
from trimtab.ingest.sifted import Columns
from trimtab.ingest.store import BROKER
from trimtab.ingest.zookeeper_files.writes import Write

_SESSION_MASK = (1 << 64) - 1


class Seen(NamedTuple):
    """A write, and where and when it was seen."""

    #: Number of its transaction or node.
    line: int
    time: datetime
    #: Below the cluster's root.
    path: str
    write: Write


@dataclass(slots=True)
class Waiting:
    """Writes that wait to be laid out, and what usual values among them hold."""

    writes: list[Seen] = field(default_factory=list)
    reports: list[tuple[Seen, Report]] = field(default_factory=list)
    #: Table → writes that give its rows, with what they hold.
    averages: dict[str, list[tuple[Seen, Any]]] = field(
        default_factory=lambda: {kind.table: [] for kind in KINDS}
    )
    #: Rows that all of them give.
    rows: int = 0

    def add(self, seen: Seen) -> None:
        """Take a write, of whatever kind: it gives a row of `store_writes`."""
        self.writes.append(seen)
        self.rows += 1

    def tell(self, seen: Seen) -> bool:
        """Read what a write says of the load; return whether it is such a one and as usual.

        Properties:
            Whatever the value, `zookeeper` says of it row by row what is said of it here.
        """
        value = seen.write.value
        if value is None or may_hold_endless_number(value):
            return False
        try:
            if seen.path.startswith(BROKER):
                report = usual_report(value)
                self.reports.append((seen, report))
                self.rows += 1 + len(report.bundles)
            elif kind := averages_at(seen.path):
                self.averages[kind.table].append((seen, kind.decoder.decode(value)))
                self.rows += 1
            else:
                return False
        except ODD:
            return False
        return True

    def columns(self) -> dict[str, Columns]:
        """Return all of it, table by table."""
        seen = [it for it, _ in self.reports]
        coming = _written(seen, "broker", BROKER) | {
            "version": pa.array([it.write.version for it in seen], pa.int32()),
            "origin": pa.repeat(pa.scalar("store", pa.string()), len(seen)),
        }
        tables = report_columns([report for _, report in self.reports], coming)
        for kind in KINDS:
            those = self.averages[kind.table]
            written = _written([it for it, _ in those], kind.whose, kind.head)
            tables[kind.table] = written | kind.fields.arrays([averages for _, averages in those])
        return tables | {"store_writes": _store_writes(self.writes)}


def _store_writes(seen: Sequence[Seen]) -> Columns:
    """Return the rows that tell of the writes, whatever they wrote."""
    writes = [each.write for each in seen]
    return {
        "line": [each.line for each in seen],
        "time": [each.time for each in seen],
        "path": [each.path for each in seen],
        "zxid": [write.zxid for write in writes],
        "session": [
            f"0x{write.session & _SESSION_MASK:x}" if write.session else None for write in writes
        ],
        "operation": [str(write.operation) for write in writes],
        "version": [write.version for write in writes],
        "is_ephemeral": [write.is_ephemeral for write in writes],
        "is_snapshot": [write.is_snapshot for write in writes],
        "bytes": [None if write.value is None else len(write.value) for write in writes],
    }


def _written(seen: Sequence[Seen], whose: str, head: str) -> dict[str, pa.Array]:
    """Return the columns that say where and when values were written, and of whom they are."""
    times = pa.array([it.time for it in seen], TIME)
    lines = pa.array([it.line for it in seen], pa.int64())
    names = pa.array([it.path[len(head) :] for it in seen], pa.string())
    return {"line": lines, "time": times, "written": times, whose: names}
