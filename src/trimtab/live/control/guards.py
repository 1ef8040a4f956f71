"""What keeps a bundle from being unloaded now: each guard is a function with one question.

They are asked in order before each unload, and the first that objects decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from trimtab.live.control.memory import Memory, Phase
from trimtab.live.control.plan import Interval, Plan, PlannedMove
from trimtab.live.control.view import BrokerView, View

_HOUR_S = 3600.0
#: Of a run that is to end, by whichever way there is.
ASKED_TO_STOP = "asked to stop: by Ctrl-C, by a signal, or by the stop node or file, if it is there"
#: By which the clocks of two machines may differ.
_CLOCKS_APART_S = 300.0
_SEE_BROKER = "see whether it is up, then plan again"
_SEE_REPORTS = "see whether it is up and writes load reports"
#: Said while it cannot be read whether Pulsar's own shedding is on.
SHEDDING_UNKNOWN = (
    "loadBalancerSheddingEnabled cannot be read, so Pulsar may move bundles, too: see whether the "
    "leader answers, and whether the role may read its configuration"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The run has to stop."""

    why: str


@dataclass(frozen=True, slots=True)
class Hold:
    """It may become right; look again, or give up after a while."""

    why: str


@dataclass(frozen=True, slots=True)
class Pace:
    """It becomes right by itself, with time."""

    why: str
    #: s, until it does.
    left_s: float


@dataclass(frozen=True, slots=True)
class Needless:
    """The move needs not be made."""

    why: str


Objection: TypeAlias = Refusal | Hold | Pace | Needless


