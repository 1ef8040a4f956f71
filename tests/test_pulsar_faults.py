"""The long matrix: each fault of a real cluster while its bundles are moved; `--exhaustive`.

Whatever fails, no bundle is moved twice, none is left without an owner, what the journal says
is true, and the run goes on or says why not.  That no message is lost is counted all the while.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beside import trimtab, wait_until
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
    planned,
    wait_for_entry,
)
from trimtab.live.apply.files import write_plan
from trimtab.live.control.plan import Plan
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
    bundles = {move.bundle for move in plan.moves}
    wait_until("owners", lambda: bundles <= set(owners()), within_s=WAIT_S, every_s=0.1)
    now = owners()
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


@contextmanager
def cluster_again(broker: str) -> Iterator[Callable[[], None]]:
    """Give what kills a broker, and start it again in the end."""
    from cluster.run import FOLDER, begin, leave
    from cluster.state import load

    killed: list[float] = []

    def kill() -> None:
        leave(load(FOLDER), number_of(broker), signal.SIGKILL)
        killed.append(time.monotonic())

    try:
        yield kill
    finally:
        if killed:
            # As long as it is still registered it cannot come back.
            time.sleep(max(0.0, killed[0] + 12.0 - time.monotonic()))
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


def test_the_metadata_store_is_slow(tmp_path: Path, brokers: list[str]) -> None:
    from cluster.run import FOLDER
    from cluster.state import load

    source = busiest()
    plan = planned(source, 2, *others(brokers, source))
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    zookeeper = load(FOLDER).processes["zookeeper"].pid
    with applying(path, [*acting(tmp_path, source), *STORE]) as process:
        wait_for_entry("asked", path, process)
        os.kill(zookeeper, signal.SIGSTOP)
        try:
            time.sleep(4)
        finally:
            os.kill(zookeeper, signal.SIGCONT)
        out, _ = process.communicate(timeout=180)
    sound(plan, journal_of(path))
    if process.returncode != 0:
        assert "Stopped: " in out
        again = trimtab("apply", str(path), *acting(tmp_path, source), *STORE, "--yes")
        assert again.returncode == 0, again.stdout + again.stderr
        sound(plan, journal_of(path))


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
        assert "another run holds the lock: process" in refused.stderr
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
    from trimtab.live.apply.run import Watching, Where, carried_out, reached
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
        with reached(where) as there:
            there.admin.addresses.update(proxies.addresses)
            proxies.fault = failing
            watching = Watching(lambda entry: None, lambda why: None, threading.Event())
            done = carried_out(plan, there, journal, watching)
    assert once == []
    assert done.is_done, done.ended
    sound(plan, journal)
