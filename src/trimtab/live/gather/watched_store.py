"""Watches a cluster's nodes in ZooKeeper, so that every write is seen as it happens.

A watch tells once that a node has changed, not what to: the node is read again, with a new
watch, within milliseconds.  Should it have been written twice by then, its version tells.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.exceptions import (
    AuthFailedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NoNodeError,
    SessionClosedRequireSaslError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, WatchedEvent, ZnodeStat

from trimtab.live.gather.access import GatherError
from trimtab.live.gather.calls import EndedError
from trimtab.live.gather.cluster import TROUBLE
from trimtab.live.gather.folder import STATES_FILE, Folder, now_text, time_text
from trimtab.live.gather.nodes import (
    BROKERS,
    ROOTS,
    STATES,
    Count,
    Kind,
    Ledger,
    NodeVersion,
    kind_of,
)
from trimtab.live.gather.store_access import begun, store_client, unreached

#: Options of a ZooKeeper that takes whoever comes.
NOTHING_ELSE: Mapping[str, Any] = {}
ACL_CLOSED = "its ACLs do not let us: see zookeeperDigest or zookeeperSasl in the client.conf"
_ANSWER_S = 10.0
#: Between two tries of what failed.
_PAUSE_S = 1.0
#: Between two looks whether an end is asked for.
_LOOK_S = 0.1
#: Reads that are under way at a time.
_AT_A_TIME = 256
#: In the queue of paths: all is to be looked at again.
_ALL = ""


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """What a watched store has given."""

    reports: int
    brokers: int
    changes: Count
    #: Why nothing was recorded any more, and since when; None if it was to the end.
    fault: str | None

    @property
    def sentence(self) -> str:
        """Return it in one sentence."""
        states, missed = self.changes.states_seen, self.changes.states_missed
        return (
            f"{self.reports} versions of the load reports of {self.brokers} brokers, "
            f"{self.changes.reports_missed} missed; {self.changes.owners_seen} changes of owners, "
            f"{self.changes.owners_missed} missed"
            + (f"; {states} states of bundles, {missed} missed" if states or missed else "")
        ) + (f"; ZooKeeper was recorded no further: {self.fault}" if self.fault else "")


class WatchedStore:
    """Watches the store of one cluster and records what is written to it."""

    def __init__(
        self,
        servers: str,
        folder: Folder,
        is_over: threading.Event,
        options: Mapping[str, Any] = NOTHING_ELSE,
    ) -> None:
        """Connect, and record how everything stands.

        Args:
            servers: with the path.
            folder: to record into.
            is_over: no answer is waited for any more.
            options: of kazoo, such as for TLS.

        Raises:
            GatherError: no ZooKeeper answers there before it is over, or it has no cluster of
                Pulsar's.
        """
        self._folder, self._is_over = folder, is_over
        self._ledger = Ledger()
        self._due: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._n_reports = 0
        self._fault: str | None = None
        self._brokers: set[str] = set()
        self._options = options
        self._client = store_client(servers, _ANSWER_S, options)
        self._connect(servers)
        # From here on only the thread reads and records.
        self._thread = threading.Thread(target=self._run, name="watched-store", daemon=True)
        self._thread.start()

    def close(self) -> StoreCounts:
        """Return what there is and what is missing, after a last look at everything."""
        self._ending.set()
        self._due.put(_ALL)
        # One that is not connected would be looked for until the time is up.
        self._thread.join(6 * _ANSWER_S if self._client.connected else _PAUSE_S / 2)
        self._client.remove_listener(self._on_connection)
        self._client.stop()
        self._client.close()
        changes = self._ledger.count()
        kept = StoreCounts(self._n_reports, len(self._brokers), changes, self._fault)
        self._folder.line(TROUBLE, time=now_text(), event="store", said=kept.sentence)
        return kept

    def _connect(self, servers: str) -> None:
        where = f"zk://{servers}"
        last = time.monotonic() + _ANSWER_S
        is_there = begun(self._client)
        while not is_there.wait(_LOOK_S):
            if self._is_over.is_set():
                raise EndedError(where)
            if time.monotonic() >= last:
                self._client.stop()
                why = unreached(KazooTimeoutError(), self._options, _ANSWER_S)
                raise GatherError(f"{where}: {why}")
        # Watches are lost with a connection, so all is looked at again after each.
        self._client.add_listener(self._on_connection)
        try:
            if self._client.exists(ROOTS[0]) is None:
                raise GatherError(
                    f"{where}: found no node {ROOTS[0]}, expected a Pulsar cluster's; "
                    "does its path belong behind the address?"
                )
            self._look(ROOTS)
        except NoAuthError:
            raise GatherError(f"{where}: {ACL_CLOSED}") from None
        except (SessionClosedRequireSaslError, ConnectionLoss, AuthFailedError) as error:
            self._client.stop()
            raise GatherError(f"{where}: {unreached(error, self._options, _ANSWER_S)}") from None
        except (KazooException, KazooTimeoutError) as error:
            raise GatherError(f"{where}: {_named(error)}") from None
        except BaseException:
            self._client.stop()
            raise
        self._ledger.is_begun = True

    def _on_connection(self, state: str) -> None:
        """Take that the connection was lost, or is there again; called by kazoo."""
        self._folder.line(TROUBLE, time=now_text(), event="store connection", said=str(state))
        if state == KazooState.CONNECTED:
            self._due.put(_ALL)

    def _on_change(self, event: WatchedEvent) -> None:
        """Take that a node has changed; called by kazoo."""
        if event.path is not None:
            self._due.put(event.path)

    def _run(self) -> None:
        is_failing = False
        while not (self._ending.is_set() and self._due.empty()):
            due = [self._due.get()]
            while not self._due.empty():
                due.append(self._due.get())
            paths = [*ROOTS, *self._ledger.nodes] if _ALL in due else list(dict.fromkeys(due))
            try:
                self._look(paths)
                is_failing = False
            except (KazooException, KazooTimeoutError) as error:
                if not is_failing:
                    self._folder.line(TROUBLE, time=now_text(), event="store", error=_named(error))
                is_failing = True
                # Not all has a new watch, so all is looked at again, but not at once.
                if not self._ending.wait(_PAUSE_S):
                    self._due.put(_ALL)
            except OSError as error:
                self._fault = f"{error.strerror or error} at {now_text()}"
                return

    def _look(self, paths: Iterable[str]) -> None:
        """Read nodes with a new watch each, and those below that are new; record changes."""
        is_first = not self._ledger.is_begun
        owners: dict[str, str | None] = {}
        averages: dict[str, object] = {}
        due = list(dict.fromkeys(paths))
        while due:
            below = []
            for path, answer in self._read(due):
                if kind_of(path) is Kind.PARENT:
                    below += self._listed(path, answer)
                else:
                    self._record(path, answer, owners, averages)
            due = list(dict.fromkeys(below))
        time = now_text()
        if averages:
            self._folder.line("store/bundles.jsonl", time=time, nodes=averages)
        if owners or is_first:
            self._folder.line("store/ownership.jsonl", time=time, full=is_first, change=owners)

    def _read(self, paths: list[str]) -> Iterator[tuple[str, tuple[Any, ZnodeStat] | None]]:
        """Return nodes, read many at a time; None for those that are not there."""
        for start in range(0, len(paths), _AT_A_TIME):
            pending = [(path, self._ask(path)) for path in paths[start : start + _AT_A_TIME]]
            for path, answer in pending:
                try:
                    yield path, answer.get(timeout=_ANSWER_S)
                except NoNodeError:
                    yield path, None
                except NoAuthError:
                    trouble = {
                        "event": "store",
                        "path": path,
                        "error": ACL_CLOSED,
                    }
                    self._folder.line(TROUBLE, time=now_text(), **trouble)

    def _ask(self, path: str) -> Any:  # noqa: ANN401  # kazoo has no types
        if kind_of(path) is Kind.PARENT:
            return self._client.get_children_async(path, watch=self._on_change, include_data=True)
        return self._client.get_async(path, watch=self._on_change)

    def _listed(self, path: str, answer: tuple[Any, ZnodeStat] | None) -> list[str]:
        """Return a parent's children that have not been read, and take note of all."""
        if answer is None:
            self._ledger.is_gone(path)
            if path in ROOTS:
                self._client.exists_async(path, watch=self._on_change)
            return []
        children, stat = answer
        self._ledger.listed(path, _node_version(stat))
        names = [f"{path}/{child}" for child in sorted(children)]
        return [it for it in names if it not in self._ledger.nodes and kind_of(it) is not None]

    def _record(
        self,
        path: str,
        answer: tuple[Any, ZnodeStat] | None,
        owners: dict[str, str | None],
        averages: dict[str, object],
    ) -> None:
        """Record a node if it has changed since it was seen."""
        kind = kind_of(path)
        if answer is None:
            if self._ledger.is_gone(path):
                self._record_departure(kind, path, owners)
            return
        content, stat = answer
        stamp = _node_version(stat)
        if self._ledger.was_made_again(path, stamp) and kind in {Kind.REPORT, Kind.STATE}:
            # It went before it came, and is seen after both: whoever sorts has to know.
            self._record_departure(kind, path, owners, before_ms=stat.ctime)
        if not self._ledger.is_new(path, stamp):
            return
        try:
            value = json.loads(content)
        except ValueError as error:
            trouble = {"event": "store", "path": path, "version": stamp.version}
            self._folder.line(
                TROUBLE, time=now_text(), **trouble, error=f"found no JSON, expected some: {error}"
            )
            return
        written = {"time": now_text(), "version": stat.version, "mtime": stat.mtime}
        if kind is Kind.REPORT:
            broker = path.removeprefix(f"{BROKERS}/")
            self._brokers.add(broker)
            self._n_reports += 1
            self._folder.line("store/brokers.jsonl", broker=broker, **written, report=value)
        elif kind is Kind.LEADER:
            self._folder.line("store/leader.jsonl", **written, leader=value)
        elif kind is Kind.AVERAGE:
            averages[path] = {"mtime": stat.mtime, "v": value}
        elif kind is Kind.STATE:
            self._record_state(path, time_text(stat.mtime), value)
        else:
            owners[path.removeprefix("/namespace/")] = owner_in(value)

    def _record_departure(
        self,
        kind: Kind | None,
        path: str,
        owners: dict[str, str | None],
        before_ms: int | None = None,
    ) -> None:
        """Record that a node is gone, where that means something."""
        if kind is Kind.REPORT:
            broker = path.removeprefix(f"{BROKERS}/")
            time_ = now_text() if before_ms is None else time_text(before_ms - 1)
            self._folder.line("store/brokers.jsonl", time=time_, broker=broker, report=None)
        elif kind is Kind.OWNER:
            owners[path.removeprefix("/namespace/")] = None
        elif kind is Kind.STATE:
            time_ = now_text() if before_ms is None else time_text(before_ms - 1)
            self._record_state(path, time_, None)

    def _record_state(self, path: str, time_: str, record: object) -> None:
        """Record a bundle's state as a message of the topic of states would have it."""
        bundle = path.removeprefix(f"{STATES}/")
        self._folder.line(STATES_FILE, time=time_, bundle=bundle, record=record)


def servers_of(metadata: str) -> tuple[str, str]:
    """Return the servers and the path of `zk://host:port,host:port/path`.

    Returns:
        What kazoo connects to, path included, and the path alone.

    Raises:
        GatherError: it is none.
    """
    head, _, rest = metadata.partition(":")
    servers, slash, path = rest.removeprefix("//").partition("/")
    root = (slash + path).rstrip("/")
    if "@" in metadata:
        raise GatherError("--metadata: found a name or password, expected zk://host:port/path")
    if head not in {"zk", "zookeeper"} or not servers or " " in metadata:
        raise GatherError(f"--metadata: found {metadata!r}, expected zk://host:port/path")
    return servers + root, root


def _node_version(stat: ZnodeStat) -> NodeVersion:
    return NodeVersion(stat.czxid, stat.version, stat.cversion)


def owner_in(value: object) -> str | None:
    """Return the id of the broker that owns a bundle."""
    if not isinstance(value, dict):
        return None
    url = value.get("httpUrl") or value.get("httpUrlTls") or ""
    return str(url).rpartition("//")[2].rstrip("/") or None


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