def objection(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Return what keeps the current move from being made; None if nothing does.

    Properties:
        A view in which less can be seen never turns an objection into none.
    """
    for guard in GUARDS:
        obstacle = guard(plan, view, memory)
        if obstacle is not None:
            return obstacle
    return None


def killed(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Has somebody asked for an end?"""
    return Refusal(ASKED_TO_STOP) if view.is_killed else None


def outdated(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Is the plan too old?"""
    age_s = view.time_s - plan.made_s
    if age_s < -_CLOCKS_APART_S:
        return Refusal(
            f"the plan was made {-age_s:.0f} s after now by this clock: a clock is wrong, so how "
            "old the plan is cannot be known; check the clocks, and plan again"
        )
    if age_s <= plan.limits.plan_age_max_s:
        return None
    return Refusal(
        f"the plan is too old: it was made from loads of {age_s:.0f} s ago, more than "
        f"plan_age_max_s {plan.limits.plan_age_max_s:g}; plan again"
    )


def tried_enough(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Was the bundle unloaded as often as it may be?"""
    move = plan.moves[memory.move]
    if memory.attempts < plan.limits.attempts:
        return None
    return Refusal(
        f"{move.bundle} did not arrive at {move.destination} in {memory.attempts} attempts; "
        f"{memory.holder} serves it: see in the leader's log why, then plan again"
    )


def shedding(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Does Pulsar's own shedding move bundles meanwhile?"""
    if plan.shedding_may_run_because or view.is_shedding is False:
        return None
    if view.is_shedding is None:
        return Hold(SHEDDING_UNKNOWN)
    return Refusal(
        "Pulsar's own shedding is on, and would move bundles at the same time: set "
        "loadBalancerSheddingEnabled=false, or plan with --shedding-may-run-because and a reason"
    )


def existence(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Is there such a bundle still?"""
    bundle = plan.moves[memory.move].bundle
    if bundle not in view.replacements:
        return None
    if halves := view.replacements[bundle]:
        return Needless(f"{bundle} was split into {' and '.join(halves)}: plan again to move these")
    return Needless(
        f"{bundle} no longer exists: its namespace was deleted, so there is nothing to move"
    )


def owner(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Is the bundle where the plan takes it from?"""
    move = plan.moves[memory.move]
    holder = memory.holder or move.source
    if move.bundle not in view.owners:
        return Hold(owner_unknown(move.bundle))
    obstacle = view.owners[move.bundle]
    if obstacle == move.destination:
        return Needless(f"{move.bundle} is at {move.destination} already: nothing to move")
    if obstacle is None:
        return Hold(
            f"{move.bundle} has no owner, so clients cannot use its topics: carrying the plan out "
            "looks it up first, upon which it gets one"
        )
    if obstacle != holder:
        return Refusal(
            f"{move.bundle} is at {obstacle}, not at {holder}: it was moved since, not by this "
            "run; plan again"
        )
    return None


def destination(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """May the destination take it?"""
    move, limits = plan.moves[memory.move], plan.limits
    broker = view.brokers.get(move.destination)
    if broker is None or not broker.is_answering:
        return Refusal(
            f"{move.destination} does not answer, so nothing is moved there: {_SEE_BROKER}"
        )
    if broker.is_draining:
        return Refusal(
            f"{move.destination} is being emptied by a drain, so it takes nothing: plan again, "
            "without it"
        )
    if view.time_s - broker.started_s < limits.broker_age_min_s:
        return Hold(
            f"{move.destination} started less than {limits.broker_age_min_s:g} s ago, so its "
            "usage is not yet what it will be"
        )
    stale = _stale(plan, view, move.destination, broker)
    if stale is not None:
        return stale
    if broker.usage_percent > limits.bar_percent:
        return Refusal(
            f"{move.destination} is at {broker.usage_percent:.1f} % usage, above bar_percent "
            f"{limits.bar_percent:g}, so it takes nothing more; plan again"
        )
    return _beyond(move.destination, broker, move.before.destination)


def source(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Does the source still stand as planned?"""
    move = plan.moves[memory.move]
    if memory.attempts or move.before.source is None:
        # Where it went astray nothing was planned.
        return None
    broker = view.brokers.get(move.source)
    if broker is None or not broker.is_answering:
        return Refusal(f"{move.source} does not answer: {_SEE_BROKER}")
    return _stale(plan, view, move.source, broker) or _beyond(
        move.source, broker, move.before.source
    )


def grace(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Was the bundle moved only just?"""
    move = plan.moves[memory.move]
    if memory.attempts:
        return None
    last_s = max((s for s, bundle in memory.unloads if bundle == move.bundle), default=-math.inf)
    # Whoever moved it may have been killed meanwhile: then the unload may still run.
    rest_s = max(plan.limits.grace_s, plan.limits.in_flight_s)
    if view.time_s - last_s >= rest_s:
        return None
    ago_s = view.time_s - last_s
    return Pace(
        f"{move.bundle} was moved {ago_s:.0f} s ago, and may not be moved again yet", rest_s - ago_s
    )


def pace(plan: Plan, view: View, memory: Memory) -> Objection | None:
    """Were as many bundles moved as may be?"""
    limits = plan.limits
    traffic = {move.bundle: move.traffic_bytes_s for move in plan.moves}
    another = plan.moves[memory.move].traffic_bytes_s
    in_round = _since(memory, view.time_s - limits.round_s)
    in_hour = _since(memory, view.time_s - _HOUR_S)
    moved = sum(traffic.get(bundle, 0.0) for bundle in in_hour)
    if len(in_round) >= limits.moves_per_round:
        left_s = _over_s(memory, in_round, limits.round_s) - view.time_s
        words = f"{len(in_round)} moves were made within {limits.round_s:g} s"
        return Pace(f"{words}; moves_per_round allows no more", left_s)
    left_s = _over_s(memory, in_hour, _HOUR_S) - view.time_s
    if len(in_hour) >= limits.moves_per_hour:
        words = f"{len(in_hour)} moves were made within an hour"
        return Pace(f"{words}; moves_per_hour allows no more", left_s)
    if in_hour and moved + another > limits.traffic_per_hour_bytes_s:
        words = f"bundles of {moved:g} bytes/s were moved within an hour"
        return Pace(f"{words}; with this one it is above traffic_per_hour_bytes_s", left_s)
    return None


#: In the order in which they are asked.
GUARDS: tuple[Callable[[Plan, View, Memory], Objection | None], ...] = (
    killed,
    outdated,
    existence,
    owner,
    tried_enough,
    shedding,
    destination,
    source,
    grace,
    pace,
)


def owner_unknown(bundle: str) -> str:
    """Return what is said while nobody tells who owns a bundle."""
    return f"the owner of {bundle} cannot be read, so it is not touched: see whether brokers answer"


def outside(usage_percent: float, expected: Interval | None) -> bool:
    """Return whether a usage is not as expected; one that is not known is not."""
    return expected is not None and not expected[0] <= usage_percent <= expected[1]


def _beyond(name: str, broker: BrokerView, expected: Interval | None) -> Objection | None:
    if expected is None or not outside(broker.usage_percent, expected):
        return None
    low, high = expected
    return Refusal(
        f"{name} is at {broker.usage_percent:.1f} % usage, and the plan was made for {low:g} to "
        f"{high:g} %: the load has changed, plan again"
    )


def _stale(plan: Plan, view: View, name: str, broker: BrokerView) -> Objection | None:
    age_s = view.time_s - broker.measured_s
    if age_s <= plan.limits.report_age_max_s and not math.isnan(broker.usage_percent):
        return None
    if math.isnan(broker.usage_percent):
        return Hold(
            f"{name} reports no usage, so whether it is overloaded is not known: {_SEE_REPORTS}"
        )
    return Hold(
        f"{name} last reported its usage {age_s:.0f} s ago, so what it is now is not known: "
        f"{_SEE_REPORTS}"
    )


def _over_s(memory: Memory, unloads: Collection[str], within_s: float) -> float:
    """Return when the first of the last so many unloads counts no more, s since 1970."""
    last = sorted(s for s, _ in memory.unloads)[-len(unloads) :] if unloads else []
    return last[0] + within_s if last else -math.inf


def _since(memory: Memory, time_s: float) -> list[str]:
    return [bundle for s, bundle in memory.unloads if s > time_s]


@dataclass(frozen=True, slots=True)
class MoveStatus:
    """One move, and what each guard says of it."""

    move: PlannedMove
    #: It was made already, or is under way: its guards were not asked.
    is_begun: bool
    #: Guards that object, by name, in the order in which they are asked.
    objections: tuple[tuple[str, Objection], ...]

    @property
    def may_go(self) -> bool:
        """Return whether nothing stands against it, or it needs not be made."""
        return all(isinstance(first, Needless) for _, first in self.objections[:1])


def standings(plan: Plan, view: View, memory: Memory) -> tuple[MoveStatus, ...]:
    """Return what every guard says of every move that was not begun.

    Properties:
        Each move is asked about as if its turn were now; what the moves before it will
        have done is not foreseen.
    """
    statuses = []
    for number, move in enumerate(plan.moves):
        is_begun = number < memory.move or (
            number == memory.move and (memory.phase is not Phase.READY or memory.attempts > 0)
        )
        at = replace(memory, move=number, phase=Phase.READY, attempts=0, holder=None)
        answers = [] if is_begun else [(guard.__name__, guard(plan, view, at)) for guard in GUARDS]
        objections = tuple((name, each) for name, each in answers if each is not None)
        statuses.append(MoveStatus(move, is_begun, objections))
    return tuple(statuses)
