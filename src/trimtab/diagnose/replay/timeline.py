"""What happened during a stretch of a tenure, one thing after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from trimtab.diagnose.columns import microseconds, moments
from trimtab.diagnose.replay.busy_leader import Spans, looks
from trimtab.diagnose.replay.leading import Leading
from trimtab.diagnose.replay.missed_writes import write_time
from trimtab.diagnose.replay.store_columns import StoredAverages, StoredReports
from trimtab.diagnose.replay.stretches import Outline, Stretch
from trimtab.pulsar.model import Flags, Ints

#: When, what, and with which thing.
Happening: TypeAlias = tuple[datetime, int, Any]

#: What happens first when two things bear the same time: the leader hears of a write
#: before it acts on it, and a round's placements follow its decision.
REPORT, LEFT, STORED, STARTED, OWNED, ROUND, SELECTION, UNLOAD = range(8)
#: Reports that the leader looks at one by one, with nothing between.
REPORTS = 8


@dataclass(frozen=True, slots=True)
class Script:
    """What happened during a stretch of a tenure, as recorded."""

    leading: Leading
    outline: Outline
    stretch: Stretch
    reports: StoredReports
    averages: StoredAverages


def timeline(script: Script) -> list[Happening]:
    """Return what happened; the thing of REPORTS is their positions in the columns."""
    stretch, since, reports = script.stretch, script.outline.since, script.reports
    written, are_gone = reports.written()
    is_alone = _are_looked_at_alone(written, are_gone, script.outline.busy)
    events = _looks(reports.rows(reports.asked[~is_alone]), script.outline.busy)
    events += [(time, STORED, flush) for time, *flush in script.averages.flushes()]
    events += [(since, STARTED, None)] if since is not None and stretch.has(since) else []
    owned = [row for row in stretch.ownership if row["bundle"] and stretch.has(row["time"])]
    events += [(row["time"], OWNED, row) for row in owned]
    events += [(time, ROUND, number) for time, number in stretch.ticks]
    events += [(row["time"], SELECTION, row) for row in stretch.selections]
    events += [(time, UNLOAD, bundle) for time, bundle in stretch.unloads]
    ordered = sorted(events, key=itemgetter(0, 1))
    return _with_reports(ordered, written[is_alone], reports.asked[is_alone])


def _are_looked_at_alone(written: Ints, are_gone: Flags, busy: Spans) -> Flags:
    """Return which writes are reports that the leader looks at at once.

    Those at the very time of another one stay with it, as their order counts.
    """
    begins, ends = (microseconds([span[i] for span in busy]) for i in range(2))
    # The span that began last says until when the leader is busy.
    until = np.append(np.iinfo(np.int64).min, ends)[np.searchsorted(begins, written, side="right")]
    is_other = are_gone | (until > written)
    return ~is_other & ~np.isin(written, written[is_other])


def _looks(rows: Sequence[Mapping[str, Any]], busy: Spans) -> list[Happening]:
    """Return when the leader looks at other writes, and when brokers are away before it does."""
    writes = sorted(((write_time(row), row) for row in rows), key=itemgetter(0))
    events: list[Happening] = []
    for time, seen in looks(writes, busy):
        events.append((time, REPORT, seen))
        left = [row for row in seen if row["is_gone"] and write_time(row) < time]
        events += [(write_time(row), LEFT, row["broker"]) for row in left]
    return events


def _with_reports(events: Sequence[Happening], written: Ints, places: Ints) -> list[Happening]:
    """Return events with the reports between them, which come first of what has the same time."""
    order = np.argsort(written, kind="stable")
    places, times = places[order], written[order]
    ends = np.searchsorted(times, microseconds([time for time, *_ in events]), side="right")
    merged: list[Happening] = []
    for event, start, end in zip(
        [*events, None], [0, *ends.tolist()], [*ends.tolist(), places.size], strict=True
    ):
        if end > start:
            merged.append((*moments(times[[start]]), REPORTS, places[start:end]))
        merged += [] if event is None else [event]
    return merged
