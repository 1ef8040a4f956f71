"""The command `python -m cluster.extensible`: a real extensible load manager at work, recorded.

Three brokers, each with a network card of its own, in debug mode.  `trimtab apply` brings all
bundles to one of them, the leader transfers some of them away, `trimtab drain` empties a broker,
and one is killed at once while a bundle is on its way to it.  What comes out is a recording like
any other, with what the commands said beside it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import pulsar
from kazoo.client import KazooClient

from cluster import kernel
from cluster.drive import ROOT, beside, get, leader, put, until
from cluster.java import HERE, ClusterError
from cluster.run import FOLDER, down, leave, stopped_on_failure, up
from cluster.state import State, broker_id, host, log, store, web

BROKERS = 3
NAMESPACE = "shop/orders"
_PACKAGE = "org.apache.pulsar.broker.loadbalance.extensions"
#: Where states of bundles are kept → the class that keeps them there.
VIEWS = {
    "topic": f"{_PACKAGE}.channel.ServiceUnitStateTableViewImpl",
    "store": f"{_PACKAGE}.channel.ServiceUnitStateMetadataStoreTableViewImpl",
}
_SETTINGS = {
    "loadManagerClassName": f"{_PACKAGE}.ExtensibleLoadManagerImpl",
    "loadBalancerLoadSheddingStrategy": f"{_PACKAGE}.scheduler.TransferShedder",
    "loadBalancerLoadPlacementStrategy": f"{_PACKAGE}.strategy.LeastResourceUsageWithWeight",
    "loadBalancerDebugModeEnabled": "true",
    # Until all bundles are where they are to be shed from.
    "loadBalancerSheddingEnabled": "false",
    "loadBalancerSheddingConditionHitCountThreshold": "1",
    "loadBalancerBrokerLoadTargetStd": "0.05",
    "loadBalancerHistoryResourcePercentage": "0.5",
    # The card alone: the processor's share is the machine's affair.
    "loadBalancerCPUResourceWeight": "0",
    "loadBalancerOverrideBrokerNicSpeedGbps": "0.02",
    "systemTopicEnabled": "true",
    "topicLevelPoliciesEnabled": "true",
    # Which counts it in seconds where rounds are, and is the same in both.
    "loadBalancerSheddingGracePeriodMinutes": "0",
}
#: Clocks of a test, where minutes count as seconds, and those of a recording.
_QUICK = {
    "loadBalancerSheddingIntervalMinutes": "5",
    "loadBalanceSheddingDelayInSeconds": "8",
    "loadBalancerHostUsageCheckIntervalMinutes": "2",
    "loadBalancerReportUpdateMinIntervalMillis": "1000",
    "statsUpdateFrequencyInSecs": "3",
    "statsUpdateInitialDelayInSecs": "3",
}
_USUAL = {
    "loadBalancerSheddingIntervalMinutes": "1",
    "loadBalanceSheddingDelayInSeconds": "90",
    "loadBalancerHostUsageCheckIntervalMinutes": "1",
}
#: Three rounds of a test, and one of a recording.
_QUIET_S = {True: 16.0, False: 75.0}
#: Brokers have only just started; what a move brings is not what is looked at here.
_LIMITS = {
    **{"broker_age_min_s": 0.1, "bar_percent": 1e9, "settle_s": 0.2, "in_flight_s": 20},
    **{"attempts": 4, "verify_s": 10, "grace_s": 0.1, "moves_per_round": 99},
    "moves_per_hour": 999,
}
_TOPIC = "persistent://pulsar/system/loadbalancer-service-unit-state"
_STATES = "/service_unit_state"
_UNLOADS = re.compile(rb"Unloading bundle: Unload\[")
_WAIT_S = 240.0
_COMMAND_S = 240.0


@dataclass
class Night:
    """A running cluster that is recorded."""

    state: State
    #: Where everything goes that comes out.
    out: Path
    #: So long without an unload, and the leader has nothing left to transfer.
    quiet_s: float

    def crowd(self) -> int:
        """Bring all bundles to one broker, which does not lead, and return its number."""
        crowded = self.followers()[0]
        destination = self.id(crowded)
        moves = [
            {"bundle": bundle, "source": owner, "destination": destination, "reason": "to crowd"}
            for bundle, owner in sorted(self.owners().items())
            if owner != destination
        ]
        plan = self.out / "apply.plan"
        limits = {"cluster": self.state.name, "made_s": time.time(), "limits": _LIMITS}
        plan.write_text(json.dumps({**limits, "moves": moves}), encoding="utf-8")
        self._trimtab("applied", "apply", str(plan), "--yes")
        return crowded

    def shed(self) -> None:
        """Have the leader transfer bundles until it has nothing to transfer for some rounds."""
        self._sheds(is_on=True)
        until("an unload", lambda: self.unloads() > 0, _WAIT_S)
        n_unloads, since = self.unloads(), time.monotonic()
        while time.monotonic() - since < self.quiet_s:
            time.sleep(0.5)
            if self.unloads() > n_unloads:
                n_unloads, since = self.unloads(), time.monotonic()
        self._sheds(is_on=False)

    def drain(self, number: int) -> None:
        """Empty a broker."""
        plan = self.out / "drain.plan"
        words = ["drain", self.id(number), "--bar", "100", "--every", "0.5s", "-o", str(plan)]
        self._trimtab("looked", *words, is_refusal_fine=True)
        patient = json.loads(plan.read_text(encoding="utf-8")) | {"limits": _LIMITS}
        plan.write_text(json.dumps(patient), encoding="utf-8")
        self._trimtab("drained", "apply", str(plan), "--yes")

    def kill_target(self, target: int) -> str:
        """Kill a broker while a bundle is on its way to it, and return the bundle.

        The broker stands still first, so that the bundle does not arrive before it is killed.
        """
        owned = sorted(self.owners().items())
        bundle = next(name for name, owner in owned if owner != self.id(target))
        frozen = self.state.processes[f"broker{target}"].pid
        os.kill(frozen, signal.SIGSTOP)
        try:
            self._unload(bundle, target)
            on_its_way = f"serviceUnit:{bundle}, data:ServiceUnitStateData[state=Assigning"
            mark = re.compile(re.escape(f"{on_its_way}, dstBroker={self.id(target)}").encode())
            until("the bundle on its way", lambda: self._lines(mark) > 0, _WAIT_S)
            leave(self.state, target, signal.SIGKILL)
        finally:
            # Whoever is dead takes no signal; whoever is not is to be stopped in the end.
            if f"broker{target}" in self.state.processes:
                os.kill(frozen, signal.SIGCONT)
        # Brokers that have not read that it was released still say that they own it.
        received = f"received a handle request for serviceUnit:{bundle}, data:ServiceUnitStateData"
        forced = re.compile(
            rf"{re.escape(received)}\[state=Owned, dstBroker=[^\]]*, force=true,".encode()
        )
        until("its new owner", lambda: self._lines(forced) > 0, _WAIT_S)
        return bundle

    def owners(self) -> dict[str, str]:
        """Return by bundle of the namespace the broker that says it owns it."""
        owned: dict[str, str] = {}
        for number in range(1, BROKERS + 1):
            path = f"brokers/{self.state.name}/{self.id(number)}/ownedNamespaces"
            names = get(self.state, number, path)
            owned |= {n: self.id(number) for n in names if n.startswith(f"{NAMESPACE}/")}
        return owned

    def unloads(self) -> int:
        """Return how many bundles leaders have said to unload."""
        return self._lines(_UNLOADS)

    def _lines(self, mark: re.Pattern[bytes]) -> int:
        logs = [
            log(self.state.folder, f"broker{i + 1}", self.state.network) for i in range(BROKERS)
        ]
        return sum(len(mark.findall(path.read_bytes())) for path in logs)

    def followers(self) -> list[int]:
        """Return the brokers that do not lead."""
        chosen = leader(self.state)
        return [number for number in range(1, BROKERS + 1) if number != chosen]

    def id(self, number: int) -> str:
        """Return what Pulsar calls a broker."""
        return broker_id(number, self.state.network)

    def _sheds(self, *, is_on: bool) -> None:
        path = f"brokers/configuration/loadBalancerSheddingEnabled/{str(is_on).lower()}"
        put(f"{web(leader(self.state), self.state.network)}/admin/v2/{path}", "POST")
        self.state.acted("shedding", is_on=is_on)

    def _unload(self, bundle: str, target: int) -> None:
        """Ask for a transfer that will not end before its destination does."""
        path = f"namespaces/{quote(bundle)}/unload?destinationBroker={self.id(target)}"
        url = f"{web(leader(self.state), self.state.network)}/admin/v2/{path}"
        self.state.acted("unload", bundle=bundle, destination=self.id(target))
        threading.Thread(target=put, args=(url,), daemon=True).start()

    def _trimtab(self, name: str, *words: str, is_refusal_fine: bool = False) -> None:
        """Run a command of trimtab's to its end, and keep what it says."""
        admin = ("--admin", web(leader(self.state), self.state.network))
        asked = [*words, *admin, "--state", str(self.out / "state"), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "trimtab", *asked],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])},
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_S,
        )
        (self.out / f"{name}.json").write_text(done.stdout, encoding="utf-8")
        (self.out / f"{name}.txt").write_text(done.stderr, encoding="utf-8")
        if done.returncode != 0 and not is_refusal_fine:
            raise ClusterError(f"trimtab {words[0]} ended with {done.returncode}: {done.stderr}")


