"""Records a cluster from the first call to the last, whatever fails on the way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from trimtab.live.gather.access import Access, GatherError
from trimtab.live.gather.calls import CallError, Calls
from trimtab.live.gather.cluster import TROUBLE, Asker, Cluster
from trimtab.live.gather.copies import (
    Source,
    copy_logs,
    copy_zookeeper,
    log_folders,
    zookeeper_folders,
)
from trimtab.live.gather.folder import Folder, folder_name, now_text
from trimtab.live.gather.load_topics import LoadCounts, LoadTopics
from trimtab.live.gather.look import first_look, look
from trimtab.live.gather.prometheus import export
from trimtab.live.gather.state_topic import StateTopic, TopicCounts
from trimtab.live.gather.watched_store import StoreCounts, WatchedStore, servers_of


@dataclass(frozen=True, slots=True)
class GatherRequest:
    """What is to be recorded, and for how long."""

    admin: str
    prometheus: str | None = None
    #: How long before the recording Prometheus is asked for, too.
    back_s: float = 0.0
    #: zk://host:port/path
    metadata: str | None = None
    #: DIR or BROKER=DIR
    logs: tuple[str, ...] = ()
    zookeeper_data: tuple[Path, ...] = ()
    #: 0 for a single look.
    duration_s: float = 0.0
    every_s: float = 10.0
    metrics_every_s: float = 30.0
    #: Of log lines that print none; None if that is not known.
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a recording has become."""

    folder: Path
    cluster: str
    brokers: tuple[str, ...]
    looks: int
    answered: int
    failed: int
    #: What a watched store has given; None if none was watched.
    store: str | None
    #: What the topic of bundles' states has given; None if there is none.
    states: str | None
    #: What the topics of brokers' loads have given; None if there are none.
    loads: str | None
    #: What is missing, in whole sentences.
    warnings: tuple[str, ...]


