"""A plan of a restart, what is seen and what is remembered → the one next act."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.live.control.guards import ASKED_TO_STOP, SHEDDING_UNKNOWN
from trimtab.live.control.rollout.entries import Back, Handed, HookEnded, RolloutEntry
from trimtab.live.control.rollout.memory import Phase, RolloutMemory
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.control.step import End, Wait
from trimtab.live.control.view import TAKEN

_ONE_LESS = "another broker less is one too many, so none is emptied: see whether it is up"
#: By which two readings of one beginning may differ, s.
_SAME_S = 0.5


@dataclass(frozen=True, slots=True)
class BrokerHealth:
    """One broker that is registered, as seen from outside."""

    #: It answers itself: one that was killed stays registered for a while.
    is_answering: bool
    #: When its process began, s since 1970, as it says itself.
    started_s: float
    #: Why it should not be relied on; empty if nothing speaks against it.
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RolloutView:
    """What is seen at one time; times are seconds since 1970."""

    time_s: float
    #: Broker id → how it is, of those that are registered.
    brokers: Mapping[str, BrokerHealth]
    #: Pulsar's own shedding is on; None if that could not be read.
    is_shedding: bool | None
    is_lock_ours: bool
    #: Somebody has asked for an end.
    is_killed: bool = False
    #: What the command of this run ended with; None as long as it runs, or there is none.
    hook_status: int | None = None
    is_hook_running: bool = False
    #: Why the lock is not ours any more, or may not be; for a person.
    lock_loss: str = TAKEN


@dataclass(frozen=True, slots=True)
class Note:
    """Write an entry into the journal."""

    entry: RolloutEntry


@dataclass(frozen=True, slots=True)
class SwitchOff:
    """Note how Pulsar's own shedding stands, and only then switch it off."""


@dataclass(frozen=True, slots=True)
class Empty:
    """Move the bundles of a broker away."""

    broker: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """Write the entry, and only then hand the broker over to be restarted."""

    entry: Handed


@dataclass(frozen=True, slots=True)
class Fill:
    """Bring bundles back to a broker, as far as the plan has it."""

    broker: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Put shedding back: all that was asked for is done, or the run has to stop."""

    #: Why before that; empty if it is done.
    why: str = ""


Act: TypeAlias = Note | SwitchOff | Empty | HandOver | Fill | Finish | Wait | End


def step(plan: RolloutPlan, turns: int, view: RolloutView, memory: RolloutMemory) -> Act:
    """Return the next act.

    Args:
        plan: of the restart.
        turns: so many brokers of it are to be restarted.
        view: of now.
        memory: of the journal.

    Properties:
        A broker is handed over once, and only while every other one that is registered or in
        the plan answers and is healthy.
        A broker counts as restarted only if another process of it serves.
        Nothing is moved or handed over while Pulsar's own shedding is on.
    """
    if memory.ended is not None:
        return End(memory.ended)
    if why := _stop(view, memory):
        return Finish(why)
    if memory.turn >= turns:
        return Finish()
    if memory.phase is Phase.AWAY:
        return _away(plan, plan.brokers[memory.turn], view, memory)
    if view.is_shedding is None:
        return _wait(plan, view, memory, SHEDDING_UNKNOWN)
    return SwitchOff() if view.is_shedding else _here(plan, turns, view, memory)


def _stop(view: RolloutView, memory: RolloutMemory) -> str:
    """Return why the run has to stop; empty if it need not."""
    if not view.is_lock_ours:
        return view.lock_loss
    return ASKED_TO_STOP if view.is_killed else memory.trouble


def _here(plan: RolloutPlan, turns: int, view: RolloutView, memory: RolloutMemory) -> Act:
    """Return the act before a broker is handed over, or once it is back."""
    broker = plan.brokers[memory.turn]
    if memory.phase is Phase.BACK:
        is_filled = plan.fills(memory.turn, turns)
        return (_cold(plan, view, [broker]) if is_filled else None) or Fill(broker)
    if why := obstacle(plan, view):
        return _wait(plan, view, memory, why)
    if memory.phase is Phase.FULL:
        return _cold(plan, view, plan.brokers[: memory.turn]) or Empty(broker)
    return HandOver(Handed(view.time_s, broker, view.brokers[broker].started_s))


def _cold(plan: RolloutPlan, view: RolloutView, names: Iterable[str]) -> Wait | None:
    """Return a wait for some brokers to be warm: until then their usage says nothing."""
    young = [(view.brokers[name].started_s, name) for name in names if name in view.brokers]
    started_s, name = max(young, default=(-math.inf, ""))
    left_s = started_s + plan.warm_s - view.time_s
    if left_s <= 0:
        return None
    why = f"{name} began less than {plan.warm_s:g} s ago, so its usage is not yet what it will be"
    return Wait(why, left_s)


def _away(plan: RolloutPlan, broker: str, view: RolloutView, memory: RolloutMemory) -> Act:
    """Return the act while a broker is being restarted by somebody else."""
    assert memory.handed is not None
    if view.hook_status is not None and memory.hook_status is None:
        return Note(HookEnded(view.time_s, broker, view.hook_status))
    health = view.brokers.get(broker)
    is_new = _is_new(health, memory.handed)
    if health is not None and is_new and not health.trouble and not view.is_hook_running:
        return Note(Back(view.time_s, broker, health.started_s))
    if memory.hook_status and not is_new:
        return Finish(
            f"the command that was to restart {broker} ended with {memory.hook_status}, and no new "
            "process of it serves: restart it, and the same command goes on; or let it be handed "
            f"over again by --again {broker}"
        )
    if health is None:
        why = f"{broker} is not registered yet"
    elif not health.is_answering:
        why = f"{broker} does not answer"
    elif not is_new:
        why = (
            f"{broker} was handed over to be restarted, and its process is still the one of before"
        )
    else:
        why = f"{broker} is back: {health.trouble or 'the command has not ended yet'}"
    return _wait(plan, view, memory, why, f"; if it was not restarted: --again {broker}")


def _is_new(health: BrokerHealth | None, handed: Handed) -> bool:
    """Return whether another process of a broker serves; its clock may have been set back."""
    if health is None or not health.is_answering:
        return False
    return abs(health.started_s - handed.started_s) > _SAME_S


def obstacle(plan: RolloutPlan, view: RolloutView) -> str:
    """Return what keeps any broker from being emptied or handed over; empty if nothing does."""
    for name in plan.brokers:
        if name not in view.brokers:
            return f"{name} is not registered: {_ONE_LESS}"
    for name, health in sorted(view.brokers.items()):
        if not health.is_answering:
            return f"{name} does not answer: {_ONE_LESS}"
        if health.trouble:
            return f"{name} is not healthy: {health.trouble}"
    return ""


def _wait(
    plan: RolloutPlan, view: RolloutView, memory: RolloutMemory, why: str, advice: str = ""
) -> Act:
    """Return a wait, or an end if it has lasted too long."""
    left_s = plan.back_s - (view.time_s - memory.last_s)
    if left_s < 0:
        return Finish(f"{why}; it has stayed so for {plan.back_s:g} s{advice}")
    return Wait(why, left_s, is_last=True)
