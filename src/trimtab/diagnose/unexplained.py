"""Bundles that changed owners although no order, request or departure that is known explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.night import Event, Handover
from trimtab.diagnose.rounds import OF_CHOSEN
from trimtab.pulsar.bundles import is_system_bundle, namespace

#: Lines after which a bundle changes its owner: somebody ordered it, asked for it or split it.
EXPLAINING = frozenset(
    {
        "access-split",
        "access-unload",
        "admin-split",
        "admin-unload",
        "admin-unload-namespace",
        "extensible-unload",
        "split",
        "split-completed",
        "split-done",
        "split-due",
        "transfer-decided",
        "unload",
    }
)
#: Lines that tell of a move, or of a bundle that was chosen for one.
TELLING = OF_CHOSEN | {"extensible-unload", "transfer-decided"}
#: A bundle that was unloaded and that nobody looks up gets its owner so late at most.
_LATE = timedelta(minutes=10)
#: Clocks differ, and whoever polls sees things late.
_APART = timedelta(minutes=1)


class Change(NamedTuple):
    """A change of owners, and since when the bundle was with the one before."""

    handover: Handover
    since: datetime


def changes_of_owners(ownership: pa.Table, release: str) -> list[Change]:
    """Return the changes from one owner to another, in order of time.

    Args:
        ownership: rows of `ownership`.
        release: by which a broker's own bundles are known.
    """
    valid = pc.and_(pc.is_valid(ownership["broker"]), pc.is_valid(ownership["bundle"]))
    order = [(name, "ascending") for name in ("bundle", "time", "file", "line")]
    owned = ownership.filter(valid).sort_by(order)
    bundle, broker = (owned[name].to_numpy(zero_copy_only=False) for name in ("bundle", "broker"))
    is_change = (bundle[1:] == bundle[:-1]) & (broker[1:] != broker[:-1])
    at = np.flatnonzero(is_change) + 1
    now, before = owned.take(at).to_pylist(), owned.take(at - 1).to_pylist()
    changes = [
        Change(Handover(new["time"], new["bundle"], old["broker"], new["broker"]), old["time"])
        for old, new in zip(before, now, strict=True)
        if not is_system_bundle(new["bundle"], release)
    ]
    return sorted(changes, key=lambda change: change.handover)


def unexplained(
    changes: Iterable[Change], lines: Sequence[Event], reports: Iterable[Mapping[str, Any]]
) -> tuple[Handover, ...]:
    """Return the changes of owners that nothing known explains, in order of time.

    Args:
        changes: from `changes_of_owners`.
        lines: of the kinds of `EXPLAINING`.
        reports: rows of `load_reports` of the owners before, with when each process started.

    Properties:
        A bundle of a broker that left or started anew meanwhile is never among them, nor is
        one of a broker that is not known to have been there afterwards.
    """
    by_broker: dict[str, list[Mapping[str, Any]]] = {}
    for row in reports:
        by_broker.setdefault(row["broker"], []).append(row)
    return tuple(
        change.handover
        for change in changes
        if _stayed(by_broker.get(change.handover.source, ()), change)
        and not any(_explains(line, change.handover) for line in lines)
    )


def _stayed(reports: Iterable[Mapping[str, Any]], change: Change) -> bool:
    """Return whether the broker that lost the bundle is known to have been there throughout."""
    begin, end = change.since - _APART, change.handover.time + _APART
    is_after = False
    for row in reports:
        started = row["started"]
        if (row["is_gone"] and begin <= row["time"] <= end) or (
            started is not None and begin + _APART < started <= end
        ):
            return False
        is_after = is_after or (not row["is_gone"] and row["time"] > change.handover.time)
    return is_after


def _explains(line: Event, handover: Handover) -> bool:
    """Return whether a line tells why a bundle changed its owner, or one of its namespace."""
    if not handover.time - _LATE <= line.time <= handover.time + _APART:
        return False
    if line.kind.rpartition("-")[2] == "unload" or line.kind == "transfer-decided":
        return line.bundle == handover.bundle
    # A split gives its halves away, and an unload of a namespace all that it has.
    return namespace(handover.bundle) in line.text
