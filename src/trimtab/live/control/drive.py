"""The loop around `step`: see, decide, write, do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from trimtab.live.control.entries import Answered, Asked, Entry
from trimtab.live.control.memory import Memory, after
from trimtab.live.control.plan import Plan
from trimtab.live.control.step import End, LookUp, Unload, Wait, step
from trimtab.live.control.view import View


class Cluster(Protocol):
    """A live cluster, or what stands in for one."""

    def view(self, plan: Plan) -> View:
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


def driven(plan: Plan, cluster: Cluster, journal: Journal, memory: Memory) -> Iterator[Wait | End]:
    """Carry a plan out until it is done or has to stop.

    An entry is written before what it speaks of is done, and the answer after it: so a run
    that is killed at any time leaves a journal that is true.

    Yields:
        What is waited for, each time that something is; the last is why it ended.
    """
    while True:
        act = step(plan, cluster.view(plan), memory)
        if isinstance(act, End | Wait):
            yield act
            if isinstance(act, End):
                return
            cluster.pause()
            continue
        journal.write(act.entry)
        memory = after(memory, act.entry)
        if isinstance(act, LookUp):
            cluster.look_up(act.bundle)
        elif isinstance(act, Unload):
            status, text = cluster.unload(act.entry)
            answer = Answered(cluster.time_s, act.entry.move, status, text)
            journal.write(answer)
            memory = after(memory, answer)
