"""A live cluster as `control` sees it: what is so at one time, and the two acts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from trimtab.live.apply.admin import Admin
from trimtab.live.apply.clock import Clock
from trimtab.live.apply.lock import FileLock
from trimtab.live.apply.post import LockError, LockState
from trimtab.live.apply.store_lock import StoreLock
from trimtab.live.apply.usage import silence_s_max, usage_percent
from trimtab.live.control.entries import REFUSED, Asked
from trimtab.live.control.plan import Plan
from trimtab.live.control.view import BrokerView, View
from trimtab.live.gather.calls import CallError

T = TypeVar("T")
#: Whoever holds the lock of a cluster, wherever that is kept: only they may act.
LockHolder: TypeAlias = FileLock | StoreLock

_AT_A_TIME = 16


@dataclass(slots=True)
class LiveCluster:
    """The cluster behind an admin API."""

    admin: Admin
    post: LockHolder | LockState
    #: Set by whoever wants the run to end in good order.
    is_over: threading.Event
    pause_s: float = 1.0
    #: Gives the owners of bundles from the metadata store, where it can be read.
    owners: Callable[[Iterable[str]], Mapping[str, str | None]] | None = None
    clock: Clock = field(default_factory=Clock)
    _leader: str | None = field(init=False, default=None)
    _draining: frozenset[str] = field(init=False, default=frozenset())
    _settings: Mapping[str, str] = field(init=False, default_factory=dict)
    #: Broker → when its last report says that it was published, and when that was seen first.
    _published: dict[str, tuple[float, float]] = field(init=False, default_factory=dict)

    @property
    def time_s(self) -> float:
        """Return the time, s since 1970, by a clock that is never set while a run lasts."""
        return self.clock.time_s

    @property
    def holder(self) -> LockHolder:
        """Return the lock, which is held: only then may anything be done."""
        assert not isinstance(self.post, LockState)
        return self.post

    def view(self, plan: Plan) -> View:
        """Return what a plan is about; what cannot be read is left out, and nothing is raised."""
        began_s = self.time_s
        if loss := self.post.loss:
            # Nothing may be done, so nothing else need be seen, which could take long.
            return View(began_s, {}, {}, None, is_lock_ours=False, lock_loss=loss)
        try:
            registered = frozenset(self.admin.brokers())
        except CallError:
            registered = frozenset()
        # The leader before the brokers: by its settings their resources are weighed.
        is_shedding = self.is_shedding()
        named = {name for move in plan.moves for name in (move.source, move.destination)}
        self._draining = self.post.draining
        brokers = each_of(sorted(named & registered), self._broker)
        owners = self._owners(plan, named, registered)
        lost = [move.bundle for move in plan.moves if owners.get(move.bundle) is None]
        return View(
            time_s=began_s,
            brokers=brokers,
            owners=owners,
            is_shedding=is_shedding,
            is_lock_ours=self.post.is_ours,
            is_killed=self.is_over.is_set() or self.post.is_stopped,
            replacements=self.admin.replacements(lost),
        )

    def unload(self, asked: Asked) -> tuple[str, str]:
        """Return the status and the text of the answer to an unload."""
        try:
            # The last moment at which somebody else may be found to have taken over.
            self.post.note(asked)
        except LockError as error:
            return REFUSED, str(error)
        return self.admin.unload(asked.bundle, asked.destination, self._leader)

    def look_up(self, bundle: str) -> None:
        """Look a bundle up; whether it has an owner then is to be seen."""
        self.admin.look_up(bundle)

    def pause(self) -> None:
        """Let a little time pass; an end that is asked for ends it, once."""
        if self.is_over.is_set():
            time.sleep(self.pause_s)
        else:
            self.is_over.wait(self.pause_s)

    # ------------------------------------------------------------------------ reading

    def is_shedding(self) -> bool | None:
        """Return whether the leader sheds, whose settings count."""
        try:
            self._leader = self.admin.leader()
            if self._leader not in self.admin.addresses:
                return None
            settings = self._settings = self.admin.settings(self._leader)
        except CallError:
            return None
        keys = ("loadBalancerEnabled", "loadBalancerSheddingEnabled")
        return all(settings.get(key, "true").lower() == "true" for key in keys)

    def _broker(self, name: str) -> BrokerView:
        """Return how a broker stands; one that does not answer is there and not alive."""
        asked_s = self.time_s
        try:
            usage = usage_percent(self.admin, name, self._settings)
        except CallError:
            return BrokerView(float("nan"), 0.0, 0.0, is_answering=False)
        # A broker reads its own figures anew when it is asked; one whose load manager hangs
        # is known by what it has not published for longer than it may.
        stale_s = silence_s_max(self._settings)
        since_s = self._since(name, usage.published_s, asked_s)
        return BrokerView(
            usage_percent=usage.percent,
            measured_s=since_s if asked_s - since_s > stale_s else asked_s,
            started_s=usage.started_s,
            is_answering=True,
            is_draining=name in self._draining,
        )

    def _since(self, name: str, published_s: float, asked_s: float) -> float:
        """Return since when a broker has published nothing new, by our own clock.

        Only of the first look the broker's clock is believed, since there is nothing else.
        """
        if math.isinf(published_s):
            return asked_s
        before_s, since_s = self._published.get(name, (published_s, min(published_s, asked_s)))
        if before_s != published_s:
            since_s = asked_s
        self._published[name] = published_s, since_s
        return since_s

    def _owners(
        self, plan: Plan, named: set[str], registered: frozenset[str]
    ) -> Mapping[str, str | None]:
        wanted = [move.bundle for move in plan.moves]
        if self.owners is not None:
            return self.owners(wanted)
        first = sorted(named & registered)
        owned = each_of(first, self.admin.owned_or_none)
        if not all(any(bundle in (of or ()) for of in owned.values()) for bundle in wanted):
            owned |= each_of(sorted(registered - named), self.admin.owned_or_none)
        return owners_of(wanted, owned) if registered else {}


def owners_of(
    wanted: Iterable[str], owned: Mapping[str, frozenset[str] | None]
) -> Mapping[str, str | None]:
    """Return owners by bundle, of what brokers say that they own.

    Properties:
        A bundle that two say they own, or that nobody does while one did not answer, is left
        out: it is on its way, or may be with the silent one.
    """
    is_whole = all(bundles is not None for bundles in owned.values())
    owners: dict[str, str | None] = {}
    for bundle in wanted:
        holders = [broker for broker, bundles in owned.items() if bundle in (bundles or ())]
        if len(holders) == 1:
            owners[bundle] = holders[0]
        elif not holders and is_whole:
            owners[bundle] = None
    return owners


def each_of(names: Iterable[str], asked: Callable[[str], T]) -> dict[str, T]:
    """Return the answers by name, in order; several are asked at a time."""
    listed = list(names)
    if not listed:
        return {}
    with ThreadPoolExecutor(min(_AT_A_TIME, len(listed)), "apply") as pool:
        return dict(zip(listed, pool.map(asked, listed), strict=True))
