"""What is planned for a real cluster is rehearsed on it as it stands, and then it is done.

One of three brokers is killed, and one joins the two that are left; then all three are
restarted by `trimtab rollout`.  Clients count every message on every bundle, and nobody sheds.
What came is printed beside what was foretold of it: changes of owners as the metadata store has
them, of all bundles that brokers tell of, which are those that were rehearsed.
"""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beside import trimtab, wait_until
from loopback_cluster import load_report
from store_owners import OwnerChange, owner_changes, store_writes
from test_pulsar_faults import not_leading, number_of, wait_until_gone
from test_pulsar_moves import N_TOPICS, NAMESPACE, WAIT_S, brokers, called, owners, owners_of
from trimtab.live.apply.journal import entries_of
from trimtab.live.control.rollout.account import RolloutAccount, rollout_account
from trimtab.live.control.rollout.entries import read_rollout_entry
from trimtab.live.control.rollout.plan import read_rollout

__all__ = ["brokers"]  # the fixture

pytestmark = pytest.mark.pulsar

SEEDS = 20


def topics(address: str) -> dict[str, float]:
    """Return the topics of each of our bundles that a broker tells of."""
    stats: Mapping[str, Any] = load_report(address).get("lastStats") or {}
    return {
        name: float(each["topics"])
        for name, each in stats.items()
        if name.startswith(f"{NAMESPACE}/")
    }


def told_bundles(there: list[str]) -> set[str]:
    """Return the bundles of all namespaces that brokers tell of: those that are rehearsed."""
    return {name for each in there for name in load_report(f"http://{each}").get("lastStats") or {}}


def changes_since(began_s: float, bundles: set[str]) -> list[OwnerChange]:
    """Return the changes of owners since a time, by the metadata store's transaction logs."""
    from cluster.run import FOLDER

    every = owner_changes(store_writes(FOLDER / "zookeeper"), bundles)
    return [each for each in every if each.time_s >= began_s]


def all_is_told(there: list[str]) -> bool:
    told = [count for each in there for count in topics(f"http://{each}").values()]
    return sum(told) == N_TOPICS


def rehearsal(tmp_path: Path, of: str, event: str) -> dict[str, Any]:
    """Return what is foretold of an event in two minutes."""
    out = tmp_path / event.partition(" ")[0]
    words = ("--for", "6m", "--seeds", str(SEEDS), "-o", str(out), "--json")
    asking = ("--admin", f"http://{of}", f"{event} at +2m")
    # Twenty simulations twice over, on a machine that does other things.
    done = trimtab("rehearse", *asking, *words, within_s=600.0)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["fidelity"]["is_trusted"] is None
    return document


def beside(event: str, document: Mapping[str, Any], came: Mapping[str, float]) -> None:
    """Print what came beside what was foretold."""
    planned = document["courses"]["as planned"]["measures"]
    for name, it in came.items():
        low, middle, high = (planned[name][end] for end in ("p10", "median", "p90"))
        sys.stdout.write(
            f"{event}: {name}: {it:.4g} came, {middle:.4g} ({low:.4g} to {high:.4g}) foretold"
            f"{'' if low <= it <= high else ', outside'}\n"
        )


def test_one_is_lost_and_one_is_added_as_it_was_rehearsed(
    tmp_path: Path, brokers: list[str]
) -> None:
    from cluster.run import FOLDER, begin, leave
    from cluster.state import load

    wait_until("owners", lambda: len(set(owners().values())) == len(brokers), within_s=WAIT_S)
    wait_until("reports", lambda: all_is_told(brokers), within_s=WAIT_S)
    victim = not_leading(brokers)[0]
    left = [each for each in brokers if each != victim]
    foretold = rehearsal(tmp_path, left[0], f"lose {victim}")
    told = {name: of for of in brokers for name in topics(f"http://{of}")}
    before = {name: of for name, of in owners().items() if name in told}
    disconnected = sum(topics(f"http://{victim}").values())
    assert disconnected
    bundles = told_bundles(brokers)
    began, began_s = time.monotonic(), time.time()
    leave(load(FOLDER), number_of(victim), signal.SIGKILL)
    try:
        wait_until(
            "other owners",
            lambda: {name for name, of in owners().items() if of != victim} >= set(before),
            within_s=WAIT_S,
            every_s=0.2,
        )
        took_s = time.monotonic() - began
        after = {name: of for name, of in owners().items() if name in before}
        came = {
            "moves": float(len(changes_since(began_s, bundles))),
            "topics": disconnected,
            "ownerless_s": took_s,
        }
        beside("lose", foretold, came)
        # Whose topics are disconnected is no chance where nobody sheds; how long it takes is.
        assert {each["namespace"]: each["topics"] for each in foretold["worst_namespaces"]}[
            NAMESPACE
        ] == disconnected
        wait_until("reports", lambda: all_is_told(left), within_s=WAIT_S)
        more = rehearsal(tmp_path, left[0], "add 1")
        assert more["brokers"] == len(left)
        joined_s = time.time()
    finally:
        wait_until_gone(victim)
        begin(load(FOLDER), number_of(victim))
    wait_until("all brokers tell", lambda: all_is_told(brokers), within_s=WAIT_S)
    assert owners_of(after) == after
    changes = changes_since(joined_s, bundles)
    beside("add", more, {"moves": float(len(changes))})
    moved = sum(each.bundle in after for each in changes)
    assert moved == more["courses"]["as planned"]["measures"]["moves"]["median"] == 0