def record(out: Path, view: str, *, is_quick: bool) -> dict[str, Any]:
    """Record a night into a folder that is not there yet, and stop all that was started.

    Returns:
        What was done, which stands in `done.json` as well.

    Raises:
        ClusterError: the cluster does not come up, or does not do what it should.
    """
    out.mkdir(parents=True)
    clocks = _QUICK if is_quick else _USUAL
    settings = {**_SETTINGS, **clocks, "loadManagerServiceUnitStateTableViewClassName": VIEWS[view]}
    cluster = State(
        FOLDER,
        mode="namespaces",
        settings=settings,
        is_quick=is_quick,
        is_sampled_quickly=is_quick,
    )
    with stopped_on_failure(FOLDER):
        night = Night(up(cluster, BROKERS), out, _QUIET_S[is_quick])
        with beside("cluster.load", str(HERE / "profiles" / "transfers.toml")):
            # It is written once all topics are there, and so all bundles that have any.
            until("load", (FOLDER / "load.jsonl").exists)
            with beside("trimtab", *_gather(night, is_quick=is_quick)) as gathering:
                done = _drive(night)
                if gathering.poll() is not None:
                    raise ClusterError("the recording ended early: see trimtab.out")
                done |= _last(night.state, view)
        shutil.copy(FOLDER / "actions.jsonl", out / "night" / "actions.jsonl")
        (out / "done.json").write_text(json.dumps(done, indent=1), encoding="utf-8")
        down(FOLDER)
    return done


