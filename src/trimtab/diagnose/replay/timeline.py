"""What happened during a stretch of a tenure, one thing after the other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from trimtab.diagnose.replay.busy_leader import looks
from trimtab.diagnose.replay.leading import Leading
from trimtab.diagnose.replay.missed_writes import write_time
from trimtab.diagnose.replay.store_columns import StoredAverages, StoredReports
from trimtab.diagnose.replay.stretches import Outline, Stretch

#: What happens first when two things bear the same time: the leader hears of a write
#: before it acts on it, and a round's placements follow its decision.
REPORT, LEFT, STORED, STARTED, OWNED, ROUND, SELECTION, UNLOAD = range(8)


@dataclass(frozen=True, slots=True)
class Script:
    """What happened during a stretch of a tenure, as recorded."""

    leading: Leading
    outline: Outline
    stretch: Stretch
    reports: StoredReports
    averages: StoredAverages


def timeline(script: Script) -> list[tuple[datetime, int, Any]]:
    """Return what happened: when, what, and with which thing."""
    stretch, busy, since = script.stretch, script.outline.busy, script.outline.since
    writes = sorted(((write_time(row), row) for row in script.reports.rows), key=itemgetter(0))
    events: list[tuple[datetime, int, Any]] = []
    for time, rows in looks(writes, busy):
        events.append((time, REPORT, rows))
        left = [row for row in rows if row["is_gone"] and write_time(row) < time]
        events += [(write_time(row), LEFT, row["broker"]) for row in left]
    events += [(time, STORED, flush) for time, *flush in script.averages.flushes()]
    events += [(since, STARTED, None)] if since is not None and stretch.has(since) else []
    owned = [row for row in stretch.ownership if row["bundle"] and stretch.has(row["time"])]
    events += [(row["time"], OWNED, row) for row in owned]
    events += [(time, ROUND, number) for time, number in stretch.ticks]
    events += [(row["time"], SELECTION, row) for row in stretch.selections]
    events += [(time, UNLOAD, bundle) for time, bundle in stretch.unloads]
    return sorted(events, key=itemgetter(0, 1))
