"""The two topics of brokers' loads, listened to through Pulsar's own client.

They are not persistent: whoever does not listen when something is published never has it.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from trimtab.files.errors import missing_extra
from trimtab.live.gather.access import Access
from trimtab.live.gather.cluster import TROUBLE, Cluster
from trimtab.live.gather.folder import BUNDLES_FILE, LOADS_FILE, Folder, now_text, time_text

#: File of a recording → the topic of which it has the messages.
_TOPICS = {
    LOADS_FILE: "non-persistent://pulsar/system/loadbalancer-broker-load-data",
    BUNDLES_FILE: "non-persistent://pulsar/system/loadbalancer-top-bundles-load-data",
}
#: So long it is waited for a message before it is looked whether there still is a connection.
_LOOK_MS = 20
#: Between two tries to listen.
_PAUSE_S = 0.5
_CONNECT_MS, _ANSWER_S = 3_000, 10
#: So long an end waits for a message that is being read.
_LAST_S = 2.0


@dataclass(slots=True)
class _Heard:
    """What came of one topic."""

    messages: int = 0
    brokers: set[str] = field(default_factory=set)
    #: Times at which it was not listened to any more, and how long that was in all, s.
    breaks: int = 0
    silent_s: float = 0.0
    #: When it was last known not to be listened to; None while it is.
    since: float | None = None
    #: It was listened to at least once.
    is_begun: bool = False
    #: What was wrong the last time; empty if nothing was.
    fault: str = ""

    @property
    def was_silent_s(self) -> float:
        """Return how long it was not listened to, the last time included."""
        return self.silent_s + (0.0 if self.since is None else time.monotonic() - self.since)


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """What the topics have given."""

    loads: int
    bundles: int
    brokers: int
    #: Times at which one of them was not listened to any more, and for how long in all, s.
    breaks: int
    silent_s: float
    #: Both were listened to at least once.
    is_begun: bool
    #: What was wrong in the end; empty if nothing was.
    fault: str

    @property
    def is_whole(self) -> bool:
        """Return whether both were listened to all the time."""
        return self.is_begun and not self.breaks and not self.fault

    @property
    def sentence(self) -> str:
        """Return it in one sentence."""
        if not self.is_begun:
            why = self.fault or "there was no connection before the end"
            return f"their topics were not listened to: {why}"
        silent = f"not listened to {self.breaks} times, {self.silent_s:.1f} s in all"
        return (
            f"{self.loads} messages of loads and {self.bundles} of heaviest bundles by "
            f"{self.brokers} brokers; {silent if self.breaks else 'listened to all the time'}"
            f"{f'; {self.fault}' if self.fault else ''}"
        )


class LoadTopics:
    """Listens to both topics from now on, in threads of its own."""

    def __init__(self, cluster: Cluster, access: Access, folder: Folder) -> None:
        """Begin to listen, if Pulsar's client is installed."""
        self._folder, self._ending = folder, threading.Event()
        self._heard = {name: _Heard(since=time.monotonic()) for name in _TOPICS}
        self._client: Any = None
        self._threads: list[threading.Thread] = []
        self._absent = ""
        try:
            import pulsar  # noqa: PLC0415  # an extra brings it
        except ModuleNotFoundError as error:
            self._absent = missing_extra(error.name or "") or str(error)
            return
        self._pulsar: ModuleType = pulsar
        self._client = _client(pulsar, cluster, access)
        self._threads = [
            threading.Thread(target=self._run, args=(name,), name=topic, daemon=True)
            for name, topic in _TOPICS.items()
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> LoadCounts:
        """Return what there is, and listen no longer."""
        self._ending.set()
        heard = list(self._heard.values())
        for topic, thread in zip(heard, self._threads, strict=False):
            # Whoever does not listen may wait long for an answer.
            thread.join(_LAST_S if topic.since is None else 0.0)
        if self._client is not None:
            with suppress(Exception):
                # What still hangs on an answer is let go.
                self._client.shutdown()
        faults = list(dict.fromkeys(each.fault for each in heard if each.fault))
        counts = LoadCounts(
            loads=self._heard[LOADS_FILE].messages,
            bundles=self._heard[BUNDLES_FILE].messages,
            brokers=len(set[str]().union(*(each.brokers for each in heard))),
            breaks=sum(each.breaks for each in heard),
            silent_s=sum(each.was_silent_s for each in heard if each.breaks),
            is_begun=all(each.is_begun for each in heard),
            fault=self._absent or "; ".join(faults),
        )
        self._folder.line(TROUBLE, time=now_text(), event="topics of loads", said=counts.sentence)
        return counts

    def _run(self, name: str) -> None:
        """Listen to a topic until the end, and again whenever that fails."""
        heard = self._heard[name]
        while not self._ending.is_set():
            try:
                reader = self._client.create_reader(_TOPICS[name], self._pulsar.MessageId.latest)
                self._answers(name)
                for message in self._messages(name, reader):
                    self._record(name, message)
                reader.close()
            except self._pulsar.PulsarException as error:
                self._failed(name, error)
                self._ending.wait(_PAUSE_S)
            except OSError as error:
                heard.fault = f"recorded no further: {error.strerror or error} at {now_text()}"
                return
        if heard.since is None:
            self._folder.line(name, time=now_text(), is_heard=False)

    def _messages(self, name: str, reader: Any) -> Iterator[Any]:  # noqa: ANN401  # the client has no types
        """Yield messages until the end, and note whether they can come at all."""
        while not self._ending.is_set():
            self._stands(name, is_heard=reader.is_connected())
            with suppress(self._pulsar.Timeout):
                yield reader.read_next(timeout_millis=_LOOK_MS)

    def _stands(self, name: str, *, is_heard: bool) -> None:
        """Write down that a topic is listened to from now on, or not any more."""
        heard = self._heard[name]
        if is_heard == (heard.since is None):
            return
        now = time.monotonic()
        if is_heard:
            assert heard.since is not None
            heard.silent_s += (now - heard.since) if heard.breaks else 0.0
            heard.since, heard.is_begun = None, True
        else:
            heard.breaks += 1
            heard.since = now
        self._folder.line(name, time=now_text(), is_heard=is_heard)

    def _record(self, name: str, message: Any) -> None:  # noqa: ANN401  # the client has no types
        heard, broker = self._heard[name], message.partition_key()
        try:
            record = json.loads(message.data()) if message.data() else None
        except ValueError as error:
            trouble = {"broker": broker, "asked": _TOPICS[name]}
            wrong = f"found no JSON, expected some: {error}"
            self._folder.line(TROUBLE, time=now_text(), **trouble, error=wrong)
            return
        heard.messages += 1
        heard.brokers.add(broker)
        published = time_text(message.publish_timestamp())
        self._folder.line(name, time=now_text(), published=published, broker=broker, record=record)

    def _failed(self, name: str, error: Exception) -> None:
        """Note that a topic cannot be listened to; of many times in a row only the first."""
        heard = self._heard[name]
        self._stands(name, is_heard=False)
        was, heard.fault = heard.fault, f"{_TOPICS[name]}: {error}"
        if not was and not self._ending.is_set():
            trouble = {"asked": _TOPICS[name], "error": str(error)}
            self._folder.line(TROUBLE, time=now_text(), **trouble)

    def _answers(self, name: str) -> None:
        """Note that a topic can be listened to, with a line if it could not before."""
        heard = self._heard[name]
        if heard.fault:
            event = {"asked": _TOPICS[name], "event": "answers again"}
            self._folder.line(TROUBLE, time=now_text(), **event)
        heard.fault = ""


def _client(pulsar: ModuleType, cluster: Cluster, access: Access) -> Any:  # noqa: ANN401  # the client has no types
    """Return Pulsar's client as a client.conf has it; nobody is called by that.

    Quirks:
        Without `brokerServiceUrl` it asks the admin API which broker has a topic.
    """
    options: dict[str, Any] = dict(access.client)
    address = options.pop("service_url", None) or cluster.admin
    certificate = options.pop("certificate", None)
    authentication = _authentication(pulsar, access, certificate)
    # Of its own it trusts others than the system does.
    trusted = ssl.get_default_verify_paths().cafile
    if trusted:
        options.setdefault("tls_trust_certs_file_path", trusted)
    return pulsar.Client(
        address,
        authentication=authentication,
        operation_timeout_seconds=_ANSWER_S,
        connection_timeout_ms=_CONNECT_MS,
        # What it has to say is said by what it raises; else it would write to the terminal.
        logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
        **options,
    )


def _authentication(pulsar: ModuleType, access: Access, certificate: tuple[str, str] | None) -> Any:  # noqa: ANN401  # the client has no types
    """Return who asks; None for nobody in particular."""
    if certificate is not None:
        return pulsar.AuthenticationTLS(*certificate)
    scheme, _, credential = access.header().get("Authorization", "").partition(" ")
    if scheme == "Bearer":
        # It is asked for at each connection, since tokens are renewed.
        return pulsar.AuthenticationToken(lambda: _credential(access.header()))
    if scheme == "Basic":
        user, _, password = base64.b64decode(credential).decode().partition(":")
        return pulsar.AuthenticationBasic(user, password)
    return None


def _credential(header: Mapping[str, str]) -> str:
    return header["Authorization"].partition(" ")[2]