def _drive(night: Night) -> dict[str, Any]:
    """Do everything, one after the other, and return what was done to whom."""
    until("the first look", (night.out / "night" / "recording.toml").exists)
    crowded = night.crowd()
    night.shed()
    night.drain(crowded)
    killed = next(number for number in night.followers() if number != crowded)
    bundle = night.kill_target(killed)
    named = {"drained": crowded, "killed": killed}
    return {key: night.id(number) for key, number in named.items()} | {"on_its_way": bundle}


def _gather(night: Night, *, is_quick: bool) -> list[str]:
    state, folder = night.state, night.state.folder
    # Brokers report once a second at most: between two reports falls a sample of the gauges.
    often = ("1s", "0.4s") if is_quick else ("5s", "15s")
    return [
        *("gather", "--admin", web(1, state.network), "--metadata", f"zk://{store(state.network)}"),
        *("--logs", str(folder / "logs"), "--zookeeper-data", str(folder / "zookeeper")),
        *("--every", often[0], "--metrics-every", often[1], "--for", "2h"),
        *("-o", str(night.out / "night")),
    ]


def _last(state: State, view: str) -> dict[str, Any]:
    """Return the records of bundles' states as somebody else than trimtab reads them."""
    return {"messages": _messages(state)} if view == "topic" else {"nodes": _nodes(state)}


def _messages(state: State) -> list[dict[str, Any]]:
    """Return all messages of the topic of states, from the earliest on, by Pulsar's client."""
    addresses = ",".join(f"{host(i + 1, state.network)}:6650" for i in range(BROKERS))
    said = pulsar.FileLogger(pulsar.LoggerLevel.Warn, str(FOLDER / "client.log"))
    client = pulsar.Client(f"pulsar://{addresses}", logger=said)
    try:
        reader = client.create_reader(_TOPIC, pulsar.MessageId.earliest)
        messages = []
        while reader.has_message_available():
            message = reader.read_next()
            messages.append(
                {
                    "published_ms": message.publish_timestamp(),
                    "bundle": message.partition_key(),
                    "record": json.loads(message.data() or b"null"),
                }
            )
        return messages
    finally:
        client.close()


def _nodes(state: State) -> dict[str, Any]:
    """Return by bundle how often its node was written, and what it holds, by ZooKeeper's client."""
    client = KazooClient(hosts=f"{store(state.network)}:2181")
    client.start()
    try:
        paths, nodes = [_STATES], {}
        for path in paths:
            below = [f"{path}/{child}" for child in client.get_children(path)]
            paths += below
            if not below:
                content, stat = client.get(path)
                bundle = path.removeprefix(f"{_STATES}/")
                nodes[bundle] = {"writes": stat.version + 1, "record": json.loads(content)}
        return nodes
    finally:
        client.stop()
        client.close()


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--view", type=click.Choice(list(VIEWS)), default="topic", show_default=True)
@click.option("--quick", "is_quick", is_flag=True, help="Count minutes in seconds, as a test does.")
def main(out: Path, view: str, *, is_quick: bool) -> None:
    """Record a cluster under the extensible load manager into the folder OUT.

    \b
    Examples:
      python -m cluster.extensible build/extensible-topic
      python -m cluster.extensible build/extensible-store --view store
    """
    if (obstacle := kernel.obstacle()) is not None:
        raise click.ClickException(f"no namespaces and groups for brokers: {obstacle}")
    if out.exists():
        raise click.ClickException(f"{out}: found something there, expected nothing")
    try:
        record(out, view, is_quick=is_quick)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"recorded: {out / 'night'}")


if __name__ == "__main__":
    main()
