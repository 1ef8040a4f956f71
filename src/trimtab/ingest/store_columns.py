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
from trimtab.ingest.bundle_states import STATES, usual_state, written_states
from trimtab.ingest.columns import ODD, may_hold_endless_number
from trimtab.ingest.load_reports import Report, report_columns, usual_report
from trimtab.ingest.sieve import Columns
from trimtab.ingest.store import BROKER, BUNDLE
from trimtab.ingest.zookeeper_files.writes import Write

_SESSION_MASK = (1 << 64) - 1


class TimedWrite(NamedTuple):
    """A write with its place and its time."""

    #: Number of its transaction or node.
    line: int
    time: datetime
    #: Below the cluster's root.
    path: str
    write: Write


@dataclass(slots=True)
class Waiting:
    """Writes that wait to be laid out, and what usual values among them hold."""

    writes: list[TimedWrite] = field(default_factory=list)
    reports: list[tuple[TimedWrite, Report]] = field(default_factory=list)
    #: Table → writes that give its rows, with what they hold.
    averages: dict[str, list[tuple[TimedWrite, Any]]] = field(
        default_factory=lambda: {kind.table: [] for kind in KINDS}
    )
    states: list[tuple[TimedWrite, Any]] = field(default_factory=list)
    #: Rows that all of them give.
    rows: int = 0

    def add(self, timed: TimedWrite) -> None:
        """Add a write, of whatever kind: it gives a row of `store_writes`."""
        self.writes.append(timed)
        self.rows += 1

    def add_load(self, timed: TimedWrite) -> bool:
        """Return whether a write says something of the load, as usual; if so, it waits, too.

        Properties:
            Whatever the value, `zookeeper` says of it row by row what is said of it here.
        """
        value = timed.write.value
        if value is None or may_hold_endless_number(value):
            return False
        try:
            if timed.path.startswith(BROKER):
                report = usual_report(value)
                self.reports.append((timed, report))
                self.rows += 1 + len(report.bundles)
            elif kind := averages_at(timed.path):
                self.averages[kind.table].append((timed, kind.decoder.decode(value)))
                self.rows += 1
            elif timed.path.startswith(STATES) and BUNDLE.fullmatch(timed.path):
                self.states.append((timed, usual_state(value)))
                self.rows += 1
            else:
                return False
        except ODD:
            return False
        return True

    def columns(self) -> dict[str, Columns]:
        """Return all of it, table by table."""
        timed = [it for it, _ in self.reports]
        coming = _written(timed, "broker", BROKER) | {
            "version": pa.array([it.write.version for it in timed], pa.int32()),
            "origin": pa.repeat(pa.scalar("store", pa.string()), len(timed)),
        }
        tables = report_columns([report for _, report in self.reports], coming)
        for kind in KINDS:
            those = self.averages[kind.table]
            common = _written([it for it, _ in those], kind.whose, kind.head)
            tables[kind.table] = common | kind.fields.arrays([averages for _, averages in those])
        timed = [it for it, _ in self.states]
        coming = _written(timed, "bundle", STATES) | {
            "version": pa.array([it.write.version for it in timed], pa.int32())
        }
        coming.pop("written")
        tables["bundle_states"] = written_states([it for _, it in self.states], "store", coming)
        return tables | {"store_writes": _store_writes(self.writes)}


def _store_writes(timed: Sequence[TimedWrite]) -> Columns:
    """Return a row for each write, whatever it wrote."""
    writes = [each.write for each in timed]
    return {
        "line": [each.line for each in timed],
        "time": [each.time for each in timed],
        "path": [each.path for each in timed],
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


def _written(timed: Sequence[TimedWrite], whose: str, head: str) -> dict[str, pa.Array]:
    """Return the columns that say where and when values were written, and of whom they are."""
    times = pa.array([it.time for it in timed], TIME)
    lines = pa.array([it.line for it in timed], pa.int64())
    names = pa.array([it.path[len(head) :] for it in timed], pa.string())
    return {"line": lines, "time": times, "written": times, whose: names}
