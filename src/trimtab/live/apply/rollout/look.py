"""What a rolling restart would do now, and what stands against it; nothing is changed."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from trimtab.live.apply.drain import Drain, HeadroomError
from trimtab.live.apply.emptying import drain_plan
from trimtab.live.apply.journal import entries_of
from trimtab.live.apply.post import Pause
from trimtab.live.apply.rollout.health import rollout_view
from trimtab.live.apply.rollout.run import Rollout
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.control.rollout.account import RolloutAccount, rollout_account
from trimtab.live.control.rollout.entries import read_rollout_entry
from trimtab.live.control.rollout.memory import Phase, RolloutMemory, remembered
from trimtab.live.control.rollout.step import obstacle
from trimtab.live.gather.access import GatherError


@dataclass(frozen=True, slots=True)
class RolloutLook:
    """What is so now."""

    #: Of earlier runs of the plan.
    before: RolloutAccount
    #: Broker that is still to be restarted → bundles that it would give up, as things stand now.
    moves: dict[str, int]
    #: Broker that cannot be emptied now → why.
    objections: dict[str, str]
    #: Why nobody may be emptied or handed over now; empty if nothing is against it.
    obstacle: str
    is_shedding: bool | None
    #: What an earlier run has switched off and not put back.
    pause: Pause | None
    #: Brokers that are there and not in the plan.
    others: tuple[str, ...]

    @property
    def may_go(self) -> bool:
        """Return whether nothing stands against it now."""
        return not self.obstacle and not self.objections


def looked(rollout: Rollout, cluster: ConnectedCluster) -> RolloutLook:
    """Return what would be done now.

    Each broker is judged as if its turn were now: where bundles will be then is not foreseen.

    Raises:
        JournalError: there is a journal, and it cannot be used.
    """
    plan = rollout.plan
    entries = entries_of(rollout.journal, plan.digest, read_rollout_entry)
    memory = remembered(entries)
    live = cluster.live(cluster.lock_state, threading.Event())
    # As before one is emptied, when all are looked at.
    view = rollout_view(live, plan, RolloutMemory(), rollout.turns)
    moves, objections = {}, {}
    is_gone = memory.phase in {Phase.AWAY, Phase.BACK}
    for broker in plan.brokers[memory.turn + is_gone : rollout.turns]:
        try:
            drain = Drain(broker, (), plan.limits)
            moves[broker] = len(drain_plan(cluster, drain, rollout.known).moves)
        except (GatherError, HeadroomError) as error:
            objections[broker] = str(error)
    others = tuple(sorted(set(view.brokers) - set(plan.brokers)))
    return RolloutLook(
        before=rollout_account(plan, entries),
        moves=moves,
        objections=objections,
        obstacle=obstacle(plan, view),
        is_shedding=view.is_shedding,
        pause=cluster.lock_state.pause,
        others=others,
    )
