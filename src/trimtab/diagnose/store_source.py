"""What ZooKeeper's own log tells, where there is one; what a recorder polled, elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.pulsar.model import Ints

Row: TypeAlias = Mapping[str, Any]
#: Phases in which brokers write to ZooKeeper; in all others they write nowhere, or elsewhere.
_STANDING = frozenset({None, "NOT_STARTED", "FAILED"})
#: From a log's first transaction to its last.
Span: TypeAlias = tuple[datetime, datetime]

_STORE = "store/"
#: Where ZooKeeper's own files are.
ZOOKEEPER = "store/zookeeper/"
#: What tells one write from any other, in whichever table.
_WRITE = ("broker", "bundle", "version", "written")
#: Bits of a transaction id that count within the reign of one of ZooKeeper's leaders.
_COUNTER = (1 << 32) - 1


def is_logged(row: Row) -> bool:
    """Return whether a row is from ZooKeeper's own files, so that its time is exact."""
    return str(row.get("file")).startswith(ZOOKEEPER)


def covered(files: Iterable[Row]) -> tuple[Span, ...]:
    """Return from when to when every write is in ZooKeeper's logs.

    Args:
        files: rows of `store_files`.

    Returns:
        In order; logs that follow on each other without a gap are one span.
    """
    complete = sorted(
        (row["first"], row["last"], row["start"], row["end"])
        for row in files
        if None not in (row["first"], row["last"], row["start"], row["end"])
    )
    spans: list[Span] = []
    reached = 0
    for first, last, start, end in complete:
        # ZooKeeper's leaders count on by one, and from 1 under a new one.
        if spans and (first <= reached + 1 or first & _COUNTER == 1):
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((start, end))
        reached = max(reached, last)
    return tuple(spans)


def best_rows(rows: Sequence[dict[str, Any]], spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Return rows without what was polled of writes that ZooKeeper's logs have.

    Args:
        rows: of one table; those from other files than the store's are kept.
        spans: from `covered`.
    """
    exact = [row for row in rows if is_logged(row)]
    if not spans and not exact:
        return list(rows)
    logged = {_write(row) for row in exact if row.get("written") is not None}
    return [
        row
        for row in rows
        if is_logged(row)
        or not row["file"].startswith(_STORE)
        or not (_write(row) in logged or _is_within(row.get("written") or row["time"], spans))
    ]


def best_table(table: pa.Table, spans: Sequence[Span]) -> pa.Table:
    """Return a table without what `best_rows` leaves out of its rows."""
    positions = best_positions(table, spans)
    return table if positions.size == table.num_rows else table.take(pa.array(positions))


def best_positions(table: pa.Table, spans: Sequence[Span]) -> Ints:
    """Return the positions of the rows of a table that `best_rows` keeps."""
    files = pc.unique(table["file"]).to_pylist()
    if not spans and not any(is_logged({"file": file}) for file in files):
        return np.arange(table.num_rows)
    columns = [name for name in ("time", "file", *_WRITE) if name in table.column_names]
    rows = table.select(columns).to_pylist()
    for at, row in enumerate(rows):
        row["at"] = at
    return np.array([row["at"] for row in best_rows(rows, spans)], np.int64)


class Move(NamedTuple):
    """A move from ZooKeeper to another metadata store."""

    #: From then on ZooKeeper stands still, whatever the cluster does.
    time: datetime
    #: How far it came.
    phase: str
    #: Store that it moved to; None where that is not said.
    target: str | None


def move_of(rows: Iterable[Row]) -> Move | None:
    """Return the move that ends what ZooKeeper knows; None if brokers write to it to the end.

    Once it has begun brokers may not write until it is over, and once it is completed they write
    to the other store for good.

    Args:
        rows: of `store_moves`.

    Source:
        DualMetadataStore.java put, MigrationState.java, 5.0 (PIP-454)
    """
    move: Move | None = None
    for row in sorted(rows, key=lambda row: (row["time"], row["file"], row["line"])):
        if move is not None and move.phase == "COMPLETED":
            return move
        if row["phase"] in _STANDING:
            move = None
        else:
            time, target = (move.time, move.target) if move else (row["time"], None)
            move = Move(time, row["phase"], row["target"] or target)
    return move


def _write(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(column) for column in _WRITE)


def _is_within(time: datetime, spans: Iterable[Span]) -> bool:
    return any(start <= time <= end for start, end in spans)
