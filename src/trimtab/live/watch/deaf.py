"""Reports that are written while the leader unloads: it looks at them once it is done.

What `diagnose/replay/busy_leader.py` does with a whole recording, event by event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.replay.missed_writes import Gap
from trimtab.diagnose.replay.timeline import OWNED, UNLOAD
from trimtab.live.watch.events import Happening
from trimtab.live.watch.nouns import Settings
from trimtab.pulsar.leader import load_data

#: What happens is heard so much later; measured: 2 to 13 ms.
_HEARD = timedelta(milliseconds=10)
#: From a round's first line to its first unload, and from one to the next, it takes no longer.
_BETWEEN = timedelta(seconds=1)
#: An unload that takes longer than this is not waited for: its end may not have been seen.
_UNLOADED = timedelta(seconds=30)
_HANGS = "hangs on milliseconds"
_LOAD_MANAGER = "ModularLoadManagerImpl"


@dataclass(slots=True)
class Unloading:
    """A round of the leader's that may still unload."""

    #: When it was last known to be at it: its first line, or that of its last unload.
    until: datetime
    #: The bundle of its last unload, and when it was heard to have left its broker.
    bundle: str = ""
    left: datetime | None = None
    #: When they were written, and rows of `load_reports` that it has not looked at.
    waiting: list[tuple[datetime, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def end(self) -> datetime:
        """Return when it was done, as far as that is known."""
        return self.until if self.left is None else max(self.until, self.left - _HEARD)


def is_deaf(settings: Settings) -> bool:
    """Return whether the leader looks at no report while it unloads, and the watch sees when.

    Source:
        impl/ModularLoadManagerImpl.java updateAll, whose first step cleanupDeadBrokersData is
        `synchronized` as doLoadShedding is; 3.1.0 to 5.0.0-M1.
    """
    bookkeeping = load_data(_LOAD_MANAGER, settings.ran.release)
    return (
        settings.sees_writes and bookkeeping is not None and not bookkeeping.looks_while_unloading
    )


def followed(unloading: Unloading, happening: Happening) -> None:
    """Take an unload of a round, or that the bundle has left its broker."""
    time, what, thing = happening
    if what == UNLOAD:
        unloading.until, unloading.bundle, unloading.left = time, thing, None
    elif what == OWNED and unloading.left is None and thing["bundle"] == unloading.bundle:
        # Who sees it at its next owner first has not seen when it left.
        unloading.left = unloading.until if thing["broker"] else time


def is_done(unloading: Unloading, now: datetime) -> bool:
    """Return whether a round unloads nothing more, by all that happened until now."""
    if unloading.bundle and unloading.left is None:
        return now > unloading.until + _UNLOADED
    return now > (unloading.left or unloading.until) + _BETWEEN


def looks(unloading: Unloading) -> Iterator[tuple[datetime, list[Mapping[str, Any]]]]:
    """Yield when the leader looks at what has waited, and what is new to it then."""
    end = unloading.end
    together = [row for time, row in unloading.waiting if time <= end]
    if together:
        yield end, together
    for time, row in unloading.waiting:
        if time > end:
            yield time, [row]


def doubts(unloading: Unloading) -> tuple[Gap, ...]:
    """Return which of the reports that waited may have been looked at alone, or not alone.

    That one bundle left its broker is heard a little later than the leader goes on.
    """
    left = unloading.left or unloading.until
    waiting = [(time, row["broker"]) for time, row in unloading.waiting if time <= left]
    if len(waiting) < 2:
        return ()
    return tuple(
        (broker, time, time, f"whether the leader unloaded when {broker} wrote {_HANGS}")
        for time, broker in waiting
        if time > unloading.until
    )
