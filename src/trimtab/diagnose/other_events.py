"""Lines that are of no round and that findings ask for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import TypeVar

from trimtab.diagnose.night import Event, Night

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

#: Their kinds.  None is printed at every report or at a lookup that is answered: these are read
#: to the driver.
OTHER_KINDS = frozenset(
    {
        "access-split",
        "active-brokers-unknown",
        "admin-call-failed",
        "admin-split",
        "admin-split-failed",
        "admin-unload-failed",
        "bundle-unload-timed-out",
        "bundle-unloaded",
        "channel-leader-found",
        "elected-leader",
        "follower",
        "leadership-acquired",
        "leadership-released",
        "load-manager-not-created",
        "nic-speed-unknown",
        "no-broker-for-lookup",
        "no-channel-owner",
        "ownership-not-acquired",
        "report-not-written",
        "shedding-error",
        "split",
        "split-completed",
        "split-done",
        "split-due",
        "split-failed",
        "split-refused",
        "state-not-handled",
        "unload-failed",
    }
)

#: Printed at every placement; kept where no broker was left.
CONSIDERED = "candidates-considered"


def is_other(event: Event) -> bool:
    """Return whether a log line is kept: a finding needs it, or a lookup had no candidate."""
    return event.kind in OTHER_KINDS or (event.kind == CONSIDERED and event.count == 0)


def other_events(night: Night, *kinds: str) -> list[Event]:
    """Return the watched lines of some kinds, in order of time."""
    return [event for event in night.events if event.kind in kinds]


def events_in_rounds(night: Night, *kinds: str) -> list[tuple[int, Event]]:
    """Return the rounds' lines of some kinds, each with the number of its round."""
    return [
        (logged.number, event)
        for logged in night.rounds
        for event in logged.events
        if event.kind in kinds
    ]


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return items by key, each key's in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def by_log(night: Night, *kinds: str) -> dict[str, list[Event]]:
    """Return the watched lines of some kinds by log, each log's in order of time."""
    return grouped(other_events(night, *kinds), lambda event: event.log_broker)


def round_at(night: Night, time: datetime) -> int:
    """Return the number of the last round that had begun at a time, 0 before the first."""
    before = [logged.number for logged in night.rounds if logged.time <= time]
    return before[-1] if before else 0
