"""A rolling restart of a live cluster, carried out, or gone on with where a run was stopped."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.lab.costs import Knowledge
from trimtab.live.apply.drain import HeadroomError
from trimtab.live.apply.journal import FileJournal, JournalError, opened
from trimtab.live.apply.live import LiveCluster
from trimtab.live.apply.post import LockError
from trimtab.live.apply.rollout.health import rollout_view
from trimtab.live.apply.rollout.hook import Hook
from trimtab.live.apply.rollout.leg import Leg
from trimtab.live.apply.rollout.pause import KEY, pause_now, put_back, switch_off
from trimtab.live.apply.run import ConnectedCluster, Watching
from trimtab.live.control.entries import Begun, Done, Stopped
from trimtab.live.control.plan import Plan
from trimtab.live.control.rollout.account import RolloutAccount, expected_s, rollout_account
from trimtab.live.control.rollout.entries import (
    Again,
    Emptying,
    HookEnded,
    Paused,
    PutBack,
    RolloutEntry,
    read_rollout_entry,
)
from trimtab.live.control.rollout.memory import Phase, RolloutMemory, after, remembered
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.control.rollout.step import (
    Act,
    Empty,
    Fill,
    Finish,
    HandOver,
    Note,
    RolloutView,
    SwitchOff,
    step,
)
from trimtab.live.control.step import End, Wait
from trimtab.live.gather.access import GatherError

#: What a run ends with that was asked to go so far and no further.
AS_FAR_AS_ASKED = "as far as --until has it"


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rolling restart that is to be carried out."""

    plan: RolloutPlan
    #: Its journal, and the folder of the moves, lie beside it.
    path: Path
    hook: Hook
    #: So many brokers of the plan.
    turns: int
    #: A broker that is to be handed over once more; empty for none.
    again: str = ""
    known: Knowledge | None = None

    @property
    def journal(self) -> Path:
        """Return the file of what was done."""
        return self.path.with_name(f"{self.path.name}.journal")

    @property
    def folder(self) -> Path:
        """Return the folder of the plans of its moves."""
        return self.path.with_name(f"{self.path.name}.moves")


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Who looks on while brokers are restarted, and may end it."""

    entry: Callable[[RolloutEntry, RolloutAccount], None]
    moves: Callable[[Plan], Watching]
    waiting: Callable[[Wait], None]
    is_over: threading.Event


def conducted(rollout: Rollout, cluster: ConnectedCluster, onlooker: Onlooker) -> RolloutAccount:
    """Return the account of a rolling restart.

    Raises:
        GatherError: the plan is another cluster's, or nobody is to be handed over again.
        JournalError: the journal cannot be used.
        LockError: somebody else acts on the cluster.
    """
    plan = rollout.plan
    if plan.cluster != cluster.admin.cluster:
        raise GatherError(
            f"{cluster.where.address}: found cluster {cluster.admin.cluster!r}, expected "
            f"{plan.cluster!r} as the plan has it"
        )
    with opened(rollout.journal, plan.digest, read_rollout_entry) as kept, cluster.lock() as post:
        memory = remembered(kept.entries)
        _require_away(rollout, memory)
        rollout.folder.mkdir(mode=0o700, exist_ok=True)
        live = cluster.live(post, onlooker.is_over)
        conductor = _Conductor(rollout, cluster, live, kept, onlooker, memory, list(kept.entries))
        return conductor.conduct(post.token)


def _require_away(rollout: Rollout, memory: RolloutMemory) -> None:
    if not rollout.again:
        return
    is_away = memory.phase is Phase.AWAY
    away = rollout.plan.brokers[memory.turn] if is_away else "none, since nobody is away"
    if rollout.again != away:
        raise GatherError(f"--again: found {rollout.again}, expected {away}")


@dataclass(slots=True)
class _Conductor:
    """A run: sees, decides, writes, does."""

    rollout: Rollout
    cluster: ConnectedCluster
    live: LiveCluster
    kept: FileJournal[RolloutEntry]
    onlooker: Onlooker
    memory: RolloutMemory
    entries: list[RolloutEntry]
    process: subprocess.Popen[bytes] | None = None

    @property
    def account(self) -> RolloutAccount:
        return rollout_account(self.rollout.plan, self.entries)

    def conduct(self, token: int) -> RolloutAccount:
        """Return what became of it when nothing more is to be done."""
        rollout = self.rollout
        try:
            self._note(Begun(self.live.time_s, rollout.plan.digest, token))
            if rollout.again:
                self._note(Again(self.live.time_s, rollout.again))
            while True:
                act = step(rollout.plan, rollout.turns, self._view(), self.memory)
                if isinstance(act, End):
                    return self.account
                try:
                    self._do(act)
                except (HeadroomError, LockError) as error:
                    self._finish(str(error))
        except JournalError as error:
            # What is not written is not done, but for what only puts things back.
            _, why = self._put_back()
            return replace(self.account, ended=f"{error}{why and '; '}{why}")

    def _view(self) -> RolloutView:
        view = rollout_view(self.live, self.rollout.plan, self.memory, self.rollout.turns)
        status = None if self.process is None else self.process.poll()
        is_running = self.process is not None and status is None
        return replace(view, hook_status=status, is_hook_running=is_running)

    def _do(self, act: Act) -> None:
        match act:
            case Wait():
                self.onlooker.waiting(act)
                self.live.pause()
            case Note(entry):
                self._note(entry)
            case SwitchOff():
                self._switch_off()
            case Empty():
                self._attempted(self._leg().emptied(self._begun))
            case Fill():
                self._attempted(self._leg().filled())
            case HandOver(entry):
                self._note(entry)
                self._hand_over(entry.broker)
            case Finish(why):
                self._finish(why)

    def _attempted(self, entry: RolloutEntry) -> None:
        """Note what came of moves, and let a little time pass before more of them."""
        self._note(entry)
        self.live.pause()

    def _leg(self) -> Leg:
        rollout, turn = self.rollout, self.memory.turn
        return Leg(
            plan=rollout.plan,
            turn=turn,
            turns=rollout.turns,
            folder=rollout.folder,
            cluster=self.cluster,
            post=self.live.holder,
            clock=self.live.clock,
            watching=self.onlooker.moves,
            known=rollout.known,
        )

    def _begun(self, plan: Plan) -> None:
        whole, turn, count = self.rollout.plan, self.memory.turn, len(plan.moves)
        broker = whole.brokers[turn]
        warm_s = whole.warm_s if whole.fills(turn, self.rollout.turns) else None
        seconds = expected_s(count, whole.every_s, self.account.away_s, warm_s)
        self._note(Emptying(self.live.time_s, broker, count, seconds))

    def _hand_over(self, broker: str) -> None:
        try:
            self.process = self.rollout.hook.begin(broker, self._leg().output)
        except OSError:
            # As a shell says that a command cannot be begun.
            self._note(HookEnded(self.live.time_s, broker, 127))

    def _switch_off(self) -> None:
        post, admin = self.live.holder, self.live.admin
        try:
            if post.pause is None:
                pause = pause_now(admin, self.live.time_s, str(self.rollout.path.absolute()))
                self._note(Paused(pause.time_s, pause.value))
                post.note_pause(pause)
            switch_off(admin, self.live.pause_s)
        except GatherError as error:
            self._finish(str(error))

    def _finish(self, why: str) -> None:
        """Put everything back, and note that the run has ended."""
        memory, plan = self.memory, self.rollout.plan
        is_open = memory.turn < len(plan.brokers) and memory.phase is not Phase.AWAY
        if is_open and self.live.post.is_ours:
            self.live.holder.take_back(plan.brokers[memory.turn])
        entry, trouble = self._put_back()
        if entry is not None:
            self._note(entry)
        is_all = memory.turn == len(plan.brokers)
        ended = "; ".join(filter(None, (why or ("" if is_all else AS_FAR_AS_ASKED), trouble)))
        self._note(Stopped(self.live.time_s, ended) if ended else Done(self.live.time_s))

    def _put_back(self) -> tuple[PutBack | None, str]:
        """Return the entry that shedding is as it was, if it had been switched off, or why not."""
        post = self.live.post
        try:
            if not post.is_ours or post.pause is None:
                return None, ""
            value = post.pause.value
            remark = put_back(self.live.admin, self.live.holder, self.live.pause_s)
        except (GatherError, LockError) as error:
            return None, f"{KEY} is still off: {error}; the next run puts it back"
        return PutBack(self.live.time_s, value, remark), ""

    def _note(self, entry: RolloutEntry) -> None:
        """Write an entry; it is on the disk when this returns."""
        self.kept.write(entry)
        self.entries.append(entry)
        self.memory = after(self.memory, entry)
        self.onlooker.entry(entry, self.account)
