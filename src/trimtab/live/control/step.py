"""A plan, what is seen and what is remembered → the one next act."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.live.control.entries import (
    ACCEPTED,
    REFUSED,
    Asked,
    Astray,
    Done,
    Effect,
    Entry,
    LookedUp,
    Skipped,
    Stopped,
    Verified,
)
from trimtab.live.control.guards import (
    ASKED_TO_STOP,
    Hold,
    Needless,
    Pace,
    Refusal,
    existence,
    objection,
    outside,
    owner_unknown,
)
from trimtab.live.control.memory import Memory, Phase
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.control.view import View


@dataclass(frozen=True, slots=True)
class Record:
    """Write an entry into the journal."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Unload:
    """Write the entry, and only then unload the bundle that it names; then write the answer."""

    entry: Asked


@dataclass(frozen=True, slots=True)
class LookUp:
    """Write the entry, and look the bundle up, upon which Pulsar gives it an owner."""

    entry: LookedUp
    bundle: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Look again in a little while."""

    why: str
    #: s, until it is over, or the run stops for it; infinite if that is not known.
    left_s: float = math.inf
    #: The run stops then.
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """There is nothing more to do."""

    #: Why before the plan was done; empty if it is.
    why: str


Act: TypeAlias = Record | Unload | LookUp | Wait | End


def step(plan: Plan, view: View, memory: Memory) -> Act:
    """Return the next act.

    Properties:
        A bundle is unloaded only if nothing of an earlier unload of it can still run.
        A bundle that was seen at its destination is not unloaded again.
        Nothing is unloaded, and nothing looked up, while somebody else holds the lock.
    """
    if memory.ended is not None:
        return End(memory.ended)
    if not view.is_lock_ours:
        return Record(Stopped(view.time_s, view.lock_loss))
    if memory.surprise:
        return Record(Stopped(view.time_s, memory.surprise))
    if memory.move >= len(plan.moves):
        return Record(Done(view.time_s))
    move = plan.moves[memory.move]
    match memory.phase:
        case Phase.READY:
            return _ready(plan, view, memory, move)
        case Phase.ASKED:
            return _after_request(plan, view, memory, move)
        case Phase.MOVED:
            return _moved(plan, view, memory, move)


def _ready(plan: Plan, view: View, memory: Memory, move: PlannedMove) -> Act:
    match objection(plan, view, memory):
        case None:
            holder = memory.holder or move.source
            return Unload(Asked(view.time_s, memory.move, move.bundle, holder, move.destination))
        case Needless(why):
            return Record(Skipped(view.time_s, memory.move, why))
        case Pace(why, left_s):
            return Wait(why, left_s)
        case Refusal(why):
            return Record(Stopped(view.time_s, why))
        case Hold(why):
            if move.bundle in view.owners and view.owners[move.bundle] is None:
                return _without_owner(plan, view, memory, move)
            return _wait(plan, view, memory, why)


def _after_request(plan: Plan, view: View, memory: Memory, move: PlannedMove) -> Act:
    """Return the act after an unload, by where the bundle is; a wait while it may still run."""
    if (gone := existence(plan, view, memory)) is not None:
        return Record(Skipped(view.time_s, memory.move, gone.why))
    if memory.answer is not None and memory.answer.status == REFUSED:
        return Record(Stopped(view.time_s, f"{move.bundle}: {memory.answer.text}"))
    if move.bundle not in view.owners:
        return _wait(plan, view, memory, owner_unknown(move.bundle))
    owner = view.owners[move.bundle]
    if owner == move.destination:
        return Record(Verified(view.time_s, memory.move))
    answer = memory.answer if memory.answer and memory.answer.status == ACCEPTED else None
    if owner is None and answer is not None:
        # It is closed, and the destination is meant until somebody looks it up: clients do
        # at once, but it may have none.  Of two look-ups at a time one would lose it.
        if view.time_s - answer.time_s < plan.limits.look_up_s:
            return Wait(f"{move.bundle} was unloaded; {move.destination} has not taken it yet")
        return _without_owner(plan, view, memory, move)
    within_s = plan.limits.verify_s if answer is not None else plan.limits.in_flight_s
    if view.time_s - memory.asked_s < within_s:
        return Wait(f"the unload of {move.bundle} was called; it is not at its destination yet")
    if owner is None:
        return _without_owner(plan, view, memory, move)
    return Record(Astray(view.time_s, memory.move, owner))


def _moved(plan: Plan, view: View, memory: Memory, move: PlannedMove) -> Act:
    """Return the act once both brokers have measured the effect."""
    if view.is_killed:
        return Record(Stopped(view.time_s, ASKED_TO_STOP))
    brokers = [view.brokers.get(name) for name in (move.source, move.destination)]
    alive = [each if each is not None and each.is_answering else None for each in brokers]
    settled_s = memory.verified_s + plan.limits.settle_s
    if any(each is not None and each.measured_s < settled_s for each in alive):
        return _wait(
            plan, view, memory, f"{move.bundle} has arrived; usage after it is not reported yet"
        )
    source, destination = (each.usage_percent if each else float("nan") for each in alive)
    surprise = next(
        (
            f"{name} is at {usage:.1f} % usage after {move.bundle} was moved, expected "
            f"{expected[0]:g} to {expected[1]:g} %; the rest of the plan may be wrong: plan again"
            for name, usage, expected in (
                (move.source, source, move.after.source),
                (move.destination, destination, move.after.destination),
            )
            if expected is not None and outside(usage, expected)
        ),
        "",
    )
    return Record(Effect(view.time_s, memory.move, source, destination, surprise))


def _without_owner(plan: Plan, view: View, memory: Memory, move: PlannedMove) -> Act:
    """Return the act by which the bundle gets an owner: Pulsar gives it one at a lookup."""
    if view.time_s - memory.sought_s > plan.limits.wait_max_s:
        why = f"{move.bundle} has no owner, nor got one by lookups in {plan.limits.wait_max_s:g} s"
        see = f"its topics cannot be used: see the logs of the leader and of {move.destination}"
        return Record(Stopped(view.time_s, f"{why}; {see}"))
    if view.time_s - memory.looked_up_s >= plan.limits.verify_s:
        return LookUp(LookedUp(view.time_s, memory.move), move.bundle)
    return Wait(f"{move.bundle} has no owner yet; it was looked up, upon which it gets one")


def _wait(plan: Plan, view: View, memory: Memory, why: str) -> Act:
    """Return a wait, or a stop if it has lasted too long."""
    left_s = plan.limits.wait_max_s - (view.time_s - memory.last_s)
    if left_s < 0:
        waited = f"it has stayed so for {plan.limits.wait_max_s:g} s"
        return Record(Stopped(view.time_s, f"{why}; {waited}"))
    return Wait(why, left_s, is_last=True)
