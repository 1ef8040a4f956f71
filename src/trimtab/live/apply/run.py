"""A plan on a live cluster: rehearsed, or carried out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.live.apply.admin import Admin
from trimtab.live.apply.journal import FileJournal, JournalError, journal_entries, opened_journal
from trimtab.live.apply.live import LiveCluster, LockHolder
from trimtab.live.apply.lock import file_lock, lock_state_in, stop_file
from trimtab.live.apply.one_lock import cluster_store
from trimtab.live.apply.post import LockError, LockState, Unloaded, time_by_now
from trimtab.live.apply.store_lock import Store, opened_store, store_lock
from trimtab.live.control.account import Account, account, in_the_end
from trimtab.live.control.drive import driven
from trimtab.live.control.entries import Asked, Begun, Entry, LookedUp
from trimtab.live.control.guards import MoveStatus, standings
from trimtab.live.control.memory import Memory, remembered
from trimtab.live.control.plan import Plan
from trimtab.live.control.step import Wait
from trimtab.live.control.view import View
from trimtab.live.gather.access import Access, GatherError
from trimtab.live.gather.calls import CallError

_EXTENSIBLE = "ExtensibleLoadManager"


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster, who asks, and where what is kept of it lies."""

    #: Of any broker's admin API, without a slash at its end.
    address: str
    access: Access
    #: Folder of the lock that is asked for by `is_lock_here`.
    folder: Path
    #: zk://host:port/path; None: as the cluster's settings have it.
    metadata: str | None = None
    #: The lock is in the folder, where runs elsewhere do not see it.
    is_lock_here: bool = False
    #: Between two looks.
    pause_s: float = 1.0


@dataclass(frozen=True, slots=True)
class ConnectedCluster:
    """A cluster that answers."""

    where: Where
    admin: Admin
    store: Store | None
    #: What can be seen without the lock.
    lock_state: LockState
    #: Why nothing may be moved: its lock cannot be reached; empty if it can.
    lockless: str = ""

    def lock(self) -> AbstractContextManager[LockHolder]:
        """Return what holds the lock of the cluster: only then may anything be moved.

        Raises:
            LockError: somebody else has it, or it cannot be reached.
        """
        if self.lockless:
            raise LockError(self.lockless)
        store = self.store
        return store_lock(store) if store else file_lock(self.where.folder, self.admin.cluster)

    def live(self, post: LockHolder | LockState, is_over: threading.Event) -> LiveCluster:
        """Return what `control` drives."""
        owners = self.store.owners if self.store and not self._is_extensible else None
        return LiveCluster(self.admin, post, is_over, self.where.pause_s, owners)

    @property
    def stop(self) -> str:
        """Return what stops every run on this cluster while it is there."""
        if self.store is not None:
            return f"create the node /trimtab/stop in {self.store.where}"
        return f"create the file {stop_file(self.where.folder, self.admin.cluster)}"

    @property
    def _is_extensible(self) -> bool:
        # It keeps the owners in a topic, and none in the store.
        try:
            return _EXTENSIBLE in self.admin.settings().get("loadManagerClassName", "")
        except CallError:
            return False


@contextmanager
def connected_cluster(where: Where) -> Iterator[ConnectedCluster]:
    """Connect to a cluster, and to where its lock is.

    Raises:
        GatherError: nobody answers, or `metadata` is another cluster's.
    """
    with ExitStack() as closing:
        store, why = None, ""
        if where.metadata:
            store = closing.enter_context(opened_store(where.metadata, options=where.access.store))
        admin = Admin(where.address, where.access)
        admin.begin()
        if store is None and not where.is_lock_here:
            store, why = closing.enter_context(cluster_store(admin.settings(), where.access.store))
        if where.metadata and store is not None and not store.brokers() & {*admin.brokers()}:
            raise GatherError(
                f"--metadata: found none of the brokers of {admin.cluster} at {store.where}, "
                "expected the ZooKeeper of this cluster"
            )
        lock_state = store.state() if store else lock_state_in(where.folder, admin.cluster)
        yield ConnectedCluster(
            where, admin, store, lock_state, _lockless(admin.cluster, why) if why else ""
        )


