"""Where a plan lies: until somebody has answered, while it is carried out, and how it ended."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from enum import Enum

from trimtab.live.control.account import Account
from trimtab.live.control.entries import Entry
from trimtab.live.control.plan import Plan
from trimtab.live.control.step import Wait

#: Between two looks whether whoever waits for an answer is to end.
_LOOK_S = 0.2
#: Plans that are over and can still be looked at.
_PAST_MAX = 10


class Answer(Enum):
    """What became of a plan that was asked for; the value is said of it."""

    APPROVED = "approved on the page"
    REFUSED = "refused on the page"
    LATE = "nobody answered before the plan was too old, so nothing of it was moved"
    WITHDRAWN = "the watch ended before anybody answered, so nothing of it was moved"


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far a plan has come; each is replaced by the next, and none is changed."""

    plan: Plan
    #: Of the round that it came of.
    number: int
    #: s since 1970 at which it is not waited for any more; None: it is not asked for.
    until_s: float | None = None
    #: None while it waits.
    answer: Answer | None = None
    entries: tuple[Entry, ...] = ()
    #: What is waited for while it is carried out, and since when, s since 1970.
    wait: Wait | None = None
    wait_s: float = 0.0
    #: Why it is over: empty if it was done; None while it is not.
    ended: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Return whether somebody may still answer."""
        return self.until_s is not None and self.answer is None and self.ended is None


class Desk:
    """Has one plan at a time and how the last ones ended; threads may ask, answer and look on."""

    def __init__(self) -> None:
        """Begin empty."""
        self._changed = threading.Condition()
        self._progress: PlanProgress | None = None
        self._past: tuple[PlanProgress, ...] = ()

    @property
    def progress(self) -> PlanProgress | None:
        """Return how the last plan stands; None before the first."""
        return self._progress

    @property
    def plans(self) -> tuple[PlanProgress | None, tuple[PlanProgress, ...]]:
        """Return how the last plan stands, and how those before ended: the newest first, few."""
        with self._changed:
            return self._progress, self._past

    def lay(self, plan: Plan, number: int) -> None:
        """Lay a plan down that needs no answer."""
        self._put(PlanProgress(plan, number))

    def asked(self, plan: Plan, number: int, is_over: threading.Event) -> Answer:
        """Return what somebody answers to a plan, as it lies here frozen."""
        last = time.monotonic() + plan.limits.plan_age_max_s - max(0.0, time.time() - plan.made_s)
        until_s = plan.made_s + plan.limits.plan_age_max_s
        self._put(PlanProgress(plan, number, until_s))
        with self._changed:
            while self._waiting(plan.digest) is not None:
                if is_over.is_set():
                    self._close(Answer.WITHDRAWN)
                elif time.monotonic() >= last:
                    self._close(Answer.LATE)
                else:
                    self._changed.wait(_LOOK_S)
            progress = self._progress
        assert progress is not None
        assert progress.answer is not None
        return progress.answer

    def take_answer(self, digest: str, *, is_approved: bool) -> bool:
        """Return whether an answer counts: this very plan waits, and nobody was faster."""
        with self._changed:
            if self._waiting(digest) is None:
                return False
            self._close(Answer.APPROVED if is_approved else Answer.REFUSED)
            return True

    def withdraw(self) -> None:
        """Take back what waits."""
        with self._changed:
            if self._progress is not None and self._progress.is_waiting:
                self._close(Answer.WITHDRAWN)

    def take_entry(self, entry: Entry) -> None:
        """Take what the journal of the plan holds now, too."""
        with self._changed:
            if self._progress is not None:
                entries = (*self._progress.entries, entry)
                self._progress = replace(self._progress, entries=entries, wait=None)

    def take_wait(self, wait: Wait) -> None:
        """Take what is waited for."""
        with self._changed:
            if self._progress is not None:
                self._progress = replace(self._progress, wait=wait, wait_s=time.time())

    def end(self, digest: str, outcome: Account | str) -> None:
        """Take how a plan ended."""
        ended = outcome if isinstance(outcome, str) else (outcome.ended or "")
        with self._changed:
            if self._progress is not None and self._progress.plan.digest == digest:
                self._progress = replace(self._progress, wait=None, ended=ended)

    def _put(self, progress: PlanProgress) -> None:
        with self._changed:
            if self._progress is not None:
                self._past = (self._progress, *self._past)[:_PAST_MAX]
            self._progress = progress

    def _waiting(self, digest: str) -> PlanProgress | None:
        progress = self._progress
        is_it = progress is not None and progress.is_waiting and progress.plan.digest == digest
        return progress if is_it else None

    def _close(self, answer: Answer) -> None:
        assert self._progress is not None
        ended = None if answer is Answer.APPROVED else answer.value
        self._progress = replace(self._progress, answer=answer, ended=ended)
        self._changed.notify_all()
