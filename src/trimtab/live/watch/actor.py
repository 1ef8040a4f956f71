"""Carries out what the strategy beside decides, one bundle at a time, as far as it may."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trimtab.live.apply import (
    ConnectedCluster,
    JournalError,
    LockError,
    Watching,
    Where,
    connected_cluster,
)
from trimtab.live.apply.clock import Clock
from trimtab.live.apply.files import PlanError, write_plan
from trimtab.live.apply.journal import opened_journal
from trimtab.live.apply.live import LockHolder, each_of
from trimtab.live.apply.run import carried_out_by
from trimtab.live.control.account import Account
from trimtab.live.control.expected import Costs
from trimtab.live.control.throttle import Bars, Health, Throttle, adapted, bad_signs, granted
from trimtab.live.control.trust import bars_by
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.calls import CallError
from trimtab.live.watch.desk import Answer, Desk
from trimtab.live.watch.health import Fares
from trimtab.live.watch.nouns import Acted, Settings
from trimtab.live.watch.plans import (
    Basis,
    PlannedRound,
    effect_share,
    limits_of,
    planned,
    unloaded_by,
)
from trimtab.live.watch.proposals import Proposal

#: Plans in a row that end before they are done, after which nothing is moved for a while; for how
#: long at first and at most, twice as long each time.
_CUT_SHORT_MAX = 3
PAUSE, _PAUSE_MAX = timedelta(minutes=10), timedelta(hours=2)
_YES = Answer.APPROVED


@dataclass(frozen=True, slots=True)
class ActingRequest:
    """What is asked of whoever acts."""

    where: Where
    #: Names of `Limits` → value.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: Of the throttle; None: the usual ones, or as far as predictions are to be believed.
    bars: Bars | None = None
    #: Where plans lie for whoever looks on.
    desk: Desk = field(default_factory=Desk)
    #: Each plan waits there until somebody has approved it.
    is_asking: bool = False


class Actor:
    """Carries plans out, each in a thread beside; one at a time."""

    def __init__(
        self, request: ActingRequest, cluster: ConnectedCluster, post: LockHolder, folder: Path,
        is_over: threading.Event,
    ) -> None:  # fmt: skip
        """Prepare, with the lock held."""
        self._request, self._cluster, self._post = request, cluster, post
        self._folder, self._is_over = folder, is_over
        self._bars = request.bars or Bars()
        self._throttle: Throttle | None = None
        self._fares = Fares()
        self._running: tuple[threading.Thread, Proposal, PlannedRound] | None = None
        self._outcome: Account | Answer | str = ""
        #: Bundle → until when its move is not asked for again, s by the monotonic clock.
        self._refused: dict[str, float] = {}
        self._is_approved = threading.Event()
        self._share, self._is_cut_short, self._n_cut_short = float("nan"), False, 0
        #: Why the last plan was cut short; and how often acting has paused in a row, until when.
        self._reason = ""
        self._n_pauses, self.paused_until = 0, datetime.min.replace(tzinfo=UTC)
        self._looked = datetime.min.replace(tzinfo=UTC)
        self._unloaded: list[tuple[datetime, str]] = []
        self._clock = Clock()
        #: When the last plan that was carried out was over.
        self._over = datetime.min.replace(tzinfo=UTC)

    @property
    def is_busy(self) -> bool:
        """Return whether a plan is being carried out, or waits for an answer."""
        return self._running is not None

    def take(self, proposals: list[Proposal], settings: Settings, costs: Costs) -> list[Acted]:
        """Return what was done: the newest proposal is carried out if nothing else is on."""
        acts = self._finished()
        if not proposals:
            return acts
        newest = self._unrefused(proposals[-1])
        if not newest.moves and newest.time < self._looked + timedelta(seconds=settings.interval_s):
            # Turns come more often than rounds; how clients fare is asked as often as in rounds.
            return acts
        self._looked = newest.time
        self._bars = self._bars_of(newest)
        health, signs = self._look()
        throttle = adapted(self._throttle or Throttle(self._bars.moves_min), health, self._bars)
        self._throttle = throttle
        why = self._why_not(newest) or self._why_stale(newest)
        if why or not newest.moves:
            return [*acts, self._acted(newest, 0, signs, why)]
        count, self._throttle = granted(throttle, len(newest.moves))
        if count:
            limits = limits_of(settings, self._request.limits, newest.trust)
            self._begin(newest, count, Basis(settings.shedder, limits, costs))
        asking = bool(count) and self._request.is_asking
        return [*acts, replace(self._acted(newest, count, signs, ""), is_asking=asking)]

    def unloaded(self) -> list[tuple[datetime, str]]:
        """Return what was unloaded since the last call."""
        unloads, self._unloaded = self._unloaded, []
        return unloads

    def end(self) -> list[Acted]:
        """Return what was done, once what is in flight has landed and what waits is withdrawn."""
        self._request.desk.withdraw()
        if self._running is not None:
            self._running[0].join()
        return self._finished()

    def _bars_of(self, proposal: Proposal) -> Bars:
        if self._request.bars is not None:
            return self._request.bars
        return Bars() if proposal.trust is None else bars_by(proposal.trust.level)

    def _why_not(self, proposal: Proposal) -> str:
        if proposal.time < self.paused_until:
            return (
                f"the last {self._n_cut_short} plans were not done, so nothing is moved until "
                f"{self.paused_until:%H:%M:%S}Z; the last said: {self._reason}"
            )
        if proposal.trust is not None and proposal.trust.drift:
            return proposal.trust.drift
        if self._running is not None:
            progress = self._request.desk.progress
            if progress is not None and progress.is_waiting:
                return "the last plan waits for an answer on the page"
            return "the last plan is still being carried out"
        if self._is_over.is_set():
            return "the watch is ending"
        return (
            "" if self._post.is_ours else "the lock is lost, so nothing more is moved: start again"
        )

    def _why_stale(self, proposal: Proposal) -> str:
        """Return why a round that comes late is not carried out; empty if it may be."""
        if proposal.time > self._over:
            return ""
        noun = proposal.noun
        return (
            f"{noun} {proposal.number} is of before the last plan was over, so what that did is "
            f"not in it: the next {noun} has it"
        )

    def _look(self) -> tuple[Health, tuple[str, ...]]:
        admin = self._cluster.admin

        def metrics(broker: str) -> str | None:
            try:
                return admin.metrics(broker)
            except CallError:
                return None

        try:
            texts = each_of(admin.brokers(), metrics)
        except CallError:
            texts = {}
        latency_ms, failures = self._fares.since(texts)
        health = Health(latency_ms, self._share, failures, self._is_cut_short)
        self._share, self._is_cut_short = float("nan"), False
        return health, bad_signs(health, self._bars)

    def _begin(self, proposal: Proposal, count: int, basis: Basis) -> None:
        """Write a plan, and carry it out in a thread."""
        round_ = planned(proposal, count, self._cluster.admin.cluster, basis)
        path = self._folder / f"{proposal.number:06d}.json"
        desk = self._request.desk
        looking = Watching(desk.take_entry, desk.take_wait, self._is_over)

        def carried_out() -> Account | Answer:
            write_plan(path, round_.plan)
            if not self._request.is_asking:
                desk.lay(round_.plan, proposal.number)
            elif (answer := desk.asked(round_.plan, proposal.number, self._is_over)) is not _YES:
                return answer
            self._is_approved.set()
            journal = path.with_name(f"{path.name}.journal")
            with opened_journal(journal, round_.plan.digest) as entries:
                return carried_out_by(self._post, round_.plan, self._cluster, entries, looking)

        def run() -> None:
            try:
                self._outcome = carried_out()
            except (GatherError, JournalError, LockError, PlanError) as error:
                self._outcome = str(error)
            if not isinstance(self._outcome, Answer):
                self._over = self._clock.now
                desk.end(round_.plan.digest, self._outcome)

        thread = threading.Thread(target=run, name="acting", daemon=False)
        self._running = thread, proposal, round_
        thread.start()

    def _finished(self) -> list[Acted]:
        """Return what became of the plan that was being carried out, if it is over."""
        if self._running is None:
            return []
        thread, proposal, round_ = self._running
        acts = self._approved(proposal, round_)
        if thread.is_alive():
            return acts
        self._running, outcome = None, self._outcome
        if isinstance(outcome, Answer):
            self._rest(outcome, round_)
            return [replace(self._acted(proposal, 0, (), outcome.value), is_over=True)]
        if isinstance(outcome, str):
            self._count(outcome)
            return [*acts, replace(self._acted(proposal, 0, (), outcome), is_over=True)]
        if outcome.is_done or self._is_over.is_set():
            self._is_cut_short, self._n_cut_short, self._n_pauses = False, 0, 0
            self._reason = ""
        else:
            self._count(outcome.ended or "it never said why")
        self._share = effect_share(round_, outcome)
        self._unloaded += unloaded_by(outcome)
        states = tuple((move.bundle, move.state) for move in outcome.moves)
        act = self._acted(proposal, len(states), (), outcome.ended or "")
        return [*acts, replace(act, is_over=True, states=states)]

    def _count(self, why: str) -> None:
        """Count a plan that was cut short; after some in a row acting pauses, ever longer."""
        self._is_cut_short = True
        self._n_cut_short += 1
        self._reason = why
        if self._n_cut_short >= _CUT_SHORT_MAX:
            pause = min(PAUSE * 2**self._n_pauses, _PAUSE_MAX)
            self._n_pauses += 1
            self.paused_until = self._clock.now + pause

    def _approved(self, proposal: Proposal, round_: PlannedRound) -> list[Acted]:
        """Return that a plan which had been asked for is begun, once."""
        if not self._request.is_asking or not self._is_approved.is_set():
            return []
        self._is_approved.clear()
        return [self._acted(proposal, len(round_.plan.moves), (), "")]

    def _rest(self, answer: Answer, round_: PlannedRound) -> None:
        """Keep what was refused from being asked for again at once."""
        if answer is Answer.REFUSED:
            until_s = time.monotonic() + round_.plan.limits.grace_s
            self._refused |= {move.bundle: until_s for move in round_.plan.moves}

    def _unrefused(self, proposal: Proposal) -> Proposal:
        """Return a proposal without the bundles that were refused of late."""
        now_s = time.monotonic()
        self._refused = {name: s for name, s in self._refused.items() if s > now_s}
        moves = tuple(each for each in proposal.moves if each.bundle not in self._refused)
        return replace(proposal, moves=moves)

    def _acted(self, proposal: Proposal, count: int, signs: tuple[str, ...], why: str) -> Acted:
        allowed = self._throttle.moves if self._throttle else self._bars.moves_min
        return Acted(proposal.number, proposal.time, count, allowed, signs, why, noun=proposal.noun)


@contextmanager
def acting(request: ActingRequest, folder: Path, is_over: threading.Event) -> Iterator[Actor]:
    """Hold the lock of a cluster, and carry out what is decided, each plan in a file of the folder.

    Raises:
        GatherError: nobody answers.
        LockError: somebody else acts on the cluster.
    """
    with connected_cluster(request.where) as cluster, cluster.lock() as post:
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
        actor = Actor(request, cluster, post, folder, is_over)
        try:
            yield actor
        finally:
            is_over.set()
            actor.end()
