"""What is planned for a real cluster is rehearsed on it as it stands, and then it is done.

One of three brokers is killed, and one joins the two that are left; clients are on every
bundle, and nobody sheds.  What came is printed beside what was foretold of it.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beside import trimtab, wait_until
from loopback_cluster import load_report
from test_pulsar_faults import not_leading, number_of, wait_until_gone
from test_pulsar_moves import N_TOPICS, NAMESPACE, WAIT_S, brokers, owners, owners_of

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
    words = ("--for", "5m", "--seeds", str(SEEDS), "-o", str(out), "--json")
    asking = ("--admin", f"http://{of}", f"{event} at +2m")
    # Twenty simulations twice over, on a machine that does other things.
    done = trimtab("rehearse", *asking, *words, within_s=600.0)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
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
