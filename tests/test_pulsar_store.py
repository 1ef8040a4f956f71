"""A real ZooKeeper is watched: what is recorded and what is counted as missed is all there was."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from beside import wait_until
from trimtab.live.gather.access import GatherError
from trimtab.live.gather.folder import Folder
from trimtab.live.gather.watched_store import WatchedStore

pytestmark = pytest.mark.pulsar

REPORTS = "/loadbalance/brokers"
SPACE = "/namespace/shop/orders"
WAIT_S = 60.0


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[tuple[str, Callable[[], None]]]:
    """Its address, and what kills and starts it again."""
    from cluster.processes import end
    from cluster.run import FOLDER, down, prepare, start_zookeeper, stopped_on_failure
    from cluster.state import State

    state = State(FOLDER)
    prepare(state)
    with stopped_on_failure(FOLDER):
        address = start_zookeeper(state)

        def again() -> None:
            end(state.processes["zookeeper"], signal.SIGKILL)
            start_zookeeper(state)

        yield address, again
        down(FOLDER)


@pytest.fixture
def client(zookeeper: tuple[str, Callable[[], None]]) -> Iterator[KazooClient]:
    client = KazooClient(hosts=zookeeper[0])
    client.start(WAIT_S)
    for root in ("/loadbalance", "/namespace"):
        client.delete(root, recursive=True)
    for path in (REPORTS, SPACE):
        client.ensure_path(path)
    yield client
    client.stop()
    client.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "night")


def lines(folder: Folder, name: str) -> list[dict[str, Any]]:
    text = (folder.path / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def wait_for_last(folder: Folder, key: str, value: object) -> None:
    """Wait until the last report that was recorded says so."""
    wait_until(
        f"{key} {value}",
        lambda: lines(folder, "store/brokers.jsonl")[-1][key] == value,
        within_s=WAIT_S,
        every_s=0.02,
    )


def report(number: int) -> bytes:
    return json.dumps({"number": number}).encode()


def test_every_write_that_is_waited_for_is_recorded(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    broker = f"{REPORTS}/b1:8080"
    client.create(broker, report(0))
    client.set(broker, report(1))
    watched = WatchedStore(zookeeper[0], folder, threading.Event())
    for number in range(2, 50):
        client.set(broker, report(number))
        wait_for_last(folder, "version", number)
    client.delete(broker)
    wait_for_last(folder, "report", None)
    client.create(broker, report(100))
    kept = watched.close()

    written = lines(folder, "store/brokers.jsonl")
    assert [line.get("version") for line in written] == [*range(1, 50), None, 0]
    numbers = [line["report"] and line["report"]["number"] for line in written]
    assert numbers == [*range(1, 50), None, 100]
    assert (kept.reports, kept.brokers, kept.changes.reports_missed) == (50, 1, 0)


def test_what_comes_too_fast_is_counted(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    brokers = [f"{REPORTS}/b{i}:8080" for i in range(5)]
    for path in brokers:
        client.create(path, report(0))
    watched = WatchedStore(zookeeper[0], folder, threading.Event())
    for answer in [client.set_async(path, report(i)) for i in range(400) for path in brokers]:
        answer.get(WAIT_S)
    kept = watched.close()

    # 5 as they stood, and 400 writes of each.
    assert kept.reports + kept.changes.reports_missed == 5 + 5 * 400
    assert kept.changes.reports_missed > 0
    for path in brokers:
        name = path.removeprefix(f"{REPORTS}/")
        versions = [
            line["version"]
            for line in lines(folder, "store/brokers.jsonl")
            if line["broker"] == name
        ]
        assert versions == sorted(set(versions))
        assert versions[-1] == 400


def test_owners_are_recorded_and_their_changes_counted(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    bundles = [f"0x{i:08x}_0x{i + 1:08x}" for i in range(40)]

    def owner(number: int) -> bytes:
        return json.dumps({"httpUrl": f"http://b{number}:8080", "disabled": False}).encode()

    for bundle in bundles[:20]:
        client.create(f"{SPACE}/{bundle}", owner(1))
    watched = WatchedStore(zookeeper[0], folder, threading.Event())
    for bundle in bundles[:20]:
        client.delete(f"{SPACE}/{bundle}")
        client.create(f"{SPACE}/{bundle}", owner(2))
    for bundle in bundles[20:]:
        client.create(f"{SPACE}/{bundle}", owner(3))
    client.create("/namespace/late/space/0x00000000_0xffffffff", owner(1), makepath=True)
    kept = watched.close()

    # 20 moved, which is to lose an owner and to get one, 21 got their first.
    assert kept.changes.owners_seen + kept.changes.owners_missed == 20 * 2 + 21
    full, *changes = lines(folder, "store/ownership.jsonl")
    assert full["full"] is True
    owners = dict(full["change"])
    assert owners == {f"shop/orders/{bundle}": "b1:8080" for bundle in bundles[:20]}
    for change in changes:
        assert change["full"] is False
        owners |= change["change"]
    assert owners == {
        **{f"shop/orders/{bundle}": "b2:8080" for bundle in bundles[:20]},
        **{f"shop/orders/{bundle}": "b3:8080" for bundle in bundles[20:]},
        "late/space/0x00000000_0xffffffff": "b1:8080",
    }


def test_leader_and_averages_are_recorded(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    watched = WatchedStore(zookeeper[0], folder, threading.Event())
    leader = {"serviceUrl": "http://b1:8080", "brokerId": "b1:8080"}
    client.create("/loadbalance/leader", json.dumps(leader).encode())
    average = "/loadbalance/bundle-data/shop/orders/0x00000000_0xffffffff"
    client.create(average, b'{"topics": 3}', makepath=True)
    client.create("/loadbalance/resource-quota/namespace", b"{}", makepath=True)
    client.create(f"{REPORTS}/b1:8080", b"no JSON")
    watched.close()

    (led,) = lines(folder, "store/leader.jsonl")
    assert led["leader"] == leader
    (listed,) = lines(folder, "store/bundles.jsonl")
    assert [(path, node["v"]) for path, node in listed["nodes"].items()] == [
        (average, {"topics": 3})
    ]
    (wrong,) = [line for line in lines(folder, "gather.jsonl") if "path" in line]
    assert wrong["path"] == f"{REPORTS}/b1:8080"
    assert "no JSON" in wrong["error"]


def test_a_server_that_comes_again_is_watched_again(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    address, again = zookeeper
    broker = f"{REPORTS}/b1:8080"
    client.create(broker, report(0))
    watched = WatchedStore(address, folder, threading.Event())
    again()
    client.retry(client.set, broker, report(1))
    wait_for_last(folder, "version", 1)
    client.set(broker, report(2))
    wait_for_last(folder, "version", 2)
    kept = watched.close()

    assert (kept.reports, kept.changes.reports_missed) == (3, 0)
    states = [
        it["said"] for it in lines(folder, "gather.jsonl") if it["event"] == "store connection"
    ]
    assert states == ["SUSPENDED", "CONNECTED"]


def test_where_no_cluster_is(
    zookeeper: tuple[str, Callable[[], None]], client: KazooClient, folder: Folder
) -> None:
    with pytest.raises(GatherError, match=r"found no node /loadbalance, expected a Pulsar cluster"):
        WatchedStore(f"{zookeeper[0]}/namespace", folder, threading.Event())
