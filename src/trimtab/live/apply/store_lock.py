"""The same lock in the metadata store, so that it holds wherever the runs are started.

/trimtab/lock                 there while somebody holds it; goes with the session
/trimtab/token                written by each holder: its version is the number
/trimtab/unloads              what was unloaded in the last day
/trimtab/draining/<broker>    is being emptied
/trimtab/paused               what a rolling restart has switched off and is to put back
/trimtab/stop                 while it is there, every run stops
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult

from trimtab.live.apply.post import (
    NO_PAUSE,
    LockError,
    LockState,
    Pause,
    Unloaded,
    noted,
    pause_in,
    recent,
    unloads_in,
)
from trimtab.live.control.entries import Asked
from trimtab.live.control.view import TAKEN
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.store_access import begun, store_client, unreached
from trimtab.live.gather.watched_store import (
    ACL_CLOSED,
    NOTHING_ELSE,
    owner_in,
    servers_of,
)

T = TypeVar("T")

_ROOT = "/trimtab"
_LOCK, _TOKEN, _UNLOADS = f"{_ROOT}/lock", f"{_ROOT}/token", f"{_ROOT}/unloads"
_DRAINING, _STOP = f"{_ROOT}/draining", f"{_ROOT}/stop"
_PAUSED = f"{_ROOT}/paused"
_BROKERS = "/loadbalance/brokers"
#: A holder that was killed holds the lock for so long.
_SESSION_S = 10.0
_ANSWER_S = 10.0
_POLL_S = 0.5
_UNKNOWN = (
    "so whether somebody else holds the lock by now is not known, and nothing more is moved: see "
    "whether ZooKeeper is up"
)


@dataclass(frozen=True, slots=True)
class Store:
    """A connection to the metadata store of a cluster."""

    client: KazooClient
    where: str

    def owners(self, bundles: Iterable[str]) -> Mapping[str, str | None]:
        """Return who owns bundles; one that cannot be read is left out."""
        pending = [(bundle, self.client.get_async(f"/namespace/{bundle}")) for bundle in bundles]
        owners: dict[str, str | None] = {}
        last = time.monotonic() + _ANSWER_S
        for bundle, answer in pending:
            try:
                content, _ = answer.get(timeout=max(0.001, last - time.monotonic()))
                owners[bundle] = owner_in(json.loads(content))
            except NoNodeError:
                owners[bundle] = None
            except (KazooException, KazooTimeoutError, ValueError):
                continue
        return owners

    def state(self) -> LockState:
        """Return what is kept of the cluster, without holding its lock.

        Raises:
            LockError: the store does not answer.
        """
        return LockState(self.is_there(_STOP), self.unloads(), self.draining(), pause=self.pause())

    def unloads(self) -> tuple[Unloaded, ...]:
        """Return what was unloaded in the last day, by whichever run."""
        try:
            content, _ = self.answer(self.client.get_async(_UNLOADS))
            return unloads_in(json.loads(content or b"[]"))
        except NoNodeError:
            return ()
        except (TypeError, ValueError):
            raise LockError(
                f"{self.where}{_UNLOADS}: found no list of unloads, expected JSON: what was moved "
                "lately is not known, so nothing is moved; delete the node once no run acts"
            ) from None

    def pause(self) -> Pause | None:
        """Return what a run has switched off and not put back; None if nothing."""
        try:
            content, _ = self.answer(self.client.get_async(_PAUSED))
            return pause_in(json.loads(content or b"[]"))
        except NoNodeError:
            return None
        except (TypeError, ValueError):
            raise LockError(f"{self.where}{_PAUSED}: {NO_PAUSE}") from None

    def draining(self) -> frozenset[str]:
        """Return the brokers that are being emptied."""
        try:
            return frozenset(self.answer(self.client.get_children_async(_DRAINING)))
        except NoNodeError:
            return frozenset()

    def brokers(self) -> frozenset[str]:
        """Return the ids of the brokers that are registered there."""
        try:
            return frozenset(self.answer(self.client.get_children_async(_BROKERS)))
        except NoNodeError:
            return frozenset()

    def is_there(self, path: str) -> bool:
        """Return whether a node is there."""
        return self.answer(self.client.exists_async(path)) is not None

    def answer(self, result: IAsyncResult) -> Any:  # noqa: ANN401 -- kazoo has no types
        """Return an answer, which is waited for.

        Raises:
            LockError: there is none.
            NoNodeError, NodeExistsError, BadVersionError: as the store says.
        """
        try:
            return result.get(timeout=_ANSWER_S)
        except (NoNodeError, NodeExistsError, BadVersionError):
            raise
        except NoAuthError:
            raise LockError(f"{self.where}: {ACL_CLOSED}") from None
        except (KazooException, KazooTimeoutError) as error:
            raise LockError(f"{self.where}: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True)
class StoreLock:
    """The lock, held; whoever takes it later has a higher number."""

    store: Store
    token: int

    @property
    def loss(self) -> str:
        """Return why it is not held any more, or may not be; empty while it is.

        While the store does not answer, it is waited for as long as the session may live:
        only then can somebody else have taken the lock.
        """
        client = self.store.client
        last = time.monotonic() + _SESSION_S
        while client.state == KazooState.SUSPENDED and time.monotonic() < last:
            time.sleep(_POLL_S)
        if client.state == KazooState.SUSPENDED:
            return f"{self.store.where} has not answered for {_SESSION_S:.0f} s, {_UNKNOWN}"
        try:
            _, stat = self.store.answer(client.get_async(_LOCK))
            token = self.store.answer(client.exists_async(_TOKEN))
        except NoNodeError:
            return TAKEN
        except LockError as error:
            return f"{error}, {_UNKNOWN}"
        is_ours = stat.ephemeralOwner == client.client_id[0] and token.version == self.token
        return "" if is_ours else TAKEN

    @property
    def is_ours(self) -> bool:
        """Return whether it is still held."""
        return not self.loss

    @property
    def is_stopped(self) -> bool:
        """Return whether the node is there that stops every run; unread, it is."""
        try:
            return self.store.is_there(_STOP)
        except LockError:
            return True

    @property
    def unloads(self) -> tuple[Unloaded, ...]:
        """Return what was unloaded in the last day, by whichever run."""
        return self.store.unloads()

    @property
    def draining(self) -> frozenset[str]:
        """Return the brokers that are being emptied; unread, there are none."""
        try:
            return self.store.draining()
        except LockError:
            return frozenset()

    @property
    def pause(self) -> Pause | None:
        """Return what a run has switched off and not put back; None if nothing."""
        return self.store.pause()

    def note_pause(self, pause: Pause | None) -> None:
        """Note that shedding is about to be switched off, or with None that it is put back.

        Raises:
            LockError: somebody else has taken the lock, or the store does not say it is noted.
        """
        self._fenced(_PAUSED, json.dumps(pause or []).encode())

    def note(self, asked: Asked) -> None:
        """Note an unload, if and only if nobody has taken the lock since.

        Raises:
            LockError: somebody has, or the store does not say that it is noted.
        """
        kept = recent((*self.unloads, noted(asked)), asked.time_s)
        self._fenced(_UNLOADS, json.dumps(kept).encode())

    def drain(self, broker: str) -> None:
        """Mark a broker as being emptied."""
        with suppress(NodeExistsError):
            self.store.answer(
                self.store.client.create_async(f"{_DRAINING}/{broker}", makepath=True)
            )

    def take_back(self, broker: str) -> None:
        """Remove that mark."""
        with suppress(NoNodeError):
            self.store.answer(self.store.client.delete_async(f"{_DRAINING}/{broker}"))

    def _fenced(self, path: str, content: bytes) -> None:
        """Write a node in one transaction with the check that the number is still the last."""
        writing = self.store.client.transaction()
        writing.check(_TOKEN, self.token)
        writing.set_data(path, content)
        results = self.store.answer(writing.commit_async())
        if any(isinstance(each, Exception) for each in results):
            raise LockError(f"{self.store.where}: {TAKEN}")


@contextmanager
def opened_store(
    metadata: str, within_s: float = _ANSWER_S, options: Mapping[str, Any] = NOTHING_ELSE
) -> Iterator[Store]:
    """Connect to the metadata store of a cluster.

    Raises:
        GatherError: it is no `zk://…`, or nobody answers there.
    """
    servers, _ = servers_of(metadata)
    where = f"zk://{servers}"
    client = store_client(servers, _SESSION_S, options)
    try:
        try:
            if not begun(client).wait(within_s):
                raise KazooTimeoutError
            # Without a time, what was asked at the moment of a refused login waits for ever.
            is_cluster = client.exists_async("/loadbalance").get(timeout=within_s) is not None
        except (KazooTimeoutError, KazooException, OSError) as error:
            raise GatherError(f"{where}: {unreached(error, options, within_s)}") from None
        if not is_cluster:
            raise GatherError(
                f"{where}: found no node /loadbalance, expected a Pulsar cluster's; "
                "does its path belong behind the address?"
            )
        yield Store(client, where)
    finally:
        _leave(client)


def _leave(client: KazooClient) -> None:
    """End a connection; one that there is not yet is not waited for."""
    is_connected = client.connected

    def end() -> None:
        client.stop()
        client.close()

    thread = threading.Thread(target=end, name="leaving-store", daemon=True)
    thread.start()
    if is_connected:
        thread.join()


@contextmanager
def store_lock(store: Store) -> Iterator[StoreLock]:
    """Hold the lock of a cluster; one whose holder was killed is waited for until it is free.

    Raises:
        LockError: somebody else holds it; says who.
    """
    client = store.client
    for path in (_ROOT, _DRAINING, _TOKEN, _UNLOADS, _PAUSED):
        with suppress(NodeExistsError):
            store.answer(client.create_async(path))
    _take(store)
    try:
        stat = store.answer(client.set_async(_TOKEN, _holder()))
        yield StoreLock(store, stat.version)
    finally:
        # What is not removed goes with the session.
        if client.connected:
            with suppress(LockError, NoNodeError):
                store.answer(client.delete_async(_LOCK))


def _take(store: Store) -> None:
    last = time.monotonic() + _SESSION_S + 2.0
    while True:
        try:
            store.answer(store.client.create_async(_LOCK, _holder(), ephemeral=True))
        except NodeExistsError:
            if time.monotonic() > last:
                holder = _holder_name(store)
                raise LockError(f"{store.where}: another run acts: {holder}") from None
            time.sleep(_POLL_S)
        else:
            return


def _holder_name(store: Store) -> str:
    try:
        content, _ = store.answer(store.client.get_async(_LOCK))
    except NoNodeError:
        return "it has just released the lock, so try again"
    return f"{bytes(content).decode('utf-8', 'replace')[:200]} holds the lock; wait for it to end"


def _holder() -> bytes:
    return f"process {os.getpid()} on {socket.gethostname()}".encode()
