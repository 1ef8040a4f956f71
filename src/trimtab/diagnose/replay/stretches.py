"""A tenure as its whole outline and the stretches that it is cut into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.diagnose.replay.busy_leader import Spans
from trimtab.diagnose.replay.missed_writes import Gap
from trimtab.pulsar.model import Ints


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a tenure that is decided by one task, given what the leader knew before."""

    #: From when on, and until when; None: from the first on, to the end of the tenure.
    start: datetime | None
    end: datetime | None
    #: File → lines of the load reports that count, by when they were written.
    reports: Mapping[str, Ints]
    #: Least and greatest `time` of these, outside of which nothing need be read; None if none.
    recorded: tuple[datetime, datetime] | None
    ticks: Sequence[tuple[datetime, int | None]]
    #: Rows of `log_events` of kind candidates-considered.
    selections: Sequence[Mapping[str, Any]]
    #: (time, bundle) of the logged unloads.
    unloads: Sequence[tuple[datetime, str]]
    #: Rows of `ownership`, and those of soon after.
    ownership: Sequence[Mapping[str, Any]]

    def has(self, time: datetime) -> bool:
        """Return whether a time is of this stretch."""
        is_begun = self.start is None or time >= self.start
        return is_begun and (self.end is None or time < self.end)


@dataclass(frozen=True, slots=True)
class Outline:
    """What the whole of a tenure tells."""

    stretches: Sequence[Stretch]
    #: When the leader unloaded, and so looked at nothing.
    busy: Spans
    gaps: Sequence[Gap]
    #: Rows of reports, polled, that tell of brokers that left.
    departures: Sequence[Mapping[str, Any]]
    #: When the leader's process started, from which on it averages; None if not known.
    since: datetime | None
    #: Long-term averages are asked for, and the store's are absent.
    lacks_averages: bool
