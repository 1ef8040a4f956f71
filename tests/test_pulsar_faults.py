"""The long matrix: each fault of a real cluster while its bundles are moved; `--exhaustive`.

Whatever fails, no bundle is moved twice, none is left without an owner, what the journal says
is true, and the run goes on or says why not.  That no message is lost is counted all the while.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cluster.state import broker_id

from beside import trimtab, wait_until
from loopback_cluster import asked
from test_pulsar_moves import (
    LIMITS,
    STORE,
    WAIT_S,
    acting,
    applying,
    brokers,
    busiest,
    called,
    entries,
    journal_of,
    killed_at,
    others,
    owners,
    owners_of,
    patient,
    planned,
    wait_for_entry,
)
from trimtab.live.apply.files import write_plan
from trimtab.live.control.plan import Plan, read_plan
from unruly_proxy import unruly_proxies

__all__ = ["brokers"]  # the fixture

pytestmark = pytest.mark.pulsar


@pytest.fixture(autouse=True, scope="module")
def long(is_exhaustive: bool) -> None:
    if not is_exhaustive:
        pytest.skip("takes minutes: --exhaustive")


def sound(plan: Plan, journal: Path, *, without: str = "") -> None:
    """Check what must be so after every fault.

    Args:
        plan: what was carried out.
        journal: of it.
        without: a broker that was killed, whose bundles may have gone on.
    """
    told = entries(journal) if journal.exists() else []
    now = owners_of(move.bundle for move in plan.moves)
    for number, move in enumerate(plan.moves):
        mine = [each["entry"] for each in told if each.get("move") == number]
        assert mine.count("verified") <= 1
        assert mine.count("asked") <= 1 + mine.count("astray") + mine.count("answered")
        if "verified" in mine and move.destination != without:
            assert now[move.bundle] == move.destination
            assert "asked" not in mine[mine.index("verified") :]
    assert told == [] or told[-1]["entry"] in {"done", "stopped"}


def number_of(broker: str) -> int:
    return int(broker.partition(":")[0].rpartition(".")[2])


def wait_until_gone(broker: str) -> None:
    """Wait until a broker that was killed is registered no more: before, it cannot come back."""
    wait_until("its departure", lambda: broker not in called("GET", "brokers"), within_s=WAIT_S)


@contextmanager
def cluster_again(broker: str) -> Iterator[Callable[[], None]]:
    """Give what kills a broker, and start it again in the end."""
    from cluster.run import FOLDER, begin, leave
    from cluster.state import load

    killed: list[str] = []

    def kill() -> None:
        leave(load(FOLDER), number_of(broker), signal.SIGKILL)
        killed.append(broker)

    try:
        yield kill
    finally:
        if killed:
            wait_until_gone(broker)
            begin(load(FOLDER), number_of(broker))


def give(broker: str, giver: str, tmp_path: Path) -> None:
    """See to it that a broker has three bundles at least."""
    missing = 3 - list(owners().values()).count(broker)
    if missing > 0:
        path = tmp_path / "given.json"
        write_plan(path, planned(giver, missing, broker))
        done = trimtab("apply", str(path), *acting(tmp_path, broker), "--yes")
        assert done.returncode == 0, done.stdout + done.stderr


def not_leading(brokers: list[str]) -> list[str]:
    leader = called("GET", "brokers/leaderBroker")["brokerId"]
    return [each for each in brokers if each != leader]


@pytest.mark.parametrize("entry", [None, "asked", "answered"])
def test_the_destination_is_killed(tmp_path: Path, brokers: list[str], entry: str | None) -> None:
    gone = not_leading(brokers)[0]
    source = max(others(brokers, gone), key=list(owners().values()).count)
    plan = planned(source, 2, gone)
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    words = acting(tmp_path, source)
    with cluster_again(gone) as kill:
        if entry is None:
            kill()
            assert gone in called("GET", "brokers")
            done = trimtab("apply", str(path), *words, "--yes")
            # Registered, and dead: Pulsar would have answered 204.
            assert done.returncode == 1
            assert f"{gone} does not answer" in done.stdout
            assert not any(each["entry"] == "asked" for each in entries(journal_of(path)))
        else:
            with applying(path, words) as process:
                wait_for_entry(entry, path, process)
                kill()
                out, _ = process.communicate(timeout=120)
            # 3 where a bundle went elsewhere.
            assert process.returncode in {1, 3}, out
            assert "Stopped: " in out
        sound(plan, journal_of(path), without=gone)


def test_the_leader_is_killed_in_the_middle(tmp_path: Path, brokers: list[str]) -> None:
    leader = called("GET", "brokers/leaderBroker")["brokerId"]
    source, taker = others(brokers, leader)
    give(source, leader if busiest() == leader else taker, tmp_path)
    plan = planned(source, 3, taker)
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    with cluster_again(leader) as kill:
        with applying(path, acting(tmp_path, source)) as process:
            wait_for_entry("verified", path, process)
            kill()
            out, _ = process.communicate(timeout=180)
        assert process.returncode in {0, 1, 3}, out
        sound(plan, journal_of(path), without=leader)
        if process.returncode != 0:
            assert "Stopped: " in out
            again = trimtab("apply", str(path), *acting(tmp_path, source), "--yes")
            assert again.returncode == 0, again.stdout + again.stderr
            sound(plan, journal_of(path), without=leader)


@pytest.mark.parametrize("entry", ["begun", "verified", "effect"])
def test_trimtab_is_killed(tmp_path: Path, brokers: list[str], entry: str) -> None:
    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    words = [*acting(tmp_path, source), *STORE]
    killed_at(entry, path, words)
    done = trimtab("apply", str(path), *words, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    sound(plan, journal_of(path))


@contextmanager
def standing_still(name: str) -> Iterator[None]:
    """Have a process of the cluster stand still, and go on when the block ends."""
    from cluster.run import FOLDER
    from cluster.state import load

    pid = load(FOLDER).processes[name].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def wait_for_sessions(brokers: list[str]) -> None:
    """Wait until all brokers are registered and write into the store: sessions may have ended."""

    def can_write(broker: str) -> bool:
        path = "brokers/configuration/loadBalancerSheddingEnabled/false"
        try:
            asked(f"http://{broker}", path, "POST")
        except OSError:
            return False
        return True

    wait_until("all brokers", lambda: set(called("GET", "brokers")) == set(brokers))
    wait_until("sessions", lambda: all(map(can_write, brokers)))


@dataclass(frozen=True)
class Run:
    """A plan that was carried out while something stood still."""

    path: Path
    plan: Plan
    code: int
    printed: str


def run_beside(plan: Plan, tmp_path: Path, words: list[str], name: str, still_s: float) -> Run:
    """Carry a plan out, and have a process stand still so long once a bundle was asked for.

    Whoever comes next finds a cluster that is whole again.
    """
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    with applying(path, words) as process:
        wait_for_entry("asked", path, process)
        with standing_still(name):
            # Of the length of a pause nothing else can be waited for.
            time.sleep(still_s)
        printed, _ = process.communicate(timeout=180)
    wait_for_sessions([broker_id(number) for number in (1, 2, 3)])
    return Run(path, plan, process.returncode, printed)


def run_beside_store(tmp_path: Path, brokers: list[str], still_s: float) -> Run:
    """Move two bundles, with the lock in the metadata store, which stands still so long."""
    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    return run_beside(plan, tmp_path, [*acting(tmp_path, source), *STORE], "zookeeper", still_s)


def test_the_metadata_store_is_slow(tmp_path: Path, brokers: list[str]) -> None:
    run = run_beside_store(tmp_path, brokers, 4.0)
    sound(run.plan, journal_of(run.path))
    if run.code != 0:
        assert "Stopped: " in run.printed
        words = [*acting(tmp_path, run.plan.moves[0].source), *STORE]
        again = trimtab("apply", str(run.path), *words, "--yes")
        assert again.returncode == 0, again.stdout + again.stderr
        sound(run.plan, journal_of(run.path))


def test_a_second_run_is_kept_out(tmp_path: Path, brokers: list[str]) -> None:
    source = busiest()
    plan = planned(source, 3, *others(brokers, source))
    path, other = tmp_path / "plan.json", tmp_path / "other.json"
    # Long enough for the other to give up waiting for the lock.
    patient = Plan(plan.cluster, plan.made_s, plan.moves, type(LIMITS)(**slow_limits()))
    write_plan(path, patient)
    write_plan(other, plan)
    with applying(path, [*acting(tmp_path, source), *STORE]) as process:
        wait_for_entry("asked", path, process)
        refused = trimtab("apply", str(other), *acting(tmp_path, source), *STORE, "--yes")
        assert refused.returncode == 2, refused.stdout
        assert "another run acts: process" in refused.stderr
        out, _ = process.communicate(timeout=180)
    assert process.returncode == 0, out
    assert entries(journal_of(other)) == []
    sound(patient, journal_of(path))


def slow_limits() -> dict[str, Any]:
    return {name: getattr(LIMITS, name) for name in LIMITS.__slots__} | {"settle_s": 10.0}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("fault", [500, 503, "drop", 9.0])
def test_somebody_on_the_way_fails(
    tmp_path: Path,
    brokers: list[str],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    fault: float | str,
) -> None:
    from trimtab.live.apply.run import Watching, Where, carried_out, connected_cluster
    from trimtab.live.gather.access import read_access
    from trimtab.live.gather.calls import Limits

    monkeypatch.setattr("trimtab.live.apply.admin.UNLOADING", Limits(2.0, 3.0, 4.0))
    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    journal = tmp_path / "plan.json.journal"
    once: list[float | str] = [fault]

    def failing(method: str, path: str, when: str) -> float | str | None:
        return once.pop() if method == "PUT" and when == moment and once else None

    with unruly_proxies(brokers) as proxies:
        folder = tmp_path / "state"
        where = Where(proxies.addresses[source], read_access(None), folder, is_lock_here=True)
        with connected_cluster(where) as there:
            there.admin.addresses.update(proxies.addresses)
            proxies.fault = failing
            watching = Watching(lambda entry: None, lambda why: None, threading.Event())
            done = carried_out(plan, there, journal, watching)
    assert once == []
    assert done.is_done, done.ended
    sound(plan, journal)


@pytest.mark.parametrize("frozen_s", [5.0, 20.0])
def test_the_destination_is_frozen(tmp_path: Path, brokers: list[str], frozen_s: float) -> None:
    gone = not_leading(brokers)[0]
    source = max(others(brokers, gone), key=list(owners().values()).count)
    plan, words = planned(source, 2, gone), acting(tmp_path, source)
    run = run_beside(plan, tmp_path, words, f"broker{number_of(gone)}", frozen_s)
    assert run.code in {0, 1, 3}, run.printed
    assert run.code == 0 or "Stopped: " in run.printed
    sound(plan, journal_of(run.path), without=gone)


def put(path: str, broker: str) -> None:
    """Do to a bundle what somebody else does, at whichever broker this is to be asked of."""
    address = f"http://{broker}"
    for _ in range(9):
        try:
            asked(address, path, "PUT", within_s=30.0)
        except urllib.error.HTTPError as error:
            if error.code != 307:
                raise
            # Whom the leader sends on is told so by the query: without it, it sends back.
            address, _, path = error.headers["Location"].partition("/admin/v2/")
        else:
            return
    raise AssertionError(f"sent on again and again, at last to {address}")


def test_somebody_else_unloads_in_between(tmp_path: Path, brokers: list[str]) -> None:
    source = busiest()
    taker, other = others(brokers, source)
    give(source, max((taker, other), key=list(owners().values()).count), tmp_path)
    plan = planned(source, 3, taker)
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    namespace, _, range_ = plan.moves[2].bundle.rpartition("/")
    with applying(path, acting(tmp_path, source)) as process:
        wait_for_entry("asked", path, process)
        put(f"namespaces/{namespace}/{range_}/unload?destinationBroker={other}", source)
        out, _ = process.communicate(timeout=180)
    assert process.returncode in {0, 1, 3}, out
    told = entries(journal_of(path))
    # Whoever has it now was not asked for it in the name of the plan.
    asked_for = [each for each in told if each["entry"] == "asked" and each["move"] == 2]
    assert all(each["source"] != other for each in asked_for)
    assert owners_of([plan.moves[2].bundle])
    assert [each["entry"] for each in told if each.get("move") == 0].count("verified") == 1


def test_a_bundle_was_split_since(tmp_path: Path, brokers: list[str]) -> None:
    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    namespace, _, range_ = plan.moves[0].bundle.rpartition("/")
    put(f"namespaces/{namespace}/{range_}/split?unload=false", source)
    wait_until("the split", lambda: plan.moves[0].bundle not in owners(), within_s=WAIT_S)

    done = trimtab("apply", str(path), *acting(tmp_path, source), "--yes")

    assert f"{plan.moves[0].bundle} was split into {namespace}/" in done.stdout, done.stdout
    assert "plan again to move these" in done.stdout
    told = entries(journal_of(path))
    assert [each["entry"] for each in told if each.get("move") == 0] == ["skipped"]
    assert [each["entry"] for each in told if each.get("move") == 1].count("verified") == 1
    (kept,) = owners_of([plan.moves[1].bundle]).values()
    assert kept == plan.moves[1].destination


def test_a_namespace_was_deleted_since(tmp_path: Path, brokers: list[str]) -> None:
    called("PUT", "namespaces/shop/gone", {"bundles": {"numBundles": 2}})
    source = busiest()
    kept = planned(source, 1, *others(brokers, source))
    gone = replace(kept.moves[0], bundle="shop/gone/0x00000000_0x80000000")
    plan = replace(kept, moves=(gone, *kept.moves))
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    called("DELETE", "namespaces/shop/gone")

    done = trimtab("apply", str(path), *acting(tmp_path, source), "--yes")

    told = entries(journal_of(path))
    assert [each["entry"] for each in told if each.get("move") == 0] == ["skipped"], done.stdout
    assert "shop/gone" in done.stdout
    assert [each["entry"] for each in told if each.get("move") == 1].count("verified") == 1


def test_a_cluster_without_headroom_is_left_alone(tmp_path: Path, brokers: list[str]) -> None:
    before = owners()
    broker = busiest()
    path = tmp_path / "drain.json"
    words = acting(tmp_path, others(brokers, broker)[0])

    refused = trimtab("drain", broker, *words, "--bar", "0.1", "-o", str(path), "--yes")

    assert refused.returncode in {1, 2}, refused.stdout
    assert f"{broker} cannot be emptied" in refused.stderr + refused.stdout, refused.stderr
    assert not journal_of(path).exists() or entries(journal_of(path)) == []
    assert owners_of(before) == before


def test_the_leader_is_drained(tmp_path: Path, brokers: list[str]) -> None:
    leader = called("GET", "brokers/leaderBroker")["brokerId"]
    path = tmp_path / "drain.json"
    words = ("--bar", "100", "--every", "0.5s", *acting(tmp_path, others(brokers, leader)[0]))

    looked = trimtab("drain", leader, *words, "-o", str(path))

    assert f"{leader} leads the load balancer" in looked.stderr + looked.stdout
    patient(path)
    plan = read_plan(path.read_text())
    done = trimtab("apply", str(path), *words[4:], "--yes")
    # The leader answers the look-ups of its own clients first: a bundle may come back for good,
    # or go to the third broker each time.
    assert done.returncode in {0, 3}, done.stdout + done.stderr
    if done.returncode == 0:
        assert leader not in owners().values()
    else:
        assert "did not arrive at" in done.stdout
        stray = re.search(r"(?m)^Look at it: (\S+) is at (\S+), not at (\S+):", done.stdout)
        assert stray is not None, done.stdout
        bundle, holder, destination = stray.groups()
        assert owners()[bundle] == holder != destination
    sound(plan, journal_of(path))
    assert called("GET", "brokers/leaderBroker")["brokerId"] == leader


def test_the_metadata_store_is_gone_for_a_while(tmp_path: Path, brokers: list[str]) -> None:
    # Longer than the session of whoever holds the lock.
    run = run_beside_store(tmp_path, brokers, 15.0)
    assert run.code in {0, 1, 3}, run.printed
    assert "somebody else has taken the lock" not in run.printed
    sound(run.plan, journal_of(run.path))
