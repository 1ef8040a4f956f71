"""What must come before what: one unload and one acquisition, seen from all sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.clock_skew import STORE, Pair
from trimtab.diagnose.columns import stamps, words

#: Lines of the logs that are used.
KINDS = frozenset(
    {
        "bundle-lock-released",
        "bundle-unloaded",
        "ownership-acquired",
        "ownership-disabled",
        "ownership-tried",
        "unload",
    }
)
#: Unloads of one round are no further apart: the leader waits for each, but not for ever.
_ONE_ROUND = timedelta(seconds=30)

Row = Mapping[str, Any]


class _Line(NamedTuple):
    """A line about a bundle, by the clock of the broker that logged it."""

    broker: str
    time: datetime
    bundle: str
    #: Whom the leader told to unload it.
    source: str | None


def pairs_of(
    lines: Iterable[Row], ownership: Iterable[Row], reports: pa.Table, names: Mapping[str, str]
) -> Iterator[Pair]:
    """Yield everything of a recording whose order is known.

    A broker tries to acquire a bundle before the store has it as the owner, and says that it
    acquired it after; the same for giving one up.  The leader says that it unloads a bundle
    before the owner begins, and goes on to the next when the owner is done.  A broker stamps
    its report before the store takes it.

    Args:
        lines: rows of `log_events` of `KINDS`.
        ownership: rows of `ownership` whose times are the store's own.
        reports: rows of `load_reports`: `broker`, `updated` and `written`.
        names: log folder → broker id.

    Quirks:
        The n-th line is taken to be of the n-th write, whatever their times: so only bundles
        count of which a broker's log and the store tell equally often.
    """
    by_kind = _by_kind(lines, names)
    acquisitions, releases = _owned(ownership)
    yield from _around(by_kind["ownership-tried"], acquisitions, by_kind["ownership-acquired"])
    yield from _around(by_kind["ownership-disabled"], releases, by_kind["bundle-lock-released"])
    yield from _unloads(by_kind)
    yield from _stamped(reports)


def _stamped(reports: pa.Table) -> Iterator[Pair]:
    """Pair the stamps of reports with their writes: of each broker's the tightest, for all."""
    has_both = pc.and_(pc.is_valid(reports["updated"]), pc.is_valid(reports["written"]))
    stamped = reports.filter(has_both)
    late = stamps(stamped["written"]) - stamps(stamped["updated"])
    brokers = words(stamped["broker"])
    # Broker by broker; equal ones stay in the order of their lines.
    order = np.lexsort((late, brokers.codes))
    first = np.flatnonzero(np.diff(brokers.codes[order], prepend=-1))
    pairs = np.diff(first, append=len(order))
    rows = stamped.take(pa.array(order[first])).to_pylist()
    for row, many in zip(rows, pairs.tolist(), strict=True):
        yield Pair(row["broker"], row["updated"], STORE, row["written"], many)


def _by_kind(lines: Iterable[Row], names: Mapping[str, str]) -> dict[str, list[_Line]]:
    """Return lines by kind, each kind by broker and time."""
    by_kind: dict[str, list[_Line]] = {kind: [] for kind in KINDS}
    for row in lines:
        broker = names.get(row["log_broker"])
        if broker is not None and row["bundle"] is not None and row["time"] is not None:
            by_kind[row["kind"]].append(_Line(broker, row["time"], row["bundle"], row["broker"]))
    return {kind: sorted(mine, key=lambda it: it[:2]) for kind, mine in by_kind.items()}


def _owned(
    ownership: Iterable[Row],
) -> tuple[dict[tuple[str, str], list[datetime]], dict[tuple[str, str], list[datetime]]]:
    """Return when each broker was written down as a bundle's owner, and when no more."""
    acquisitions: dict[tuple[str, str], list[datetime]] = {}
    releases: dict[tuple[str, str], list[datetime]] = {}
    owners: dict[str, str] = {}
    for row in sorted(ownership, key=lambda row: row["time"]):
        bundle, broker = row["bundle"], row["broker"]
        if bundle is None:
            continue
        before = owners.pop(bundle, None)
        if before is not None:
            releases.setdefault((before, bundle), []).append(row["time"])
        if broker is not None:
            owners[bundle] = broker
            acquisitions.setdefault((broker, bundle), []).append(row["time"])
    return acquisitions, releases


def _around(
    before: Sequence[_Line],
    stored: Mapping[tuple[str, str], Sequence[datetime]],
    after: Sequence[_Line],
) -> Iterator[Pair]:
    """Pair what a broker says on either side of a write with the write."""
    began, ended = _times(before), _times(after)
    for who, times in stored.items():
        if len(times) != len(ended.get(who, ())):
            continue
        broker = who[0]
        last = None
        for time, end in zip(times, ended[who], strict=True):
            yield Pair(STORE, time, broker, end)
            tries = [
                begin for begin in began.get(who, ()) if begin <= end and (not last or begin > last)
            ]
            if tries:
                yield Pair(broker, tries[-1], STORE, time)
            last = end


def _unloads(by_kind: Mapping[str, Sequence[_Line]]) -> Iterator[Pair]:
    """Pair the leader's lines with the source's."""
    begun, done = _times(by_kind["ownership-disabled"]), _times(by_kind["bundle-unloaded"])
    unloads: dict[tuple[str, str, str], list[datetime]] = {}
    following: dict[tuple[str, datetime], datetime] = {}
    for line in by_kind["unload"]:
        if line.source is not None:
            unloads.setdefault((line.broker, line.source, line.bundle), []).append(line.time)
    for one, other in pairwise(by_kind["unload"]):
        if one.broker == other.broker and other.time - one.time < _ONE_ROUND:
            following[one.broker, one.time] = other.time
    leaders: dict[tuple[str, str], int] = {}
    for _, source, bundle in unloads:
        leaders[source, bundle] = leaders.get((source, bundle), 0) + 1
    for (leader, source, bundle), times in unloads.items():
        who = source, bundle
        counts = len(begun.get(who, ())), len(done.get(who, ()))
        if leaders[who] > 1 or counts != (len(times), len(times)):
            continue
        for time, begin, end in zip(times, begun[who], done[who], strict=True):
            yield Pair(leader, time, source, begin)
            if (leader, time) in following:
                yield Pair(source, end, leader, following[leader, time])


def _times(lines: Iterable[_Line]) -> dict[tuple[str, str], list[datetime]]:
    times: dict[tuple[str, str], list[datetime]] = {}
    for line in lines:
        times.setdefault((line.broker, line.bundle), []).append(line.time)
    return times
