"""What a rolling restart remembers: a fold over its journal, so that a crash forgets nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from trimtab.live.control.entries import Begun, Done, Stopped
from trimtab.live.control.rollout import entries
from trimtab.live.control.rollout.entries import OfBroker, RolloutEntry

#: Bundles that a broker may still have when it is handed over: they go when it stops.
LEFT_MAX = 2
#: A broker is tried to be emptied, or filled again, so often in one run.
_TRIES_MAX = 3


class Phase(StrEnum):
    """How far the current broker is."""

    #: Nothing of it was done for good.
    FULL = "full"
    #: It has no bundles, and may be handed over.
    EMPTIED = "emptied"
    #: It was handed over.
    AWAY = "away"
    #: Another process of it serves.
    BACK = "back"


@dataclass(frozen=True, slots=True)
class RolloutMemory:
    """Where a rolling restart stands."""

    #: Number of the current broker; the number of brokers once all are done.
    turn: int = 0
    phase: Phase = Phase.FULL
    #: In this run, of the phase.
    tries: int = 0
    #: When it was handed over; None as long as it was not.
    handed: entries.Handed | None = None
    #: What the command ended with; None as long as it was not seen to end.
    hook_status: int | None = None
    #: Why the run is to stop; empty as long as it may go on.
    trouble: str = ""
    #: When the last entry was written, s.
    last_s: float = 0.0
    #: Why the run ended; None while it has not.
    ended: str | None = None


def remembered(journal: Iterable[RolloutEntry]) -> RolloutMemory:
    """Return what a journal comes to."""
    memory = RolloutMemory()
    for entry in journal:
        memory = after(memory, entry)
    return memory


def after(memory: RolloutMemory, entry: RolloutEntry) -> RolloutMemory:
    """Return a memory with one entry more.

    Properties:
        Whoever was handed over is not handed over again, unless somebody says so.
        A run that is taken up empties a broker again that was emptied and not handed over.
    """
    memory = replace(memory, last_s=entry.time_s)
    match entry:
        case Begun():
            phase = Phase.FULL if memory.phase is Phase.EMPTIED else memory.phase
            return replace(memory, phase=phase, tries=0, trouble="", ended=None)
        case entries.Paused() | entries.PutBack():
            return memory
        case Stopped():
            return replace(memory, ended=entry.why)
        case Done():
            return replace(memory, ended="")
        case _:
            return _after(memory, entry)


def _after(memory: RolloutMemory, entry: OfBroker) -> RolloutMemory:
    match entry:
        case entries.Emptying():
            return memory
        case entries.Emptied(left=left):
            if left > LEFT_MAX:
                why = f"{entry.broker} owns {left} bundles again that came while it was emptied"
                return _hindered(memory, why)
            return replace(memory, phase=Phase.EMPTIED, tries=0)
        case entries.Hindered(why=why):
            return _hindered(memory, why)
        case entries.Handed():
            return replace(memory, phase=Phase.AWAY, handed=entry, hook_status=None)
        case entries.HookEnded(status=status):
            return replace(memory, hook_status=status)
        case entries.Again():
            return replace(memory, phase=Phase.FULL, tries=0, handed=None, hook_status=None)
        case entries.Back():
            return replace(memory, phase=Phase.BACK, tries=0)
        case entries.Filled():
            return RolloutMemory(turn=memory.turn + 1, last_s=entry.time_s)


def _hindered(memory: RolloutMemory, why: str) -> RolloutMemory:
    tries = memory.tries + 1
    return replace(memory, tries=tries, trouble=why if tries >= _TRIES_MAX else "")
