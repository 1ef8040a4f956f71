"""A live cluster → what a rolling restart sees of it."""

from __future__ import annotations

from trimtab.live.apply.live import LiveCluster, each_of
from trimtab.live.apply.usage import usage_percent
from trimtab.live.control.rollout.memory import Phase, RolloutMemory
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.control.rollout.step import BrokerHealth, RolloutView
from trimtab.live.gather.calls import CallError

#: The current broker alone matters then.
_ALONE = {Phase.AWAY, Phase.BACK}


def rollout_view(
    live: LiveCluster, plan: RolloutPlan, memory: RolloutMemory, turns: int
) -> RolloutView:
    """Return what is so now; what cannot be read is left out, and nothing is raised.

    While a broker is away, or has just come back, it alone is looked at; before one is emptied
    or handed over all are.
    """
    time_s = live.time_s
    if loss := live.post.loss:
        return RolloutView(time_s, {}, None, is_lock_ours=False, lock_loss=loss)
    try:
        names = set(live.admin.brokers())
    except CallError:
        names = set()
    if memory.turn >= turns:
        names = set()
    elif memory.phase in _ALONE:
        names &= {plan.brokers[memory.turn]}
    return RolloutView(
        time_s=time_s,
        brokers=each_of(sorted(names), lambda name: _health(live, name)),
        is_shedding=live.is_shedding(),
        is_lock_ours=live.post.is_ours,
        is_killed=live.is_over.is_set() or live.post.is_stopped,
    )


def _health(live: LiveCluster, broker: str) -> BrokerHealth:
    """Return how a broker is: it answers, has told its load, and serves a topic of its own."""
    try:
        usage = usage_percent(live.admin, broker, {})
    except CallError:
        return BrokerHealth(is_answering=False, started_s=0.0)
    trouble = ""
    if usage.published_s < usage.started_s:
        trouble = "it has not told its load yet"
    return BrokerHealth(
        is_answering=True,
        started_s=usage.started_s,
        trouble=trouble or live.admin.ill(broker),
    )