# -------------------------------------------------------------------- all, one by one

#: Of a restart, s: from one broker to the next, and for which a broker is away; about as here.
EVERY_S, DOWN_S = 25, 12
#: A process of these brokers begins within seconds of each other's, and serves nobody yet.
WARM_S, APART_S = 1, 0.2
SHEDDING = "loadBalancerSheddingEnabled"


def rolled(tmp_path: Path, of: str) -> RolloutAccount:
    """Have all brokers restarted by a command, as `trimtab rollout` conducts it."""
    # Broker 127.0.1.2 is number 2.
    code = (
        "import sys; from cluster.broker import main; "
        "main(['restart', sys.argv[1].rpartition('.')[2]])"
    )
    hook = shlex.join([sys.executable, "-c", code, "{host}"])
    waits = ("--every", f"{APART_S}s", "--warm", f"{WARM_S}s", "--give-back", "none")
    path = tmp_path / "rollout.json"
    words = ("--admin", f"http://{of}", *waits, "--bar", "100", "--hook", hook, "--yes")
    done = trimtab("rollout", str(path), *words, within_s=600.0)
    assert done.returncode == 0, done.stdout + done.stderr
    plan = read_rollout(path.read_text())
    return rollout_account(
        plan, entries_of(Path(f"{path}.journal"), plan.digest, read_rollout_entry)
    )


def test_all_are_restarted_after_it_was_rehearsed(
    tmp_path: Path, brokers: list[str], *, is_exhaustive: bool
) -> None:
    """How often bundles moved is printed, and how many of the moves were asked for."""
    if not is_exhaustive:
        pytest.skip("minutes: --exhaustive")
    from cluster.run import FOLDER
    from cluster.state import load

    def processes() -> dict[str, int]:
        every = load(FOLDER).processes
        return {name: each.pid for name, each in every.items() if "broker" in name}

    wait_until("all brokers tell", lambda: all_is_told(brokers), within_s=WAIT_S)
    foretold = rehearsal(tmp_path, brokers[0], f"restart all every {EVERY_S}s down {DOWN_S}s")
    before, bundles = processes(), told_bundles(brokers)
    began_s = time.time()
    done = rolled(tmp_path, brokers[0])
    took_s = time.time() - began_s
    assert done.is_done
    # Each once, and every one is another process.
    assert [(each.state, each.hand_overs) for each in done.brokers] == [("restarted", 1)] * 3
    assert set(before.values()).isdisjoint(processes().values())
    # As it was: by the dynamic setting of these tests.
    assert called("GET", "brokers/configuration/values") == {SHEDDING: "false"}
    mine = {name for name in bundles if name.startswith(f"{NAMESPACE}/")}
    wait_until("every bundle", lambda: set(owners()) >= mine, within_s=WAIT_S)
    changes = changes_since(began_s, bundles)
    beside("restart all", foretold, {"moves": float(len(changes))})
    by_namespace = Counter(each.bundle.rpartition("/")[0] for each in changes)
    asked_for = sum(each.moves_away + each.moves_back for each in done.brokers)
    sys.stdout.write(
        f"restart all: {took_s:.0f} s, {len(bundles)} bundles, changes by namespace "
        f"{dict(sorted(by_namespace.items()))}; the command asked for {asked_for} moves\n"
    )
    # Every bundle leaves its broker, and none is moved as often as there are brokers.
    of_ours = by_namespace[NAMESPACE]
    assert len(mine) <= of_ours <= 3 * len(mine)
