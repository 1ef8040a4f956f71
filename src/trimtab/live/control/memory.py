"""What a run remembers: a fold over its journal, so that a crash forgets nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from trimtab.live.control import entries


class Phase(StrEnum):
    """How far the current move is."""

    #: Nothing was asked yet, or the bundle went astray and may be asked for again.
    READY = "ready"
    #: The unload was asked for; where the bundle is has to be seen.
    ASKED = "asked"
    #: It is where it should be; what that does has to be seen.
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a run stands."""

    #: Number of the current move; the number of moves once all are done.
    move: int = 0
    phase: Phase = Phase.READY
    #: Unloads asked for of the current move.
    attempts: int = 0
    #: Owner of the bundle before it was asked for, or where it went astray; None at first.
    holder: str | None = None
    #: When it was asked for, s.
    asked_s: float = 0.0
    #: What came of the call; None if nothing is known.
    answer: entries.Answered | None = None
    #: When it was last looked up, s.
    looked_up_s: float = float("-inf")
    #: Since when it is looked up, s; infinite while it is not.
    sought_s: float = float("inf")
    #: When it was seen at its destination, s.
    verified_s: float = 0.0
    #: When each unload was asked for, s, and its bundle; of the whole run.
    unloads: tuple[tuple[float, str], ...] = ()
    #: What was not as expected of the last move.
    surprise: str = ""
    #: When the last entry was written, s.
    last_s: float = 0.0
    #: Why the run ended; None while it has not.
    ended: str | None = None


def remembered(
    journal: Iterable[entries.Entry],
    unloads: Iterable[tuple[float, str]] = (),
    now_s: float = math.inf,
    times: Mapping[tuple[float, str], float] | None = None,
) -> Memory:
    """Return what a journal comes to.

    Args:
        journal: in order.
        unloads: all of late in the cluster, by whichever run; those of the journal itself may
            be among them.
        now_s: what was written later than this was written by a clock that has been set back
            since; it counts as written now, so that every rest is kept and none lasts longer.
        times: unload → when it was by the clock as it stands now, s, where that is known: a
            clock that has been set since neither cuts a rest short nor makes it longer.
    """
    own_entries, known = tuple(journal), times or {}
    own = {(each.time_s, each.bundle) for each in own_entries if isinstance(each, entries.Asked)}
    others = tuple(
        (min(known.get((s, name), s), now_s), name) for s, name in unloads if (s, name) not in own
    )
    memory = Memory(unloads=others)
    for entry in own_entries:
        time_s = entry.time_s
        if isinstance(entry, entries.Asked):
            time_s = known.get((time_s, entry.bundle), time_s)
        memory = after(memory, replace(entry, time_s=min(time_s, now_s)))
    return memory


def after(memory: Memory, entry: entries.Entry) -> Memory:
    """Return a memory with one entry more.

    A run that stopped and begins again goes on with the move at which it stopped.
    """
    memory = replace(memory, last_s=entry.time_s)
    match entry:
        case entries.Begun():
            return _taken_up(replace(memory, ended=None, surprise=""), entry.time_s)
        case entries.Asked():
            return replace(
                memory,
                phase=Phase.ASKED,
                attempts=memory.attempts + 1,
                holder=entry.source,
                asked_s=entry.time_s,
                answer=None,
                unloads=(*memory.unloads, (entry.time_s, entry.bundle)),
            )
        case entries.Answered():
            return replace(memory, answer=entry)
        case entries.LookedUp():
            sought_s = min(memory.sought_s, entry.time_s)
            return replace(memory, looked_up_s=entry.time_s, sought_s=sought_s)
        case entries.Verified():
            return replace(memory, phase=Phase.MOVED, verified_s=entry.time_s)
        case entries.Astray():
            return replace(
                memory, phase=Phase.READY, holder=entry.owner, answer=None, sought_s=float("inf")
            )
        case entries.Skipped() | entries.Effect():
            surprise = entry.surprise if isinstance(entry, entries.Effect) else ""
            return replace(_next(memory), surprise=surprise)
        case entries.Stopped():
            return replace(memory, ended=entry.why)
        case entries.Done():
            return replace(memory, ended="")


def _next(memory: Memory) -> Memory:
    """Return a memory that is at the next move."""
    return replace(
        memory,
        move=memory.move + 1,
        phase=Phase.READY,
        attempts=0,
        holder=None,
        answer=None,
        # There is an owner, so none is sought.
        looked_up_s=float("-inf"),
        sought_s=float("inf"),
    )


def _taken_up(memory: Memory, time_s: float) -> Memory:
    """Return a memory that begins again: what was refused did nothing, so it may be repeated.

    What had no answer may still run, for as long from now on: a clock may have been set since.
    """
    memory = replace(memory, sought_s=float("inf"))
    status = memory.answer.status if memory.answer else entries.UNKNOWN
    if memory.phase is Phase.ASKED and status == entries.UNKNOWN:
        return replace(memory, asked_s=time_s)
    if status != entries.REFUSED:
        return memory
    return replace(
        memory,
        phase=Phase.READY,
        attempts=memory.attempts - 1,
        answer=None,
        unloads=memory.unloads[:-1],
    )
