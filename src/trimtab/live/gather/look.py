"""One look at a cluster: who is there, who leads, how loaded each broker is, who owns what."""

from __future__ import annotations

import json
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from trimtab.live.gather.calls import CallError
from trimtab.live.gather.cluster import (
    BROKERS,
    REPORT,
    RUNTIME,
    TROUBLE,
    Asker,
    broker_address,
    has_no_report,
    has_state_topic,
    is_extensible,
    is_silent,
    owned_path,
    release_of,
    root_of,
    settings_in,
)
from trimtab.live.gather.folder import folder_name, now_text
from trimtab.live.gather.settings import without_secrets

#: Brokers at a time.
_AT_A_TIME = 32
_WAIT_S = 0.2
_LEADER = f"{BROKERS}/leaderBroker"
_METRICS = "/metrics/"


def first_look(asker: Asker) -> None:
    """Learn what stays as it is: the cluster's name, release and place in the store.

    Raises:
        CallError: the admin API does not answer.
    """
    cluster = asker.cluster
    url = cluster.admin + RUNTIME
    settings = settings_in(asker.calls.json(url), url)
    cluster.name = str(settings["clusterName"])
    cluster.store_root = root_of(str(settings.get("metadataStoreUrl", "")))
    cluster.has_state_topic = has_state_topic(settings)
    cluster.has_load_topics = is_extensible(settings)
    cluster.is_silent = is_silent(settings)
    cluster.release = release_of(asker.calls, cluster.admin) or ""


def look(asker: Asker, is_over: threading.Event, *, metrics: bool, owners: bool) -> None:
    """Ask every active broker once, several at a time, and record what comes.

    Load reports are always asked for; leader and owners are told better by a watched store.

    Raises:
        GatherError: the token can no longer be read.
    """
    cluster = asker.cluster
    _list_brokers(asker)
    if owners:
        _record_leader(asker)
    pool = ThreadPoolExecutor(_AT_A_TIME, "gather")
    owned: dict[str, set[str] | None] = {}
    waiting: set[Future[None]] = {
        pool.submit(_ask_broker, asker, broker, owned, metrics=metrics, owners=owners)
        for broker in cluster.active
    }
    try:
        while waiting and not is_over.is_set():
            done, waiting = wait(waiting, timeout=_WAIT_S, return_when=FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if owned and not waiting:
        _record_owners(asker, owned)


def _list_brokers(asker: Asker) -> None:
    """Ask who is active, and learn where each is asked; who is known already stays known."""
    cluster = asker.cluster
    try:
        answer = asker.anyone(BROKERS)
    except CallError as error:
        asker.failed("", BROKERS, error)
        return
    if not isinstance(answer, list) or not all(isinstance(broker, str) for broker in answer):
        asker.failed("", BROKERS, CallError(cluster.admin, "no list of brokers"))
        return
    before, cluster.active = cluster.active, tuple(sorted(answer))
    if cluster.active != before:
        change = {"event": "active", "brokers": cluster.active}
        asker.folder.line(TROUBLE, time=now_text(), **change)
    for broker in cluster.active:
        if broker not in cluster.addresses:
            address = broker_address(asker.calls, cluster.admin, cluster.name, broker)
            cluster.addresses[broker] = address


def _record_leader(asker: Asker) -> None:
    cluster = asker.cluster
    try:
        answer = asker.anyone(_LEADER)
    except CallError as error:
        asker.failed("", _LEADER, error)
        return
    leader = answer if isinstance(answer, dict) else {}
    shown = json.dumps(leader, sort_keys=True)
    if "serviceUrl" in leader and shown != cluster.leader:
        cluster.leader = shown
        asker.folder.line("store/leader.jsonl", time=now_text(), leader=leader)


def _ask_broker(
    asker: Asker, broker: str, owned: dict[str, set[str] | None], *, metrics: bool, owners: bool
) -> None:
    """Ask one broker for all that it has to tell; stop at the first that it does not answer."""
    cluster, folder = asker.cluster, asker.folder
    if broker not in cluster.without_report and not _record_report(asker, broker):
        owned[broker] = None
        return
    if broker not in cluster.settled:
        settings = asker.json(broker, RUNTIME)
        if isinstance(settings, dict):
            text = json.dumps(without_secrets(settings), indent=0, sort_keys=True) + "\n"
            folder.whole(f"runtime-config/{folder_name(broker)}.json", text.encode())
            cluster.settled.add(broker)
    if metrics:
        time = now_text().replace(":", "-")
        scraped = asker.ask(broker, _METRICS)
        if scraped is not None:
            name = f"metrics/{folder_name(broker)}/{time}.prom.gz"
            folder.whole(name, _whole_lines(scraped.body), packed=True)
    if owners or broker in cluster.without_report:
        answer = asker.json(broker, owned_path(cluster.name, broker))
        owned[broker] = set(answer) if isinstance(answer, dict) else None


def _record_report(asker: Asker, broker: str) -> bool:
    """Return whether a broker answered at all; record its load report."""
    cluster = asker.cluster
    time = now_text()
    try:
        report = asker.calls.json(cluster.addresses[broker] + REPORT)
    except CallError as error:
        asker.failed(broker, REPORT, error)
        if has_no_report(error):
            cluster.without_report.add(broker)
        # Whoever refuses one question may answer another.
        return error.status is not None
    asker.answered(broker, REPORT)
    asker.folder.line("load-reports.jsonl", time=time, broker=broker, report=report)
    if not cluster.release and isinstance(report, dict):
        cluster.release = str(report.get("brokerVersionString") or "")
    return True


def _record_owners(asker: Asker, owned: dict[str, set[str] | None]) -> None:
    """Record who owns what, as far as it has changed.

    Of a broker that did not answer we know what we knew before, as long as it is active.
    """
    before = asker.cluster.owners
    silent = {broker for broker, bundles in owned.items() if bundles is None}
    now = {bundle: broker for bundle, broker in (before or {}).items() if broker in silent}
    for broker, bundles in sorted(owned.items()):
        now |= dict.fromkeys(sorted(bundles or ()), broker)
    if before is None:
        change: dict[str, str | None] = dict(now)
    else:
        change = {bundle: broker for bundle, broker in now.items() if before.get(bundle) != broker}
        change |= {bundle: None for bundle in before if bundle not in now}
    if change or before is None:
        is_full = before is None
        asker.folder.line("store/ownership.jsonl", time=now_text(), full=is_full, change=change)
    asker.cluster.owners = now


def _whole_lines(text: bytes) -> bytes:
    """Return a text without what stands behind the last end of a line."""
    return text[: text.rfind(b"\n") + 1]