def gather(
    request: GatherRequest,
    access: Access,
    output: Path,
    is_over: threading.Event,
    heard: Callable[[str, str], object] | None = None,
) -> Gathered:
    """Return what was recorded of a cluster until the time is up or it is over.

    `heard` is told of each line that is recorded, by the name of its file.

    Raises:
        GatherError: nothing can be recorded at all, or it is over before anything is; once
            the first call is answered, what fails is recorded as such.
    """
    ends = _ends(request, access)
    servers, root = servers_of(request.metadata) if request.metadata else (None, "")
    cluster = Cluster(web_address("--admin", request.admin))
    folder = Folder(output, heard)
    asker = Asker(Calls(access, is_over=is_over), cluster, folder)
    try:
        first_look(asker)
        cluster.store_root = root or cluster.store_root
        beside = _Beside(
            WatchedStore(servers, folder, is_over, access.store) if servers else None,
            StateTopic(asker, access) if cluster.has_state_topic else None,
            LoadTopics(cluster, access, folder) if cluster.has_load_topics else None,
        )
        n_looks, warnings = _record(asker, request, beside, ends, is_over)
    except OSError as error:
        raise GatherError(f"{output}: {error.strerror or error}") from None
    return Gathered(
        folder=output,
        cluster=cluster.name,
        brokers=tuple(cluster.addresses),
        looks=n_looks,
        answered=asker.n_answered,
        failed=asker.n_failed,
        store=beside.store.sentence if beside.store else None,
        states=beside.states.sentence if beside.states else None,
        loads=beside.loads.sentence if beside.loads else None,
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    """What is recorded when everything else has been."""

    logs: list[Source]
    #: What `--logs` names, where folders of further brokers may appear meanwhile.
    named: tuple[str, ...]
    stores: list[Source]
    prometheus: str | None
    #: Who asks Pulsar is not Prometheus' business, so nobody in particular asks.
    unnamed: Calls


@dataclass(slots=True)
class _Beside:
    """What is recorded beside the looks, and what has come of it in the end."""

    watched: WatchedStore | None
    topic: StateTopic | None
    heard: LoadTopics | None
    store: StoreCounts | None = None
    states: TopicCounts | None = None
    loads: LoadCounts | None = None

    def close(self) -> None:
        """Take a last look at everything."""
        self.loads = self.heard.close() if self.heard else None
        self.states = self.topic.close() if self.topic else None
        self.store = self.watched.close() if self.watched else None

    def warnings(self, *, is_silent: bool) -> Iterator[str]:
        """Yield what is missing, in whole sentences, of brokers that may print nothing."""
        kept, states, loads = self.store, self.states, self.loads
        if kept and (kept.changes.missed or kept.fault):
            yield f"Some writes to ZooKeeper are not in the recording: {kept.sentence}."
        if states and (states.missed or states.lost):
            yield f"Some states of bundles are not in the recording: {states.sentence}."
        if loads and not loads.is_whole:
            yield (
                f"Not all that brokers published of their loads is in the recording: "
                f"{loads.sentence}."
            )
        if loads and not loads.is_whole and is_silent:
            yield (
                "With loadBalancerDebugModeEnabled=false no log has what brokers published, so "
                "rounds of TransferShedder at times that were not heard cannot be decided again."
            )


def _ends(request: GatherRequest, access: Access) -> _Ends:
    """Return what is only looked at in the end, checked in the beginning."""
    return _Ends(
        log_folders(request.logs),
        request.logs,
        zookeeper_folders(request.zookeeper_data),
        web_address("--prometheus", request.prometheus) if request.prometheus else None,
        Calls(replace(access, header=dict)),
    )


def _record(
    asker: Asker,
    request: GatherRequest,
    beside: _Beside,
    ends: _Ends,
    is_over: threading.Event,
) -> tuple[int, tuple[str, ...]]:
    """Return the looks and the warnings of a recording, once it is over."""
    cluster, folder = asker.cluster, asker.folder
    began = datetime.now(UTC)
    folder.line(TROUBLE, time=now_text(), event="begin", cluster=cluster.name)
    warnings: list[str] = []
    n_looks = 0
    try:
        n_looks = _look_on(asker, request, beside, began, is_over)
    finally:
        beside.close()
        _copy(ends, folder, warnings)
        _export(ends, began - timedelta(seconds=request.back_s), folder, warnings)
        _describe(cluster, folder, began, request.time_zone)
        folder.line(TROUBLE, time=now_text(), event="end", looks=n_looks)
        folder.close()
    warnings += beside.warnings(is_silent=cluster.is_silent)
    if asker.n_failed:
        warnings.append(
            f"{asker.n_failed} calls failed, so their answers are missing; {TROUBLE} says which."
        )
    return n_looks, tuple(warnings)


def _look_on(
    asker: Asker,
    request: GatherRequest,
    beside: _Beside,
    began: datetime,
    is_over: threading.Event,
) -> int:
    """Return how often the cluster was looked at until the time was up."""
    start = time.monotonic()
    last = start + request.duration_s
    next_metrics = start
    known: tuple[str, ...] = ()
    n_looks = 0
    while not is_over.is_set():
        now = time.monotonic()
        has_metrics = now >= next_metrics
        look(asker, is_over, metrics=has_metrics, owners=beside.watched is None)
        if beside.topic:
            beside.topic.read(is_over)
        n_looks += 1
        if has_metrics:
            next_metrics = now + request.metrics_every_s
        if known != tuple(asker.cluster.addresses):
            known = tuple(asker.cluster.addresses)
            # Now already, so that what is there can be read if this ends without warning.
            _describe(asker.cluster, asker.folder, began, request.time_zone)
        if time.monotonic() >= last:
            break
        is_over.wait(max(0.0, min(last, now + request.every_s) - time.monotonic()))
    return n_looks


def _copy(ends: _Ends, folder: Folder, warnings: list[str]) -> None:
    """Copy logs and ZooKeeper's files, at the end, when they have all there is."""
    for sources, copied in ((_logs(ends), copy_logs), (ends.stores, copy_zookeeper)):
        for source in sources:
            try:
                copied(source, folder)
            except OSError as error:
                warnings.append(
                    f"{source.path} was not copied whole, so its end is missing here; copy it "
                    f"again: {error.strerror}."
                )


def _logs(ends: _Ends) -> list[Source]:
    """Return the folders of logs that there are in the end, or else those of the beginning."""
    try:
        return log_folders(ends.named)
    except GatherError:
        return ends.logs


def _export(ends: _Ends, since: datetime, folder: Folder, warnings: list[str]) -> None:
    if ends.prometheus is None:
        return
    try:
        export(ends.unnamed, ends.prometheus, since, datetime.now(UTC), folder)
    except CallError as error:
        folder.line(TROUBLE, time=now_text(), asked="prometheus", error=str(error))
        warnings.append(f"Prometheus: {error}.")


def _describe(cluster: Cluster, folder: Folder, began: datetime, zone: str | None) -> None:
    """Write recording.toml."""
    keys = {
        "cluster": cluster.name,
        "pulsar": cluster.release,
        "time_zone": zone,
        "from": began.isoformat(timespec="milliseconds"),
        "to": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "store_root": cluster.store_root,
    }
    # JSON's text is TOML's, too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if value]
    for broker in sorted(cluster.addresses):
        lines += ["", f"[brokers.{json.dumps(folder_name(broker))}]", f"id = {json.dumps(broker)}"]
    folder.whole("recording.toml", ("\n".join(lines) + "\n").encode())


def web_address(option: str, given: str) -> str:
    """Return the address of an API, checked, without a slash at its end."""
    parts = urlsplit(given)
    if parts.username is not None or parts.password is not None:
        host = parts.hostname
        raise GatherError(
            f"{option}: found a name or password in front of {host}, expected them in a client.conf"
        )
    try:
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise GatherError(f"{option}: found {given!r}, expected http://host:port or https://…")
    return given.rstrip("/")
