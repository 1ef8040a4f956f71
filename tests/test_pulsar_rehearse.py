"""What is planned for a real cluster is rehearsed on it as it stands, and then it is done.

One of three brokers is killed, and one joins the two that are left; then all three are
restarted by `trimtab rollout`.  Clients count every message on every bundle, and nobody sheds.
What came is printed beside what was foretold of it.
"""

from __future__ import annotations

import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beside import trimtab, wait_until
from loopback_cluster import load_report
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
    began = time.monotonic()
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
            "moves": float(sum(after[name] != of for name, of in before.items())),
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
    finally:
        wait_until_gone(victim)
        begin(load(FOLDER), number_of(victim))
    wait_until("all brokers tell", lambda: all_is_told(brokers), within_s=WAIT_S)
    now = owners_of(after)
    moved = float(sum(now[name] != of for name, of in after.items()))
    beside("add", more, {"moves": moved})
    assert moved == more["courses"]["as planned"]["measures"]["moves"]["median"] == 0


# -------------------------------------------------------------------- all, one by one

#: Of a restart, s: from one broker to the next, and for which a broker is away; about as here.
EVERY_S, DOWN_S = 25, 12
#: A process of these brokers begins within seconds of each other's, and serves nobody yet.
WARM_S, APART_S = 1, 0.2
SHEDDING = "loadBalancerSheddingEnabled"


class Looks:
    """Looks at the owners of bundles again and again, beside a restart."""

    def __init__(self) -> None:
        self.moves = 0
        self._owners = owners()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._is_over.wait(0.3):
            self._look()

    def _look(self) -> None:
        try:
            now = owners()
        except (OSError, AssertionError):
            # Nobody answers for a moment.
            return
        self.moves += sum(self._owners.get(name, of) != of for name, of in now.items())
        self._owners |= now

    def __enter__(self) -> Looks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()


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
    """How often bundles moved is printed: a look sees fewer moves than there were."""
    if not is_exhaustive:
        pytest.skip("minutes: --exhaustive")
    from cluster.run import FOLDER
    from cluster.state import load

    def processes() -> dict[str, int]:
        every = load(FOLDER).processes
        return {name: each.pid for name, each in every.items() if "broker" in name}

    wait_until("all brokers tell", lambda: all_is_told(brokers), within_s=WAIT_S)
    foretold = rehearsal(tmp_path, brokers[0], f"restart all every {EVERY_S}s down {DOWN_S}s")
    before, bundles = processes(), owners()
    began = time.monotonic()
    with Looks() as looks:
        done = rolled(tmp_path, brokers[0])
    took_s = time.monotonic() - began
    assert done.is_done
    # Each once, and every one is another process.
    assert [(each.state, each.hand_overs) for each in done.brokers] == [("restarted", 1)] * 3
    assert set(before.values()).isdisjoint(processes().values())
    # As it was: by the dynamic setting of these tests.
    assert called("GET", "brokers/configuration/values") == {SHEDDING: "false"}
    wait_until("every bundle", lambda: set(owners()) >= set(bundles), within_s=WAIT_S)
    beside("restart all", foretold, {"moves": float(looks.moves)})
    sys.stdout.write(f"restart all: {took_s:.0f} s\n")
    # Every bundle leaves its broker, and none is moved as often as there are brokers.
    assert len(bundles) <= looks.moves <= 3 * len(bundles)
