"""What is due when: a queue of things to be done, in order of time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TypeAlias

from trimtab.lab.simulate.records import Move
from trimtab.lab.simulate.world import Event


@dataclass(frozen=True, slots=True)
class Round:
    """The leader sheds; of a leader that is one no more, nothing comes."""

    term: int


@dataclass(frozen=True, slots=True)
class Flush:
    """The leader stores the averages, and takes one more sample for it."""

    term: int


@dataclass(frozen=True, slots=True)
class Handover:
    """A bundle that was shed is given up by its owner, for its new one."""

    bundle: int
    source: int
    target: int
    gap_s: float
    #: What is written down about it when it has happened.
    move: Move | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """A client asks for a bundle that has no owner, or whose owner is about to leave."""

    bundle: int
    source: int
    #: s since when it has had no owner that serves.
    since_s: float
    gap_s: float
    #: Round in which it was shed, by a release that leaves the choice to the lookup.
    round: int = -1


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The cluster notices that a broker is gone that was killed."""

    broker: int
    started: int


@dataclass(frozen=True, slots=True)
class Exit:
    """A broker that leaves has given up all its bundles."""

    broker: int


Due: TypeAlias = Event | Round | Flush | Handover | Lookup | SessionEnd | Exit


@dataclass(slots=True)
class Timetable:
    """Things to be done; those of one time in the order in which they were entered."""

    _queue: list[tuple[float, int, Due]] = field(default_factory=list)
    _entered: int = 0

    def enter(self, time_s: float, due: Due) -> None:
        """Let something be done at a time."""
        self._entered += 1
        heapq.heappush(self._queue, (time_s, self._entered, due))

    def next(self, before_s: float) -> tuple[float, Due] | None:
        """Take what is due first; None if nothing is before some time."""
        if not self._queue or self._queue[0][0] >= before_s:
            return None
        time_s, _, due = heapq.heappop(self._queue)
        return time_s, due
