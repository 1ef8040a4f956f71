"""What is known of the cluster that is being recorded, and how it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from trimtab.live.gather.calls import Answer, CallError, Calls, EndedError
from trimtab.live.gather.folder import Folder, now_text
from trimtab.pulsar.channel import IN_STORE, MANAGER

#: Where it stands what went wrong, and when a broker answered again.
TROUBLE = "gather.jsonl"
#: Paths of the admin API.
BROKERS = "/admin/v2/brokers"
RUNTIME = f"{BROKERS}/configuration/runtime"
REPORT = "/admin/v2/broker-stats/load-report"
_VIEW = "loadManagerServiceUnitStateTableViewClassName"
_SYNCER, _NO_SYNCER = "loadBalancerServiceUnitTableViewSyncer", "None"
_HAS_NO_REPORT = "UnsupportedOperationException"


@dataclass
class Cluster:
    """A cluster as far as it has told, from look to look."""

    #: Where the first call goes: any broker's admin API.
    admin: str
    #: Empty until a broker has told.
    name: str = ""
    release: str = ""
    #: Path of the cluster's nodes in ZooKeeper.
    store_root: str = ""
    #: Broker id → address of its admin API, of all that were ever active.
    addresses: dict[str, str] = field(default_factory=dict)
    active: tuple[str, ...] = ()
    leader: str | None = None
    #: Bundle → broker id; None before all have been asked once.
    owners: dict[str, str] | None = None
    #: Brokers whose settings are recorded.
    settled: set[str] = field(default_factory=set)
    #: Brokers under the extensible load manager, which report no load when asked.
    without_report: set[str] = field(default_factory=set)
    #: The states of bundles are kept in a topic, as far as the first broker's settings tell.
    has_state_topic: bool = False
    #: Its brokers publish their loads to topics that keep nothing, as far as the settings tell.
    has_load_topics: bool = False
    #: Its brokers say in no log what they publish of their loads.
    is_silent: bool = False


class Asker:
    """Asks a cluster; what is not answered becomes a line, and is no error."""

    def __init__(self, calls: Calls, cluster: Cluster, folder: Folder) -> None:
        """Prepare, without asking anybody."""
        self.calls, self.cluster, self.folder = calls, cluster, folder
        self.n_answered = self.n_failed = 0
        #: Broker and what it was asked → how often in a row it did not answer.
        self._failing: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def json(self, broker: str, path: str) -> object:
        """Return the JSON that a broker answers; None if there is none."""
        answer = self.ask(broker, path)
        if answer is None:
            return None
        try:
            return json.loads(answer.body)
        except ValueError as error:
            wrong = f"the answer of {len(answer.body)} bytes is not JSON: {error}"
            self.failed(broker, path, CallError(answer.url, wrong))
            return None

    def ask(self, broker: str, path: str) -> Answer | None:
        """Return a broker's answer; None if there is none.

        Raises:
            GatherError: the token can no longer be read.
        """
        try:
            answer = self.calls.get(self.cluster.addresses[broker] + path)
        except CallError as error:
            self.failed(broker, path, error)
            return None
        self.answered(broker, path)
        return answer

    def anyone(self, path: str) -> object:
        """Return the answer of where the first call goes, or else of the first that answers.

        Raises:
            CallError: nobody answers; the error is the first one's.
        """
        others = [self.cluster.addresses[broker] for broker in self.cluster.active]
        return first_answer(self.calls, [self.cluster.admin, *others], path)

    def anywhere(self, path: str, calls: Calls | None = None) -> Answer:
        """Return the answer of where the first call goes, or else of the first that has one.

        Args:
            path: of the admin API.
            calls: other calls than the usual ones, such as after an end was asked for.

        Raises:
            CallError: nobody answers; the error is the first one's.
        """
        first: CallError | None = None
        others = (self.cluster.addresses[broker] for broker in self.cluster.active)
        for address in dict.fromkeys((self.cluster.admin, *others)):
            try:
                return (calls or self.calls).get(address + path)
            except CallError as error:
                first = first or error
        assert first is not None
        raise first

    def answered(self, broker: str, path: str) -> None:
        """Note that a broker answered, with a line if it did not before."""
        with self._lock:
            self.n_answered += 1
            times = self._failing.pop((broker, path), 0)
        if times:
            event = {"broker": broker, "asked": path, "event": "answers again", "failed": times}
            self.folder.line(TROUBLE, time=now_text(), **event)

    def failed(self, broker: str, path: str, error: CallError) -> None:
        """Note that somebody did not answer; of many times in a row only the first."""
        if isinstance(error, EndedError):
            return
        with self._lock:
            self.n_failed += 1
            times = self._failing[broker, path] = self._failing.get((broker, path), 0) + 1
        if times == 1:
            event = {"broker": broker or None, "asked": path, "status": error.status}
            self.folder.line(TROUBLE, time=now_text(), **event, error=error.reason)


def first_answer(
    calls: Calls, addresses: Iterable[str], path: str, final: Collection[int] = ()
) -> object:
    """Return the answer of the first address that answers in JSON.

    Raises:
        CallError: none does, and the error is the first one's; or one has answered with a
            status that is final.
    """
    first: CallError | None = None
    for address in dict.fromkeys(addresses):
        try:
            return calls.json(address + path)
        except CallError as error:
            if error.status in final:
                raise
            first = first or error
    assert first is not None
    raise first


def settings_in(answer: object, url: str) -> dict[str, object]:
    """Return the settings that a broker has answered.

    Raises:
        CallError: they are none, so it is no broker of Pulsar's.
    """
    if not isinstance(answer, dict) or "clusterName" not in answer:
        raise CallError(url, "no settings of a broker: expected the admin API of Pulsar")
    return answer


def is_extensible(settings: Mapping[str, object]) -> bool:
    """Return whether the extensible load manager runs."""
    return str(settings.get("loadManagerClassName")).endswith(MANAGER)


def is_silent(settings: Mapping[str, object]) -> bool:
    """Return whether brokers publish their loads to topics alone, and print none of it."""
    is_debugging = str(settings.get("loadBalancerDebugModeEnabled")).lower() == "true"
    return is_extensible(settings) and not is_debugging


def has_state_topic(settings: Mapping[str, object]) -> bool:
    """Return whether a cluster keeps the states of its bundles in a topic, copies included."""
    texts = {key: str(value) for key, value in settings.items() if value is not None}
    if not is_extensible(settings):
        return False
    is_kept_there = not texts.get(_VIEW, "").endswith(IN_STORE)
    return is_kept_there or texts.get(_SYNCER, _NO_SYNCER) != _NO_SYNCER


def release_of(calls: Calls, admin: str) -> str | None:
    """Return a cluster's release; None before 2.11, where only load reports tell."""
    try:
        answer = calls.get(f"{admin}{BROKERS}/version").body
    except CallError:
        return None
    return answer.decode("ascii", "replace").strip()[:40]


def has_no_report(error: CallError) -> bool:
    """Return whether a broker under the extensible load manager was asked for its load report."""
    return error.status == 500 and _HAS_NO_REPORT in error.reason


def owned_path(cluster: str, broker: str) -> str:
    """Return the path of the bundles that a broker owns."""
    return f"{BROKERS}/{quote(cluster, safe='')}/{quote(broker, safe=':')}/ownedNamespaces"


def broker_address(calls: Calls, admin: str, cluster: str, broker: str) -> str:
    """Return where a broker is asked.

    Its id has the port of one of its two addresses.  The one that is spoken here is where
    it is redirected who asks another broker for what only this one can tell.
    """
    scheme = urlsplit(admin).scheme
    if scheme != "http":
        with suppress(CallError):
            there = urlsplit(calls.get(admin + owned_path(cluster, broker)).url)
            return f"{there.scheme}://{there.netloc}"
    return f"{scheme}://{broker}"


def root_of(metadata_store: str) -> str:
    """Return the path behind the servers in `zk:host:2181,host:2181/shop`; often empty."""
    if not metadata_store.startswith("zk:"):
        return ""
    _, slash, path = metadata_store.removeprefix("zk:").lstrip("/").partition("/")
    return (slash + path).rstrip("/")
