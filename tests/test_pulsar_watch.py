"""A real leader is watched: every round of its log is recomputed to the last digit.

Its rounds are fifteen seconds apart (see `pulsar/cluster/quick.py`) and it sheds at the least
difference, so that each of them has something to compare.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import prometheus_server as server

pytestmark = pytest.mark.pulsar

ROOT = Path(__file__).parent.parent
STEADY = ROOT / "pulsar" / "cluster" / "profiles" / "steady.toml"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "pulsar", *sys.path])}
WAIT_S = 240.0
ROUNDS = 5
#: An outcome is made of samples that are so far apart.
INTERVAL_S = 15
SETTINGS = {
    "loadBalancerSheddingIntervalMinutes": str(INTERVAL_S),
    "loadBalancerMsgRateDifferenceShedderThreshold": "3",
    "statsUpdateFrequencyInSecs": "5",
    "loadBalancerReportUpdateMinIntervalMillis": "2000",
}


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command beside, and kill it when the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    last = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < last, f"waited {WAIT_S:.0f} s for {what}"
        time.sleep(0.5)


def said(recording: Path, what: str) -> list[dict[str, Any]]:
    path = recording / "watch" / "rounds.jsonl"
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["said"] == what]


class Watched:
    """A watch that has been ended, and what it left."""

    def __init__(self, recording: Path, printed: str, unanswered: list[str], ill: list[str]):
        self.recording, self.printed = recording, printed
        self.unanswered, self.ill = unanswered, ill


@dataclass(frozen=True)
class Cluster:
    """A cluster whose rounds are seconds apart."""

    #: How it is reached.
    words: tuple[str, ...]
    #: Closed before the cluster is stopped.
    beside: ExitStack


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    from cluster.run import FOLDER, down, stopped_on_failure, up
    from cluster.state import STORE, State, web

    with stopped_on_failure(FOLDER):
        up(State(FOLDER, settings=SETTINGS, is_quick=True), 3)
        reached = ("--admin", web(1), "--metadata", f"zk://{STORE}:2181")
        logs = ("--logs", str(FOLDER / "logs"), "--interval", f"{INTERVAL_S}s")
        with ExitStack() as beside:
            yield Cluster((*reached, *logs), beside)
        down(FOLDER)


@pytest.fixture(scope="module")
def watched(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """A watch beside a real leader, until it has seen enough rounds; scraped meanwhile."""
    folder = tmp_path_factory.mktemp("watch")
    recording, port = folder / "beside", server.free_port()
    command = (
        *("trimtab", "watch", *cluster.words, "--every", "5s", "--metrics", str(port)),
        *("--strategy", "AvgShedder", "--set", "loadBalancerAvgShedderHighThreshold=1"),
        *("-o", str(recording)),
    )
    with running(*command) as process:
        wait_until("the first look", (recording / "recording.toml").exists)
        # Only now, so that the watch knows all that the leader averages.
        cluster.beside.enter_context(running("cluster.load", str(STEADY)))
        with server.prometheus(f"127.0.0.1:{port}", folder / "prometheus") as prometheus:
            wait_until("rounds", lambda: len(said(recording, "compared")) >= ROUNDS)
            unanswered = server.unanswered(prometheus, server.shipped_queries())
            ill = server.ill_rules(prometheus)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 0, printed
    return Watched(recording, printed, unanswered, ill)


def test_every_round_is_recomputed_to_the_last_digit(watched: Watched) -> None:
    compared = said(watched.recording, "compared")

    assert len(compared) >= ROUNDS
    assert [each for each in compared if each["equal"] is not True] == []
    # There was something to compare: bundles, each with a rate of many digits.
    assert sum(len(each["unloaded"]) for each in compared) >= ROUNDS
    assert all(any(len(word) > 12 for word in each["lines"][0].split()) for each in compared)


def test_another_strategy_has_decided_the_same_rounds(watched: Watched) -> None:
    decided = said(watched.recording, "decided")
    compared = {each["round"] for each in said(watched.recording, "compared")}

    assert compared <= {each["round"] for each in decided}
    assert all(each["shadow"] is not None for each in decided)
    assert "beside the leader's log" in watched.printed


def test_both_are_scored(watched: Watched) -> None:
    scored = said(watched.recording, "scored")

    assert len(scored) >= ROUNDS - 2
    assert all(each["pulsar"]["unloads"] >= 0 for each in scored)


def test_every_query_and_rule_that_is_shipped_answers(watched: Watched) -> None:
    assert watched.unanswered == []
    assert watched.ill == []


def test_what_it_leaves_is_its_owners_alone(watched: Watched) -> None:
    files = [path for path in watched.recording.rglob("*") if path.is_file()]

    assert len(files) > 5
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_what_is_decided_is_carried_out(watched: Watched, cluster: Cluster, tmp_path: Path) -> None:
    # It is used after the other: Pulsar's own shedding goes off.
    assert watched.printed
    address = cluster.words[1]
    refused = subprocess.run(
        [
            *(sys.executable, "-m", "trimtab", "watch", *cluster.words),
            *("-o", str(tmp_path / "refused")),
            *("--act", "--yes"),
        ],
        cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "--act: found loadBalancerSheddingEnabled true, expected false" in refused.stderr
    switch = f"{address}/admin/v2/brokers/configuration/loadBalancerSheddingEnabled/false"
    urllib.request.urlopen(urllib.request.Request(switch, method="POST"), timeout=10).close()
    recording = tmp_path / "acting"
    patient = {"bar_percent": 1e9, "broker_age_min_s": 1, "settle_s": 1, "grace_s": 1}
    limits = [word for name, value in patient.items() for word in ("--limit", f"{name}={value:g}")]
    command = (
        *("trimtab", "watch", *cluster.words, "--every", "5s", "-o", str(recording)),
        *("--strategy", "UniformLoadShedder", "--act", "--yes", *limits, "--throttle", "1", "2"),
    )
    with running(*command) as process:
        wait_until("moves", lambda: len(verified(recording)) >= 2)
        # It has the lock, so nobody else may act.
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 0, printed

    moved = {bundle for bundle, state in verified(recording)}
    for plan in sorted((recording / "watch" / "plans").glob("*.json")):
        journal = plan.with_name(f"{plan.name}.journal").read_text().splitlines()
        entries = [json.loads(line) for line in journal]
        # Whatever was asked for was seen to land, also what was in flight in the end.
        asked = [each["move"] for each in entries if each["entry"] == "asked"]
        landed = [each["move"] for each in entries if each["entry"] == "verified"]
        assert landed == asked
        assert entries[-1]["entry"] in {"done", "stopped"}
    assert moved
    assert "moved: " in printed
    assert "Traceback" not in printed


def verified(recording: Path) -> list[tuple[str, str]]:
    """Give the bundles that plans have moved."""
    states = [each["states"] for each in said(recording, "acted")]
    return [item for each in states for item in each.items() if item[1] == "verified"]