def _lockless(cluster: str, why: str) -> str:
    """Return that nothing may be moved, since the lock cannot be reached, and what to do."""
    return (
        f"the lock of cluster {cluster} cannot be reached, so somebody else may be moving bundles: "
        f"{why}; name its ZooKeeper by --metadata, or act with --lock-here, which only keeps out "
        "runs that use the same folder"
    )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What would be done, and what stands against it now."""

    view: View
    standings: tuple[MoveStatus, ...]
    #: Of earlier runs of the plan.
    before: Account

    @property
    def may_go(self) -> bool:
        """Return whether nothing stands against any move that is still to be made."""
        return all(each.may_go for each in self.standings)


def rehearsed(plan: Plan, cluster: ConnectedCluster, journal: Path) -> Rehearsal:
    """Return what the guards of each move say now; nothing is changed, not even a file.

    Raises:
        GatherError: the plan is another cluster's.
        JournalError: there is a journal, and it cannot be used.
    """
    _require_same(plan, cluster)
    entries = journal_entries(journal, plan.digest)
    live = cluster.live(cluster.lock_state, threading.Event())
    memory = _remembered(entries, cluster.lock_state.unloads, live.time_s)
    view = live.view(plan)
    return Rehearsal(view, standings(plan, view, memory), account(plan, entries))


@dataclass(slots=True)
class ReportingJournal:
    """A journal that also tells whoever looks on."""

    kept: FileJournal[Entry]
    tell: Callable[[Entry], None]
    entries: list[Entry] = field(default_factory=list)

    def write(self, entry: Entry) -> None:
        """Keep an entry, and pass it on once it is kept.

        What was seen is true even if it cannot be kept; what was meant is not done then.
        """
        try:
            self.kept.write(entry)
        except JournalError:
            if not isinstance(entry, Asked | LookedUp):
                self.entries.append(entry)
            raise
        self.entries.append(entry)
        self.tell(entry)


@dataclass(frozen=True, slots=True)
class Watching:
    """Who looks on while a plan is carried out, and may end it."""

    entry: Callable[[Entry], None]
    waiting: Callable[[Wait], None]
    is_over: threading.Event


def carried_out(
    plan: Plan,
    cluster: ConnectedCluster,
    journal: Path,
    watching: Watching,
    marked: Callable[[LockHolder], None] = lambda post: None,
) -> Account:
    """Return the account of a plan, carried out, or gone on with where a run was stopped.

    Args:
        plan: what is to be done.
        cluster: where.
        journal: of this plan.
        watching: who looks on.
        marked: called with the lock held before anything is done, to mark brokers as being
            emptied or not.

    Raises:
        GatherError: the plan is another cluster's.
        JournalError: the journal cannot be used.
        LockError: somebody else acts on the cluster.
    """
    _require_same(plan, cluster)
    with opened_journal(journal, plan.digest) as kept, cluster.lock() as post:
        before = account(plan, kept.entries)
        if before.is_done:
            return before
        marked(post)
        return carried_out_by(post, plan, cluster, kept, watching)


def carried_out_by(
    post: LockHolder,
    plan: Plan,
    cluster: ConnectedCluster,
    kept: FileJournal[Entry],
    watching: Watching,
) -> Account:
    """Return the account of a plan, carried out or gone on with by whoever holds the lock.

    If the journal can no longer be written, the run ends there, and the account says so.
    """
    live = cluster.live(post, watching.is_over)
    journal_and_screen = ReportingJournal(kept, watching.entry, list(kept.entries))
    try:
        journal_and_screen.write(Begun(live.time_s, plan.digest, post.token))
        memory = _remembered(journal_and_screen.entries, post.unloads, live.time_s)
        for act in driven(plan, live, journal_and_screen, memory):
            if isinstance(act, Wait):
                watching.waiting(act)
    except JournalError as error:
        done = replace(account(plan, journal_and_screen.entries), ended=str(error))
    else:
        done = account(plan, journal_and_screen.entries)
    return in_the_end(done, live.view(plan).owners)


def _remembered(journal: Iterable[Entry], unloads: Iterable[Unloaded], now_s: float) -> Memory:
    """Return what a journal and the notes of all runs come to."""
    times = {(each.time_s, each.bundle): time_by_now(each, now_s) for each in unloads}
    return remembered(journal, times, now_s, times)


def _require_same(plan: Plan, cluster: ConnectedCluster) -> None:
    if plan.cluster != cluster.admin.cluster:
        raise GatherError(
            f"{cluster.where.address}: found cluster {cluster.admin.cluster!r}, expected "
            f"{plan.cluster!r} as the plan has it"
        )
