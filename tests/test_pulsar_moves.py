"""Bundles of a real cluster are moved, with clients connected, and through every fault."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import urllib.error
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster.state import LOOPBACK, broker_id, web
from cluster.state import STORE as STORE_HOST

from beside import running, trimtab, wait_until
from loopback_cluster import asked, shared_cluster
from trimtab.live.apply.files import write_plan
from trimtab.live.apply.post import LockError
from trimtab.live.apply.store_lock import opened_store, store_lock
from trimtab.live.control.entries import Asked
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan, PlannedMove, read_plan

pytestmark = pytest.mark.pulsar

NAMESPACE = "shop/moved"
N_TOPICS = 24
#: Brokers of a test have only just started and share one CPU; a destination that was lost to
#: two look-ups at a time is tried again.
LIMITS = Limits(
    broker_age_min_s=0.1, bar_percent=1e9, settle_s=0.5, in_flight_s=8, attempts=4, verify_s=8,
    grace_s=0.1, moves_per_round=99, moves_per_hour=999,
)  # fmt: skip
WAIT_S = 120.0


def called(method: str, path: str, body: object = None) -> Any:
    """Call the admin API of whichever broker answers; what is there already is no error."""
    for number in (1, 2, 3):
        try:
            return asked(web(number), path, method, body)
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return None
            raise
        except OSError:
            continue
    raise AssertionError("no broker answers")


def owners() -> dict[str, str]:
    """Ask every broker what it owns of the namespace; who does not answer is left out."""
    found = {}
    for broker in called("GET", "brokers"):
        try:
            path = f"brokers/loopback/{broker}/ownedNamespaces"
            owned = asked(f"http://{broker}", path, within_s=20.0)
        except OSError:
            continue
        found |= {name: broker for name in owned if name.startswith(f"{NAMESPACE}/")}
    return found


def owners_of(bundles: Iterable[str]) -> dict[str, str]:
    """Return who has each of some bundles, once every one of them has an owner that says so."""
    wanted, current = set(bundles), dict[str, str]()

    def all_are_owned() -> bool:
        current.clear()
        current.update(owners())
        return wanted <= set(current)

    wait_until("owners", all_are_owned, within_s=WAIT_S, every_s=0.1)
    return {bundle: current[bundle] for bundle in wanted}


def switch_shedding_off() -> None:
    """Set it, and again until every broker goes by it: who has only just started may miss it."""

    def is_off(broker: str) -> bool:
        settings = asked(f"http://{broker}", "brokers/configuration/runtime")
        return bool(settings["loadBalancerSheddingEnabled"] == "false")

    def all_are_off() -> bool:
        called("POST", "brokers/configuration/loadBalancerSheddingEnabled/false")
        return all(map(is_off, called("GET", "brokers")))

    wait_until("no shedding", all_are_off)


@contextmanager
def counting(topics: list[str], network: str = LOOPBACK) -> Iterator[list[dict[str, Any]]]:
    """Run clients that count; when the block ends, the list has what became of each topic."""
    found: list[dict[str, Any]] = []
    addresses = "pulsar://" + ",".join(f"{network}.{i}:6650" for i in (1, 2, 3))
    words = ("tests/counting_clients.py", addresses, *topics)
    with running(*words, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sending\n"
        yield found
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=WAIT_S)
        found += map(json.loads, out.splitlines())


@pytest.fixture(scope="module")
def brokers() -> Iterator[list[str]]:
    """The cluster, without shedding of its own, and with clients on every bundle."""
    shared_cluster()
    switch_shedding_off()
    called("PUT", "tenants/shop", {"allowedClusters": ["loopback"]})
    called("PUT", f"namespaces/{NAMESPACE}", {"bundles": {"numBundles": 16}})
    topics = [f"persistent://{NAMESPACE}/t-{i}" for i in range(N_TOPICS)]
    with counting(topics) as counted:
        # Whatever the tests do to the cluster, no message is lost by it.
        yield [broker_id(number) for number in (1, 2, 3)]
    called("DELETE", "brokers/configuration/loadBalancerSheddingEnabled")
    assert len(counted) == N_TOPICS
    for each in counted:
        assert each["sent"] == each["acknowledged"] == each["received"] > 0, each


def acting(tmp_path: Path, broker: str) -> list[str]:
    return ["--admin", f"http://{broker}", "--state", str(tmp_path / "state")]


STORE = ("--metadata", f"zk://{STORE_HOST}:2181")


def planned(source: str, count: int, *takers: str) -> Plan:
    owned = sorted(name for name, of in owners().items() if of == source)
    assert owned
    moves = tuple(
        PlannedMove(name, source, takers[i % len(takers)], "a test")
        for i, name in enumerate(owned[:count])
    )
    return Plan("loopback", time.time(), moves, LIMITS)


def busiest() -> str:
    of = list(owners().values())
    return max(set(of), key=of.count)


def others(brokers: list[str], *without: str) -> list[str]:
    return [each for each in brokers if each not in without]


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ------------------------------------------------------------------------------ sound


@pytest.mark.parametrize(
    "store", [("--lock-here",), STORE, ()], ids=["file", "store", "the cluster's own"]
)
def test_three_bundles_are_moved_and_verified(
    tmp_path: Path, brokers: list[str], store: tuple[str, ...]
) -> None:
    source = busiest()
    plan = planned(source, 3, *others(brokers, source))
    assert len(plan.moves) == 3
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    if store == STORE:
        looked = trimtab("apply", str(path), *acting(tmp_path, source), *store)
        assert looked.returncode == 0, looked.stdout + looked.stderr
        assert looked.stdout.count("nothing against it") == 3
        assert not journal_of(path).exists()

    done = trimtab("apply", str(path), *acting(tmp_path, source), *store, "--yes", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert [move["state"] for move in told["moves"]] == ["verified"] * 3
    now = owners_of(move.bundle for move in plan.moves)
    assert [now[move.bundle] for move in plan.moves] == [move.destination for move in plan.moves]
    kinds = [each["entry"] for each in entries(journal_of(path))]
    assert kinds.count("verified") == 3
    assert kinds[0] == "begun"
    assert kinds[-1] == "done"


def test_a_broker_is_emptied_and_filled_again(tmp_path: Path, brokers: list[str]) -> None:
    broker = busiest()
    before = owners()
    had = {name for name, of in before.items() if of == broker}
    path, back = tmp_path / "drain.json", tmp_path / "return.json"
    pace = ("--bar", "100", "--every", "0.5s")
    words = ["drain", broker, *acting(tmp_path, others(brokers, broker)[0]), *pace]
    refused = trimtab(*words, "-o", str(path))
    # They have started only just, as a dry run says.
    assert refused.returncode in {0, 1}
    patient(path)

    done = trimtab("apply", str(path), *acting(tmp_path, broker), "--yes", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert broker not in owners_of(before).values()
    trimtab(*words, "-o", str(back), "--return", str(path))
    patient(back)
    done = trimtab("apply", str(back), *acting(tmp_path, broker), "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(owners_of(had).values()) == {broker}


def patient(path: Path) -> None:
    """Let a plan of ours move bundles between brokers that have only just started."""
    plan = read_plan(path.read_text())
    write_plan(path, replace(plan, limits=replace(LIMITS, moves_per_hour=999)))


def test_plans_are_made_of_what_a_real_cluster_tells(tmp_path: Path, brokers: list[str]) -> None:
    admin = ("--admin", f"http://{brokers[0]}")
    path = tmp_path / "restarts.json"
    words = ("--seeds", "1", "--every", "2m", "--down", "30s", "-o", str(path))
    foretold = trimtab("restart-plan", *admin, *words)
    # The brokers share one CPU: whether they stay below the bar is the machine's affair.
    assert foretold.returncode in {0, 1}, foretold.stderr
    assert "UniformLoadShedder" not in foretold.stdout  # it was switched off
    told = json.loads(path.read_text())
    assert told["balancer"]["placer"] == "LeastLongTermMessageRate"
    assert told["leader"] in brokers
    for order in told["orders"]:
        assert sorted(each["broker"] for each in order["restarts"]) == brokers
        assert order["moves"]["median"] >= len(owners()) / 3
    made = trimtab("plan", *admin, "-o", str(tmp_path / "plan.json"), "--json")
    assert made.returncode == 0, made.stderr
    highest = json.loads(made.stdout)["highest_percent"]
    assert len(highest) == len(read_plan((tmp_path / "plan.json").read_text()).moves) + 1


# ---------------------------------------------------------------------------- killed


def applying(path: Path, words: list[str]) -> AbstractContextManager[subprocess.Popen[str]]:
    """Carry a plan out beside."""
    return running("-m", "trimtab", "apply", str(path), *words, "--yes")


def wait_for_entry(
    entry: str, path: Path, process: subprocess.Popen[str], *, within_s: float = 60.0
) -> None:
    """Wait until the journal of a plan that is carried out has such an entry."""
    journal = journal_of(path)

    def is_there() -> bool:
        # Looked at before the journal: it may be written just before the end.
        has_ended = process.poll() is not None
        if journal.exists() and f'"entry": "{entry}"' in journal.read_text():
            return True
        assert not has_ended
        return False

    # What comes next must not have happened yet when the test goes on.
    wait_until(f"the entry {entry}", is_there, within_s=within_s, every_s=0.001)


def killed_at(entry: str, path: Path, words: list[str]) -> None:
    """Carry a plan out, and kill it -9 as soon as its journal has such an entry."""
    with applying(path, words) as process:
        wait_for_entry(entry, path, process, within_s=WAIT_S)
        process.kill()


@pytest.mark.parametrize("entry", ["asked", "answered"])
def test_a_run_that_is_killed_goes_on(tmp_path: Path, brokers: list[str], entry: str) -> None:
    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    words = [*acting(tmp_path, source), *STORE]
    killed_at(entry, path, words)

    done = trimtab("apply", str(path), *words, "--yes", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    now = owners_of(move.bundle for move in plan.moves)
    assert [now[move.bundle] for move in plan.moves] == [move.destination for move in plan.moves]
    told = entries(journal_of(path))
    tokens = [each["token"] for each in told if each["entry"] == "begun"]
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 2
    verified = [each["move"] for each in told if each["entry"] == "verified"]
    assert verified == list(range(len(plan.moves)))


# --------------------------------------------------------------------------- the lock


def test_whoever_has_lost_the_lock_can_note_nothing(brokers: list[str]) -> None:
    entry = Asked(time.time(), 0, f"{NAMESPACE}/0x0_0x1", brokers[0], brokers[1])
    with opened_store(STORE[1]) as ours, opened_store(STORE[1]) as theirs:
        with store_lock(ours) as first:
            assert first.is_ours
            first.note(entry)
            assert (entry.time_s, entry.bundle) in {each[:2] for each in first.unloads}
            # As if the session had ended: now somebody else may take it.
            ours.client.delete("/trimtab/lock")
            with store_lock(theirs) as second:
                assert second.token > first.token
                assert second.is_ours
                assert not first.is_ours
                with pytest.raises(LockError, match="no longer holds the lock"):
                    first.note(entry)
                second.note(entry)
        with store_lock(theirs) as third:
            assert third.token > second.token


def test_who_names_no_store_finds_the_lock_of_who_does(tmp_path: Path, brokers: list[str]) -> None:
    source = busiest()
    path = tmp_path / "plan.json"
    write_plan(path, planned(source, 1, *others(brokers, source)))
    with opened_store(STORE[1]) as store, store_lock(store):
        refused = trimtab("apply", str(path), *acting(tmp_path, source), "--yes")
    assert refused.returncode == 2, refused.stdout
    assert "another run acts: process" in refused.stderr
    assert entries(journal_of(path)) == []
    foreign = trimtab("apply", str(path), *acting(tmp_path, source), STORE[0], f"{STORE[1]}/no")
    assert foreign.returncode == 2, foreign.stdout
    assert "found no node /loadbalance" in foreign.stderr


def test_the_marks_of_the_store_are_seen_by_whoever_does_not_act(brokers: list[str]) -> None:
    with opened_store(STORE[1]) as store:
        with store_lock(store) as lock:
            lock.drain(brokers[2])
            lock.drain(brokers[2])
            store.client.create("/trimtab/stop")
            assert lock.is_stopped
        seen = store.state()
        assert seen.is_stopped
        assert seen.draining == {brokers[2]}
        store.client.delete("/trimtab/stop")
        with store_lock(store) as lock:
            lock.take_back(brokers[2])
            lock.take_back(brokers[2])
            assert not lock.is_stopped
        assert store.state().draining == frozenset()
        there = owners_of(owners())
        now = store.owners([*there, f"{NAMESPACE}/0x0_0x1"])
        assert now == there | {f"{NAMESPACE}/0x0_0x1": None}
