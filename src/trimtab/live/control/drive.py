"""The loop around `step`: see, decide, write, do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from trimtab.live.control.entries import Answered, Asked, Entry
from trimtab.live.control.memory import Memory, after
from trimtab.live.control.plan import Plan
from trimtab.live.control.step import End, LookUp, Record, Unload, Wait, step
from trimtab.live.control.view import View


class Cluster(Protocol):
    """A live cluster, or what stands in for one."""

    def seen(self, plan: Plan) -> View:
        """Return what a plan is about; what cannot be read is left out, and nothing is raised."""

    def unload(self, asked: Asked) -> tuple[str, str]:
        """Return the status and the text of the answer to an unload."""

    def look_up(self, bundle: str) -> None:
        """Look a bundle up; whether it has an owner then is to be seen."""

    def pause(self) -> None:
        """Let a little time pass."""

    @property
    def time_s(self) -> float:
        """Return the time, s since 1970."""


class Journal(Protocol):
    """Where entries are kept."""

    def write(self, entry: Entry) -> None:
        """Keep an entry: it is there for good when this returns."""


def driven(plan: Plan, cluster: Cluster, journal: Journal, memory: Memory) -> Iterator[str]:
    """Carry a plan out until it is done or has to stop.

    An entry is written before what it speaks of is done, and the answer after it: so a run
    that is killed at any time leaves a journal that is true.

    Yields:
        What is waited for, each time that something is; the last is why it ended, empty if
        the plan is done.
    """
    while True:
        match step(plan, cluster.seen(plan), memory):
            case End(why):
                yield why
                return
            case Wait(why):
                yield why
                cluster.pause()
            case Record(entry):
                journal.write(entry)
                memory = after(memory, entry)
            case LookUp(entry, bundle):
                journal.write(entry)
                memory = after(memory, entry)
                cluster.look_up(bundle)
            case Unload(entry):
                journal.write(entry)
                memory = after(memory, entry)
                status, text = cluster.unload(entry)
                answered = Answered(cluster.time_s, entry.move, status, text)
                journal.write(answered)
                memory = after(memory, answered)
