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


class _Averages(NamedTuple):
    """Usual values of one kind."""

    seen: list[Seen]
    averages: list[Any]


@dataclass(slots=True)
class Waiting:
    """Writes that wait to be laid out, and what usual values among them hold."""

    writes: list[Seen] = field(default_factory=list)
    #: Those of load reports, and what they report.
    reporters: list[Seen] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    #: Table → what gives its rows.
    averages: dict[str, _Averages] = field(
        default_factory=lambda: {kind.table: _Averages([], []) for kind in KINDS}
    )
    #: Rows that all of them give.
    rows: int = 0

    def add(self, seen: Seen) -> None:
        """Take a write, of whatever kind: it gives a row of `store_writes`."""
        self.writes.append(seen)
        self.rows += 1

    def tell(self, seen: Seen) -> bool:
        """Read what a write says of the load; tell whether it is such a one and as usual.

        Properties:
            Whatever the value, `zookeeper` says of it row by row what is said of it here.
        """
        value = seen.write.value
        if value is None or may_hold_endless_number(value):
            return False
        try:
            if seen.path.startswith(BROKER):
                told = usual_report(value)
                self.reporters.append(seen)
                self.reports.append(told)
                self.rows += 1 + len(told.bundles)
            elif kind := averages_at(seen.path):
                averages = kind.decoder.decode(value)
                self.averages[kind.table].seen.append(seen)
                self.averages[kind.table].averages.append(averages)
                self.rows += 1
            else:
                return False
        except ODD:
            return False
        return True

    def columns(self) -> dict[str, Columns]:
        """Lay all of it out, table by table."""
        versions = [seen.write.version for seen in self.reporters]
        found = report_columns(
            self.reports,
            {
                **_written(self.reporters),
                "version": pa.array(versions, pa.int32()),
                "broker": _named(self.reporters, BROKER),
                "origin": pa.repeat(pa.scalar("store", pa.string()), len(versions)),
            },
        )
        for kind in KINDS:
            seen, averages = self.averages[kind.table]
            found[kind.table] = {
                **_written(seen),
                kind.whose: _named(seen, kind.head),
                **kind.fields.arrays(averages),
            }
        return found | {"store_writes": _store_writes(self.writes)}


def _store_writes(seen: Sequence[Seen]) -> Columns:
    """Give the rows that tell of the writes, whatever they wrote."""
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


def _written(seen: Sequence[Seen]) -> dict[str, pa.Array]:
    """Give the columns that say where and when values were written."""
    times = pa.array([each.time for each in seen], TIME)
    lines = pa.array([each.line for each in seen], pa.int64())
    return {"line": lines, "time": times, "written": times}


def _named(seen: Sequence[Seen], head: str) -> pa.Array:
    """Give the names that stand behind the head of paths."""
    return pa.array([each.path[len(head) :] for each in seen], pa.string())
