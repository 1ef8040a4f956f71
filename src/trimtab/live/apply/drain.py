"""What is emptied of a live cluster, who takes it, and the plan to bring it back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from trimtab.files.errors import TrimtabError
from trimtab.live.apply.live import each_of, owners_of
from trimtab.live.apply.policies import grouped, isolation
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.apply.usage import usage_percent
from trimtab.live.control.drain import BrokerState, Frame, bringing_back, emptying_limits, levelling
from trimtab.live.control.headroom import outlooks, refusal, remedies
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan
from trimtab.live.gather.access import GatherError
from trimtab.pulsar.bundles import is_system_bundle, namespace


class HeadroomError(TrimtabError):
    """There is no room for a whole plan, so it is not begun; says what would make some."""


@dataclass(frozen=True, slots=True)
class Drain:
    """What is to be emptied or filled again, and how."""

    broker: str
    #: Who may take its bundles; empty: everybody else.
    takers: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    shedding_may_run_because: str = ""
    #: It takes its bundles back.
    is_return: bool = False


def drain_limits(bar_percent: float, every_s: float) -> Limits:
    """Return the limits of emptying a broker whose takers have long been up."""
    return emptying_limits(bar_percent, every_s, Limits().broker_age_min_s)


def return_plan(cluster: ConnectedCluster, drain: Drain, emptied: Plan) -> Plan:
    """Return a plan to bring back what a plan has taken.

    Raises:
        GatherError: the plan did not empty that broker, or the broker is not there.
        HeadroomError: it would stand above the bar in the end.
    """
    if any(move.source != drain.broker for move in emptied.moves):
        sources = ", ".join(sorted({move.source for move in emptied.moves}))
        raise GatherError(
            f"--return: found a plan that empties {sources}, not {drain.broker}; expected the one "
            f"by which {drain.broker} was emptied"
        )
    made_s = time.time()
    there = cluster.admin.brokers()
    _require_there(drain.broker, there)
    owned = each_of(there, cluster.admin.owned_or_none)
    owners = owners_of([move.bundle for move in emptied.moves], owned)
    frame = frame_of(cluster, drain, made_s)
    plan = bringing_back(drain.broker, emptied, owners, frame)
    involved = sorted({drain.broker, *(move.source for move in plan.moves)})
    then = outlooks(plan.moves, each_of(involved, lambda name: state_of(cluster, name)))
    if why := refusal(then, frame.limits.bar_percent):
        ways = remedies(then, frame.limits.bar_percent)
        raise headroom_error(f"{drain.broker} cannot take all back", why, ways)
    return plan


def level_return(cluster: ConnectedCluster, drain: Drain) -> Plan:
    """Return a plan to fill a broker that is empty until it is level with the others.

    What its policies keep away, or in an anti-affinity group, stays where it is.

    Raises:
        GatherError: a broker does not answer.
    """
    made_s, admin = time.time(), cluster.admin
    states = each_of(admin.brokers(), lambda name: state_of(cluster, name))
    bundles = sorted({bundle for state in states.values() for bundle in state.bundles})
    policies, groups = isolation(admin, bundles, [drain.broker]), grouped(admin, bundles)
    is_allowed = policies.allowed[policies.kind, 0].tolist() if bundles else []
    may_go = {
        bundle
        for bundle, is_so in zip(bundles, is_allowed, strict=True)
        if is_so and not policies.note and namespace(bundle) not in groups
    }
    return levelling(drain.broker, states, may_go, frame_of(cluster, drain, made_s))


def headroom_error(what: str, why: str, ways: Sequence[str]) -> HeadroomError:
    """Return the error of a plan that is not begun, with what would let it be."""
    possible = f"; possible with {', or with '.join(ways)}" if ways else ""
    return HeadroomError(f"{what}: {why}{possible}")


def left_on(cluster: ConnectedCluster, broker: str) -> frozenset[str]:
    """Return the bundles that a broker still owns, but for its own.

    Raises:
        GatherError: it does not answer.
    """
    owned, release = cluster.admin.owned(broker), cluster.admin.release
    return frozenset(each for each in owned if not is_system_bundle(each, release))


def state_of(cluster: ConnectedCluster, broker: str) -> BrokerState:
    """Return a broker with what it owns, but for its own two bundles.

    Raises:
        GatherError: it does not answer.
    """
    usage = usage_percent(cluster.admin, broker, cluster.admin.settings())
    owned = left_on(cluster, broker)
    return BrokerState(
        usage.percent, {each: usage.bundles.get(each, 0.0) for each in sorted(owned)}
    )


def takers_of(cluster: ConnectedCluster, drain: Drain) -> Sequence[str]:
    """Return who takes the bundles.

    Raises:
        GatherError: one that is named is not there, or nobody is.
    """
    there = cluster.admin.brokers()
    for name in (drain.broker, *drain.takers):
        _require_there(name, there)
    if drain.broker in drain.takers:
        raise GatherError(f"--to: found {drain.broker}, which is to be emptied, expected another")
    others = [each for each in there if each != drain.broker]
    takers = drain.takers or [each for each in others if each not in cluster.lock_state.draining]
    if not takers:
        raise GatherError(
            f"nobody can take the bundles of {drain.broker}: found no other broker that is not "
            "being emptied itself; add one, or fill one that was emptied by --return first"
        )
    return list(dict.fromkeys(takers))


def _require_there(name: str, registered: tuple[str, ...]) -> None:
    if name not in registered:
        there = ", ".join(registered) or "none"
        raise GatherError(f"found no broker {name}, expected one of {there}")


def frame_of(cluster: ConnectedCluster, drain: Drain, made_s: float) -> Frame:
    """Return what a plan says besides its moves."""
    because = drain.shedding_may_run_because
    return Frame(cluster.admin.cluster, made_s, drain.limits, because)
