"""An uneven cluster is balanced by `trimtab watch --strategy Foresee --act --yes`.

All bundles of a namespace are one broker's; clients that count every message send on.  Brokers are
in namespaces of their own, so each reports what it alone carries, and their windows are seconds
long.  With --exhaustive Pulsar's AvgShedder is then given the same cluster, as uneven as before.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cluster import kernel
from cluster.drive import put
from cluster.run import FOLDER, down, stopped_on_failure, up
from cluster.state import State, broker_id, web

from beside import ENVIRONMENT, running, wait_until
from loopback_cluster import asked, load_report
from test_pulsar_moves import counting

pytestmark = pytest.mark.pulsar

NAMESPACE = "shop/uneven"
BUNDLES, TOPICS, BROKERS = 12, 24, 3
#: Ten messages a second of so many bytes on each topic: half of a card of 50 Mbit/s.
BYTES = 6144
WINDOW_S = 5
SETTINGS = {
    "loadBalancerHostUsageCheckIntervalMinutes": str(WINDOW_S),
    "statsUpdateFrequencyInSecs": str(WINDOW_S),
    "loadBalancerReportUpdateMinIntervalMillis": "2000",
    "loadBalancerSheddingEnabled": "false",
    "loadBalancerSheddingIntervalMinutes": str(WINDOW_S),
    "loadBalancerLoadSheddingStrategy": ("org.apache.pulsar.broker.loadbalance.impl.AvgShedder"),
    "loadBalancerLoadPlacementStrategy": ("org.apache.pulsar.broker.loadbalance.impl.AvgShedder"),
}
#: Its windows are a twelfth of the usual ones, and so are its turns.
STRATEGY = f"Foresee@reports/every_s={WINDOW_S}/settle_s=15"
LIMITS = {"broker_age_min_s": 1, "settle_s": 1, "grace_s": 1, "bar_percent": 1e9, "attempts": 4}
#: Points between the busiest and the idlest broker: uneven, and balanced for so many looks.
UNEVEN, BALANCED, LOOKS = 25.0, 15.0, 3
WAIT_S = 240.0
#: For AvgShedder.
PATIENCE_S = 180.0


@dataclass
class Course:
    """How a cluster went while somebody balanced it."""

    name: str
    began_s: float = field(default_factory=time.monotonic)
    took_s: float = float("nan")
    peak: float = 0.0
    calm: int = 0
    moves: int = 0

    def look(self) -> bool:
        """Look at the brokers; return whether they have been balanced for long enough."""
        usages = busiest()
        self.peak = max(self.peak, *usages)
        if max(usages) - min(usages) > BALANCED:
            self.calm = 0
        elif (calm := self.calm + 1) <= LOOKS:
            if calm == 1:
                self.took_s = time.monotonic() - self.began_s
            self.calm = calm
        return self.calm >= LOOKS

    def line(self) -> str:
        took = f"{self.took_s:.0f} s" if self.calm >= LOOKS else f"not within {PATIENCE_S:.0f} s"
        return f"{self.name}: {took}, {self.moves} moves, peak {self.peak:.0f} %"


@pytest.fixture
def cluster() -> Iterator[State]:
    if (obstacle := kernel.obstacle()) is not None:
        pytest.skip(f"no namespaces and groups for brokers: {obstacle}")
    with stopped_on_failure(FOLDER):
        state = State(
            FOLDER, mode="namespaces", settings=SETTINGS, is_quick=True, is_sampled_quickly=True
        )
        yield up(state, BROKERS)
        down(FOLDER)


def called(path: str, method: str = "GET", body: object = None) -> Any:
    return asked(web(1, State(FOLDER, mode="namespaces").network), path, method, body)


def reports() -> list[dict[str, Any]]:
    network = State(FOLDER, mode="namespaces").network
    return [load_report(web(number, network)) for number in range(1, BROKERS + 1)]


def busiest() -> list[float]:
    """Give the busiest resource of each broker, percent."""
    kinds = ("cpu", "bandwidthIn", "bandwidthOut")
    return [
        max(100.0 * report[kind]["usage"] / report[kind]["limit"] for kind in kinds)
        for report in reports()
    ]


def owned() -> dict[str, int]:
    """Give the number of the broker that has each bundle."""
    network = State(FOLDER, mode="namespaces").network
    return {
        name: number
        for number in range(1, BROKERS + 1)
        for name in asked(
            web(number, network), f"brokers/loopback/{broker_id(number, network)}/ownedNamespaces"
        )
        if name.startswith(NAMESPACE)
    }


def make_uneven() -> None:
    """Give all bundles to the first broker, and wait until reports show it."""
    network = State(FOLDER, mode="namespaces").network
    first = broker_id(1, network)

    def is_firsts() -> bool:
        owners = owned()
        elsewhere = [name for name, number in owners.items() if number != 1]
        for name in elsewhere:
            path = f"namespaces/{quote(name)}/unload?destinationBroker={quote(first, safe=':')}"
            put(f"{web(1, network)}/admin/v2/{path}")
        # A bundle that no topic is in is nobody's.
        return not elsewhere and len(owners) > BUNDLES // 2

    wait_until("all bundles at one broker", is_firsts)
    wait_until("reports of that", lambda: busiest()[0] > UNEVEN + max(busiest()[1:]))


def said(recording: Path, what: str) -> list[dict[str, Any]]:
    path = recording / "watch" / "rounds.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [each for each in map(json.loads, lines) if each["said"] == what]


def test_an_uneven_cluster_is_balanced_and_no_message_is_lost(
    cluster: State,
    tmp_path: Path,
    is_exhaustive: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "COUNTED_BYTES", str(BYTES))
    called("tenants/shop", "PUT", {"allowedClusters": ["loopback"]})
    called(f"namespaces/{NAMESPACE}", "PUT", {"bundles": {"numBundles": BUNDLES}})
    topics = [f"persistent://{NAMESPACE}/t-{i}" for i in range(TOPICS)]
    with counting(topics, cluster.network) as counted:
        make_uneven()
        courses = [by_foresee(cluster, tmp_path)]
        if is_exhaustive:
            make_uneven()
            courses.append(by_avg_shedder())
    with capsys.disabled():
        sys.stdout.write("".join(f"\n{each.line()}" for each in courses) + "\n")

    assert len(counted) == TOPICS
    for each in counted:
        assert each["sent"] == each["acknowledged"] == each["received"] > 0, each


def by_foresee(cluster: State, folder: Path) -> Course:
    """Let Foresee act until the cluster is balanced and what it predicted has been scored."""
    recording, memory = folder / "acting", folder / "memory.npz"
    limits = [word for name, value in LIMITS.items() for word in ("--limit", f"{name}={value:g}")]
    command = (
        *("watch", "--admin", web(1, cluster.network), "--every", "2s", "--interval", "5s"),
        *("--strategy", STRATEGY, "--act", "--yes", "--throttle", "8", "12", *limits),
        *("--memory", str(memory), "-o", str(recording)),
    )
    course = Course("Foresee")
    with running("tests/quick_watch.py", *command) as process:
        wait_until("balance", ended_or(process, course.look), every_s=1.0)
        wait_until(
            "predictions that are scored", ended_or(process, lambda: said(recording, "foretold"))
        )
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, printed
    states = [state for each in said(recording, "acted") for state in each["states"].values()]
    course.moves = states.count("verified")
    assert course.moves >= 2, printed
    turns = said(recording, "steered")
    # Every turn says why it moved what it did, or nothing; and what it expects of its moves.
    assert all(each["why"] for each in turns)
    assert all(each["expected"] for each in turns if each["moves"])
    foretold = said(recording, "foretold")
    inside = sum(each["inside"] for each in foretold)
    course.name += f" (predicted brokers {len(foretold)}, of four in five {inside})"
    assert memory.stat().st_size > 0
    assert "Traceback" not in printed
    return course


def by_avg_shedder() -> Course:
    """Let Pulsar's own shedder do it, as often as its windows allow."""
    before = owned()
    course = Course("AvgShedder")
    called("brokers/configuration/loadBalancerSheddingEnabled/true", "POST")
    # It is what it is held against: that it takes long is no failure of ours.
    while not course.look() and time.monotonic() < course.began_s + PATIENCE_S:
        time.sleep(1.0)
    called("brokers/configuration/loadBalancerSheddingEnabled/false", "POST")
    after = owned()
    course.moves = sum(after.get(name) != number for name, number in before.items())
    return course


def ended_or(process: subprocess.Popen[str], is_so: Callable[[], object]) -> Callable[[], bool]:
    """Return what is so, or fails if a process has ended."""

    def told() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return bool(is_so())

    return told
