"""The command `python -m cluster.load`: producers and consumers that follow a profile."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click
import pulsar

from cluster.java import ClusterError
from cluster.places import join_store
from cluster.profile import Group, read_profile
from cluster.run import FOLDER
from cluster.state import State, host, load, web
from cluster.tokens import SUPER_USER, TENANT_ADMIN, token

_TICK_S = 0.05
_TOLD_EVERY_S = 10.0
#: At once to one topic, so that a client that was held up does not send all that it missed.
_BURST_MAX = 200
_PENDING_MAX = 2000


@dataclass
class Topic:
    """One topic's producer, and what has become of its messages."""

    name: str
    group: Group
    share: float
    producer: pulsar.Producer
    #: Messages that are due, with a fraction.
    due: float = 0.0
    sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    received: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, result: pulsar.Result, message: pulsar.MessageId) -> None:
        """Count what became of one message; called by the client's thread."""
        with self.lock:
            if result == pulsar.Result.Ok:
                self.acknowledged += 1
            else:
                self.failed += 1

    def listened(self, consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        """Take one message; called by the client's thread."""
        consumer.acknowledge(message)
        with self.lock:
            self.received += 1


def make_namespaces(state: State, groups: tuple[Group, ...]) -> None:
    """Make the tenants and namespaces that a profile needs, unless they are there."""
    admins = [TENANT_ADMIN] if state.asks_for_tokens else []
    rules = json.dumps({"allowedClusters": [state.name], "adminRoles": admins})
    for group in groups:
        tenant = group.namespace.partition("/")[0]
        _put(state, f"tenants/{tenant}", rules)
        policies = {"bundles": {"numBundles": group.bundles}}
        _put(state, f"namespaces/{group.namespace}", json.dumps(policies))


def drive(
    client: pulsar.Client, groups: tuple[Group, ...], out: Path, is_over: Callable[[float], bool]
) -> dict[str, int]:
    """Send by the profile until it is over; return how many messages were sent, and so on.

    Args:
        client: of the cluster.
        groups: the profile.
        out: what was really sent, a line of JSON a topic every ten seconds.
        is_over: tells by the seconds since the start.
    """
    with ThreadPoolExecutor(8) as several:
        makers = [
            several.submit(_topic, client, group, name, share)
            for group in groups
            for name, share in zip(group.topic_names, group.shares, strict=True)
        ]
        topics = [maker.result() for maker in makers]
    began = last = time.monotonic()
    told = 0.0
    payloads = {group.bytes: bytes(group.bytes) for group in groups}
    while not is_over(last - began):
        now = time.monotonic()
        for topic in topics:
            rate = topic.group.rate(now - began) * topic.share
            topic.due = min(topic.due + rate * (now - last), _BURST_MAX)
            _send(topic, payloads[topic.group.bytes])
        last = now
        if now - began - told >= _TOLD_EVERY_S:
            told = now - began
            _tell(out, topics, told)
        time.sleep(max(0.0, _TICK_S - (time.monotonic() - now)))
    _tell(out, topics, last - began)
    kinds = ("sent", "acknowledged", "failed", "received")
    return {kind: sum(getattr(topic, kind) for topic in topics) for kind in kinds}


def _topic(client: pulsar.Client, group: Group, name: str, share: float) -> Topic:
    producer = client.create_producer(
        name,
        send_timeout_millis=60_000,
        max_pending_messages=_PENDING_MAX,
        batching_enabled=False,
    )
    topic = Topic(name, group, share, producer)
    for _ in range(group.consumers):
        client.subscribe(
            name,
            "all",
            consumer_type=pulsar.ConsumerType.Shared,
            message_listener=topic.listened,
            receiver_queue_size=200,
        )
    return topic


def _send(topic: Topic, payload: bytes) -> None:
    """Send what is due; what the client does not take is counted and not sent again."""
    n_due = int(topic.due)
    topic.due -= n_due
    for _ in range(n_due):
        try:
            topic.producer.send_async(payload, topic.answered)
        except pulsar.PulsarException:
            with topic.lock:
                topic.failed += 1
        else:
            topic.sent += 1


def _tell(out: Path, topics: list[Topic], second: float) -> None:
    time_now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with out.open("a", encoding="utf-8") as file:
        for topic in topics:
            counts = {
                "sent": topic.sent,
                "acknowledged": topic.acknowledged,
                "failed": topic.failed,
            }
            told = {"time": time_now, "second": round(second, 1), "topic": topic.name, **counts}
            file.write(json.dumps(told | {"received": topic.received}) + "\n")


def _put(state: State, path: str, body: str) -> None:
    """Make something over the admin API; that it is there already is as good."""
    number = min(int(name[6:]) for name in state.processes if name.startswith("broker"))
    url = f"{web(number, state.network)}/admin/v2/{path}"
    headers = {"Content-Type": "application/json"}
    if state.asks_for_tokens:
        headers["Authorization"] = f"Bearer {token(state.folder, SUPER_USER)}"
    request = urllib.request.Request(url, body.encode(), headers, method="PUT")
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise ClusterError(f"PUT {url}: {error.code} {error.read(500)!r}") from None


@click.command()
@click.argument("profile", type=click.Path(path_type=Path))
@click.option("--for", "seconds", type=float, default=600.0, show_default=True, help="Seconds.")
def main(profile: Path, seconds: float) -> None:
    """Drive the cluster with the load of PROFILE, a TOML file, until SIGTERM or the time is up."""
    ending = threading.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda number, frame: ending.set())
    try:
        state = load(FOLDER)
        groups = read_profile(profile)
        join_store(state)
        make_namespaces(state, groups)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    numbers = sorted(int(name[6:]) for name in state.processes if name.startswith("broker"))
    addresses = ",".join(f"{host(number, state.network)}:6650" for number in numbers)
    said = pulsar.FileLogger(pulsar.LoggerLevel.Warn, str(FOLDER / "client.log"))
    known = (
        pulsar.AuthenticationToken(token(state.folder, SUPER_USER))
        if state.asks_for_tokens
        else None
    )
    client = pulsar.Client(
        f"pulsar://{addresses}",
        operation_timeout_seconds=60,
        authentication=known,
        logger=said,
    )
    click.echo("loading")
    totals = drive(client, groups, FOLDER / "load.jsonl", lambda s: s >= seconds or ending.is_set())
    click.echo(json.dumps(totals))
    sys.stdout.flush()
    # The client's threads still call back into an interpreter that is being taken down.
    os._exit(0)


if __name__ == "__main__":
    main()
