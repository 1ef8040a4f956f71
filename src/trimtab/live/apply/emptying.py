"""A plan to empty a broker of a live cluster, by what is known of costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from trimtab.lab.costs import Knowledge
from trimtab.lab.planning.columns import learned_cpu
from trimtab.lab.planning.snapshot import is_learned
from trimtab.live.apply.drain import Drain, frame_of, headroom_error, state_of, takers_of
from trimtab.live.apply.live import each_of
from trimtab.live.apply.present import known_now, present
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.control.drain import BrokerState, emptying
from trimtab.live.control.headroom import outlooks, refusal, remedies, spares_needed
from trimtab.live.control.plan import Plan


def drain_plan(cluster: ConnectedCluster, drain: Drain, known: Knowledge | None = None) -> Plan:
    """Return a plan to empty a broker.

    Args:
        cluster: that answers.
        drain: what is to be emptied.
        known: what was learned of costs; without it, or if it does not tell what a move does,
            bundles are taken to cost their share of the traffic.

    Raises:
        GatherError: the broker, or one that is to take, is not there, or does not answer.
        HeadroomError: somebody would stand above the bar in the end.
    """
    made_s = time.time()
    takers = takers_of(cluster, drain)
    states = each_of([drain.broker, *takers], lambda name: state_of(cluster, name))
    if known is not None and is_learned(known):
        states = _costed(states, cluster, known)
    frame = frame_of(cluster, drain, made_s)
    plan = emptying(drain.broker, states, takers, frame)
    then = outlooks(plan.moves, states)
    if why := refusal(then, frame.limits.bar_percent):
        ways = list(remedies(then, frame.limits.bar_percent))
        count = spares_needed(drain.broker, states, takers, frame)
        if count is not None:
            brokers = "1 more broker" if count == 1 else f"{count} more brokers"
            ways.append(f"{brokers} as idle as the least busy one")
        raise headroom_error(f"{drain.broker} cannot be emptied", why, ways)
    return plan


def _costed(
    states: Mapping[str, BrokerState], cluster: ConnectedCluster, known: Knowledge
) -> dict[str, BrokerState]:
    """Return brokers with what their bundles take of them."""
    now = present(cluster)
    brokers, bundles = now.snapshot.brokers, now.snapshot.bundles
    cpu = learned_cpu(known_now(known, now)).part(len(brokers), len(bundles))
    speed = dict(zip(brokers, cpu.speed.tolist(), strict=True))
    cost = dict(zip(bundles, cpu.cost.tolist(), strict=True))
    return {
        name: replace(
            state,
            points={
                bundle: cost.get(bundle, 0.0) * speed.get(name, 1.0) for bundle in state.bundles
            },
            speed=speed.get(name, 1.0),
        )
        for name, state in states.items()
    }
