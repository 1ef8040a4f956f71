"""A live cluster → the plan of its rolling restart, and the same as a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.files.fields import expected_name
from trimtab.lab.restarts.orders import Timing
from trimtab.live.apply.files import read_ours, write_ours
from trimtab.live.apply.restart_order import RestartPlan, restart_plan
from trimtab.live.apply.rollout.pause import KEY
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.control.rollout.plan import RolloutPlan, read_rollout, rollout_text
from trimtab.live.gather.access import GatherError

#: Which of the foretold orders is taken hardly depends on these.
_DOWN_S, _EVERY_S, _SEEDS = 60.0, 300.0, 3


@dataclass(frozen=True, slots=True)
class RolloutWish:
    """What is wanted of a rolling restart; fields as in its plan."""

    #: Empty: the order that is foretold to be best.
    order: tuple[str, ...]
    give_back: str
    bar_percent: float
    every_s: float
    warm_s: float
    back_s: float


@dataclass(frozen=True, slots=True)
class RolloutMade:
    """A plan, and what is foretold of its order; None if that was given, or nothing can be."""

    plan: RolloutPlan
    forecast: RestartPlan | None


def rollout_made(cluster: ConnectedCluster, wish: RolloutWish) -> RolloutMade:
    """Return a plan by a wish.

    Raises:
        GatherError: a broker is not there, or named twice, or does not answer.
    """
    made_s, forecast = time.time(), None
    if wish.order:
        brokers, rule = _checked(wish.order, cluster.admin.brokers()), "as it was asked for"
    else:
        forecast, why = _foretold(cluster)
        if forecast is None:
            leader = cluster.admin.leader()
            brokers = tuple(
                sorted(cluster.admin.brokers(), key=lambda each: (each == leader, each))
            )
            rule = f"by name, the leader last, since nothing can be foretold: {why}"
        else:
            best = forecast.orders[0]
            brokers, rule = best.brokers, f"{best.rule}, the leader last"
    plan = RolloutPlan(
        cluster=cluster.admin.cluster,
        made_s=made_s,
        brokers=brokers,
        rule=rule,
        give_back=wish.give_back,
        bar_percent=wish.bar_percent,
        every_s=wish.every_s,
        warm_s=wish.warm_s,
        back_s=wish.back_s,
    )
    return RolloutMade(plan, forecast)


def rollout_of(path: Path) -> RolloutPlan:
    """Return the plan of a file.

    Raises:
        PlanError: it cannot be read, or is none.
    """
    return read_ours(path, read_rollout)


def write_rollout(path: Path, plan: RolloutPlan) -> None:
    """Write a plan, for its owner alone to read.

    Raises:
        PlanError: it cannot be written.
    """
    write_ours(path, rollout_text(plan))


def turns_until(plan: RolloutPlan, until: str | None) -> int:
    """Return how many brokers are to be restarted.

    Raises:
        GatherError: the last of them is not in the plan.
    """
    if until is None:
        return len(plan.brokers)
    if until not in plan.brokers:
        raise GatherError(f"--until: found {until}, expected {expected_name(until, plan.brokers)}")
    return plan.brokers.index(until) + 1


def _checked(order: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    for number, broker in enumerate(order):
        if broker not in there:
            raise GatherError(f"--order: found {broker}, expected {expected_name(broker, there)}")
        if broker in order[:number]:
            raise GatherError(f"--order: found {broker} twice, expected it once")
    return tuple(order)


def _foretold(cluster: ConnectedCluster) -> tuple[RestartPlan | None, str]:
    """Return the forecast of a restart while nobody sheds; None and why if there is none."""
    try:
        return restart_plan(cluster, Timing(_DOWN_S, _EVERY_S), _SEEDS, {KEY: "false"}), ""
    except GatherError as error:
        return None, str(error)
