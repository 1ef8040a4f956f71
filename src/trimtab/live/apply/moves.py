"""A live cluster → the few moves worth making."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.planning import Planned, Restraints, Snapshot, Wish, planned
from trimtab.lab.planning.columns import Column
from trimtab.lab.planning.snapshot import columns, is_learned
from trimtab.live.apply.policies import grouped, isolation
from trimtab.live.apply.present import Present, known_now, present
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.control.drain import Frame
from trimtab.live.control.level import level_plan
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan
from trimtab.live.gather.access import GatherError
from trimtab.pulsar.bundles import namespace

_UNKNOWN = (
    "nothing can be planned: no broker reports traffic of any of its bundles, so what a move would "
    "bring is not known; under the extensible load manager none ever does, else wait for traffic"
)
#: Points that are no gain at all.
_LEAST = 0.05


@dataclass(frozen=True, slots=True)
class Levelled:
    """A plan, what it goes out from, and what a reader should know."""

    plan: Plan
    planned: Planned
    snapshot: Snapshot
    is_learned: bool
    notes: tuple[str, ...]


def levelled(
    cluster: ConnectedCluster,
    wish: Wish,
    shedding: str,
    known: Knowledge | None = None,
    ahead: Callable[[Snapshot, tuple[Column, ...], Knowledge], tuple[Column, ...]] | None = None,
) -> Levelled:
    """Return a plan of the moves that bring the busiest brokers down.

    Args:
        cluster: that answers.
        wish: what is wanted of the plan.
        shedding: why Pulsar's own may stay on; empty: it may not.
        known: what was learned of costs; without it usage goes by the share of traffic.
        ahead: makes columns of the hours to come of those of now; None plans for now.

    Raises:
        GatherError: a broker does not answer, or none tells what its bundles carry.
    """
    limits = Limits()
    now = present(cluster)
    snapshot = now.snapshot
    if not snapshot.is_known:
        raise GatherError(_UNKNOWN)
    knows = is_learned(known)
    current = known_now(known, now)
    kinds = columns(snapshot, current if knows else None)
    if ahead is not None:
        kinds = ahead(snapshot, kinds, current)
    policies = isolation(cluster.admin, snapshot.bundles, snapshot.brokers)
    restraints = Restraints(
        takes=~now.is_draining,
        ceiling=np.full(len(snapshot.brokers), limits.bar_percent),
        is_movable=snapshot.traffic > 0,
        kind=policies.kind,
        allowed=policies.allowed,
    )
    notes = [*_notes(now, limits), *([policies.note] if policies.note else [])]
    plan = planned(kinds, snapshot.owner, restraints, wish)
    while kept := grouped(cluster.admin, map(snapshot.bundles.__getitem__, plan.moves.bundle)):
        notes.append(
            f"not moved, as their anti-affinity groups could break: {', '.join(sorted(kept))}"
        )
        is_kept = np.array([namespace(name) in kept for name in snapshot.bundles], np.bool_)
        restraints = replace(restraints, is_movable=restraints.is_movable & ~is_kept)
        plan = planned(kinds, snapshot.owner, restraints, wish)
    notes += _why_nothing(plan, snapshot)
    frame = Frame(cluster.admin.cluster, now.time_s, limits, shedding)
    return Levelled(level_plan(plan, snapshot, frame), plan, snapshot, knows, tuple(notes))


def _notes(now: Present, limits: Limits) -> Iterator[str]:
    """Yield what a reader should know of the brokers."""
    names = np.array(now.snapshot.brokers, object)
    young = now.time_s - now.started_s < limits.broker_age_min_s
    for which, words in (
        (now.is_draining, "takes nothing, it is being emptied"),
        (
            now.is_stale,
            "gives and takes nothing, its last load report is too old: see whether it is up",
        ),
        (
            young,
            f"started less than {limits.broker_age_min_s:.0f} s ago: its usage is not yet usual",
        ),
    ):
        if which.any():
            yield f"{', '.join(names[which])}: {words}"


def _why_nothing(plan: Planned, snapshot: Snapshot) -> Iterator[str]:
    """Yield what is highest and what the best move would bring, if none is worth making."""
    peaks, question = plan.frontier.peak, plan.question
    if plan.recommendation.moves or peaks.size < 2 or not question.is_counted.any():
        return
    usage = np.where(question.is_counted[:, None], question.usage, -np.inf)
    broker, column = np.unravel_index(usage.argmax(), usage.shape)
    name, resource = snapshot.brokers[broker], plan.columns[column].name
    best = f"the best move would bring the peak to {peaks[1]:.1f} %"
    if peaks[0] - peaks[1] < _LEAST:
        best = "no single move would bring the peak down"
    yield f"{name} is highest, by {resource} at {peaks[0]:.1f} %: {best}"
