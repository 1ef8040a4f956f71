"""The moves of one broker in a rolling restart: away from it, and back to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.lab.costs import Knowledge
from trimtab.live.apply.clock import Clock
from trimtab.live.apply.drain import Drain, HeadroomError, left_on, level_return, return_plan
from trimtab.live.apply.emptying import drain_plan
from trimtab.live.apply.files import plan_of, write_plan
from trimtab.live.apply.journal import journal_entries, opened_journal
from trimtab.live.apply.live import LockHolder
from trimtab.live.apply.post import LockState
from trimtab.live.apply.run import ConnectedCluster, Watching, carried_out_by
from trimtab.live.control.account import account
from trimtab.live.control.plan import Plan
from trimtab.live.control.rollout.entries import Emptied, Filled, Hindered
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.gather.access import GatherError


@dataclass(frozen=True, slots=True)
class Leg:
    """One broker, and what its moves take."""

    plan: RolloutPlan
    turn: int
    #: So many brokers are restarted.
    turns: int
    #: Of the plans of its moves and their journals.
    folder: Path
    cluster: ConnectedCluster
    post: LockHolder
    clock: Clock
    #: Who looks on while a plan is carried out.
    watching: Callable[[Plan], Watching]
    known: Knowledge | None

    @property
    def broker(self) -> str:
        """Return its id."""
        return self.plan.brokers[self.turn]

    def emptied(self, begun: Callable[[Plan], None]) -> Emptied | Hindered:
        """Return what came of moving its bundles away.

        Args:
            begun: is called with a new plan before its first move.

        Raises:
            HeadroomError: somebody would stand above the bar in the end.
        """
        # Nothing of ours is moved there meanwhile.
        self.post.drain(self.broker)
        try:
            path, plan = self._unended("drain") or self._made("drain", self._drain(), begun)
            why = self._carried_out(path, plan)
            left = left_on(self.cluster, self.broker)
        except HeadroomError:
            raise
        except GatherError as error:
            return self._hindered(str(error))
        if why:
            return self._hindered(why)
        return Emptied(self.clock.time_s, self.broker, len(plan.moves), len(left))

    def filled(self) -> Filled | Hindered:
        """Return what came of bringing bundles back, as far as the plan has it."""
        self.post.take_back(self.broker)
        if not self.plan.fills(self.turn, self.turns):
            return Filled(self.clock.time_s, self.broker, 0)
        try:
            begun = self._unended("return") or self._made("return", self._back(), lambda plan: None)
            why = self._carried_out(*begun)
        except HeadroomError as error:
            # Its bundles are served where they are.
            return Filled(self.clock.time_s, self.broker, 0, str(error))
        except GatherError as error:
            return self._hindered(str(error))
        if why:
            return self._hindered(why)
        return Filled(self.clock.time_s, self.broker, len(begun[1].moves))

    # ----------------------------------------------------------------------- its plans

    def _drain(self) -> Plan:
        drain = Drain(self.broker, (), self.plan.limits)
        return drain_plan(self._now(), drain, self.known)

    def _back(self) -> Plan:
        """Return the plan to bring back what all plans have taken from it, or to make it level."""
        drain = Drain(self.broker, (), self.plan.limits, is_return=True)
        if self.plan.give_back == "level":
            return level_return(self.cluster, drain)
        moves = {move.bundle: move for path in self._files("drain") for move in plan_of(path).moves}
        emptied = Plan(self.plan.cluster, self.plan.made_s, tuple(moves.values()))
        return return_plan(self._now(), drain, emptied)

    def _now(self) -> ConnectedCluster:
        """Return the cluster with what is kept of it now."""
        post = self.post
        state = LockState(post.is_stopped, post.unloads, post.draining)
        return replace(self.cluster, lock_state=state)

    def _unended(self, kind: str) -> tuple[Path, Plan] | None:
        """Return the last plan of a kind if a run of it was killed; None if none was."""
        for path in self._files(kind)[-1:]:
            plan = plan_of(path)
            if account(plan, journal_entries(_journal(path), plan.digest)).ended is None:
                return path, plan
        return None

    def _made(self, kind: str, plan: Plan, begun: Callable[[Plan], None]) -> tuple[Path, Plan]:
        number = len(self._files(kind)) + 1
        path = self.folder / f"{self._name}-{kind}-{number}.json"
        write_plan(path, plan)
        begun(plan)
        return path, plan

    def _files(self, kind: str) -> list[Path]:
        return sorted(
            self.folder.glob(f"{self._name}-{kind}-*.json"),
            key=lambda path: int(path.stem.rpartition("-")[2]),
        )

    @property
    def output(self) -> Path:
        """Return the file of what the command prints that restarts it."""
        return self.folder / f"{self._name}-hook.txt"

    @property
    def _name(self) -> str:
        return f"{self.turn + 1:03}-" + re.sub(r"[^\w.-]", "_", self.broker)

    def _carried_out(self, path: Path, plan: Plan) -> str:
        """Return why a plan was not carried out to its end; empty if it was."""
        with opened_journal(_journal(path), plan.digest) as kept:
            done = carried_out_by(self.post, plan, self.cluster, kept, self.watching(plan))
        return done.ended or ""

    def _hindered(self, why: str) -> Hindered:
        return Hindered(self.clock.time_s, self.broker, why)


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")
