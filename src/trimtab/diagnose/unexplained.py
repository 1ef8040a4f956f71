"""Bundles that changed owners although no order, request or departure that is known explains it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
    stays = _stays(reports)
    reasons = _Reasons(lines)
    return tuple(
        change.handover
        for change in changes
        if (stay := stays.get(change.handover.source)) is not None
        and stay.covers(change)
        and not reasons.explain(change.handover)
    )


class _Stay(NamedTuple):
    """When a broker reported, left and started, each in order of time."""

    there: list[datetime]
    gone: list[datetime]
    started: list[datetime]

    def covers(self, change: Change) -> bool:
        """Return whether the broker is known to have been there throughout a change."""
        begin, end = change.since - _APART, change.handover.time + _APART
        has_left = _between(self.gone, begin, end)
        # A process that began about when the bundle came to it is the one that got it.
        has_begun = bisect_right(self.started, end) > bisect_right(self.started, begin + _APART)
        return (
            not has_left
            and not has_begun
            and bool(self.there)
            and self.there[-1] > change.handover.time
        )


def _stays(reports: Iterable[Mapping[str, Any]]) -> dict[str, _Stay]:
    """Return by broker when it was there."""
    stays: dict[str, _Stay] = {}
    for row in reports:
        stay = stays.setdefault(row["broker"], _Stay([], [], []))
        (stay.gone if row["is_gone"] else stay.there).append(row["time"])
        if row["started"] is not None:
            stay.started.append(row["started"])
    for stay in stays.values():
        for times in stay:
            times.sort()
    return stays


class _Reasons:
    """Lines that tell why a bundle changed its owner, or one of its namespace."""

    def __init__(self, lines: Sequence[Event]) -> None:
        """Sort the lines by what they are about."""
        self._of_bundle: dict[str, list[datetime]] = {}
        self._of_many: list[Event] = []
        for line in sorted(lines, key=lambda each: each.time):
            if line.kind.rpartition("-")[2] == "unload" or line.kind == "transfer-decided":
                self._of_bundle.setdefault(line.bundle or "", []).append(line.time)
            else:
                # A split gives its halves away, and an unload of a namespace all that it has.
                self._of_many.append(line)
        self._of_namespace: dict[str, list[datetime]] = {}

    def explain(self, handover: Handover) -> bool:
        """Return whether a line tells why a bundle changed its owner."""
        begin, end = handover.time - _LATE, handover.time + _APART
        name = namespace(handover.bundle)
        if name not in self._of_namespace:
            self._of_namespace[name] = [it.time for it in self._of_many if name in it.text]
        of_bundle = self._of_bundle.get(handover.bundle, [])
        return any(_between(times, begin, end) for times in (of_bundle, self._of_namespace[name]))


def _between(times: Sequence[datetime], begin: datetime, end: datetime) -> bool:
    """Return whether one of some times, in order, lies between two, themselves among them."""
    return bisect_right(times, end) > bisect_left(times, begin)
