"""What traffic costs a real cluster is learned, three moves are planned by it, made and scored.

Brokers are in namespaces and groups of their own, so that each reports what it alone uses.  The
first has all bundles, as the others come later and nobody sheds.  Brokers look at their usage every
five seconds, a twelfth of the usual, and all that goes by windows is as much shorter.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cluster import kernel
from cluster.run import FOLDER, add, down, stopped_on_failure, up
from cluster.state import State, broker_id, web

from beside import ROOT, running, trimtab, wait_until
from loopback_cluster import load_report
from trimtab.live.apply.files import plan_of, write_plan
from trimtab.live.control.plan import Plan

pytestmark = pytest.mark.pulsar

UNEVEN = ROOT / "testbed" / "cluster" / "profiles" / "uneven.toml"
MOVES, TOPICS = 3, 24
WINDOW_S = 5
SETTINGS = {
    "loadBalancerSheddingEnabled": "false",
    "loadBalancerHostUsageCheckIntervalMinutes": str(WINDOW_S),
    "statsUpdateFrequencyInSecs": str(WINDOW_S),
}
#: The steps of the profile; and how long after a move predictions are held against what came.
LEARNED_S, SCORED_S = 100, 45
#: What reads a recording may be held up by brokers that count more than it does.
SLOW_S = 420.0
#: Brokers of a test have only just started and share the machine.
PATIENT = {"broker_age_min_s": 1.0, "bar_percent": 1e9, "grace_s": 1.0, "settle_s": 15.0}


@dataclass(frozen=True)
class Night:
    """What came of three moves."""

    recording: Path
    costs: dict[str, Any]
    plan: Plan
    account: dict[str, Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[State]:
    if (obstacle := kernel.obstacle()) is not None:
        pytest.skip(f"no namespaces and groups for brokers: {obstacle}")
    with stopped_on_failure(FOLDER):
        state = State(FOLDER, mode="namespaces", settings=SETTINGS, is_sampled_quickly=True)
        yield up(state, 1)
        down(FOLDER)


@pytest.fixture(scope="module")
def night(cluster: State, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Costs are learned, and three moves planned by them and made, while all is recorded."""
    folder = tmp_path_factory.mktemp("costs")
    admin = web(1, cluster.network)
    with running("-m", "cluster.load", str(UNEVEN), stdout=None, stderr=None):
        wait_until("all topics", lambda: load_report(admin)["numTopics"] >= TOPICS)
        for _ in (2, 3):
            add(cluster)
        often = ("--every", f"{WINDOW_S}s", "--metrics-every", f"{WINDOW_S}s")
        words = ("--admin", admin, *often, "--for", "1h", "-o", str(folder / "night"))
        with running("-m", "trimtab", "gather", *words) as recording:
            made = _made(admin, folder)
            last = max(move["asked_s"] for move in made[2]["moves"] if move["asked_s"])
            reports = folder / "night" / "load-reports.jsonl"
            came_s = last + 1.5 * SCORED_S
            wait_until("what came", lambda: _last_s(reports) > came_s, within_s=600)
            recording.send_signal(signal.SIGINT)
            recording.wait(timeout=120)
    return Night(folder / "night", *made)


def _made(admin: str, folder: Path) -> tuple[dict[str, Any], Plan, dict[str, Any]]:
    """Return the costs, the plan and what became of it."""
    state, plan = folder / "costs.npz", folder / "plan.json"
    learning = ("--for", f"{LEARNED_S}s", "--every", "2s", "--state", str(state), "--json")
    costs = trimtab("costs", "--admin", admin, *learning, within_s=LEARNED_S + SLOW_S)
    assert costs.returncode == 0, costs.stderr
    wish = ("--moves", str(MOVES), "--gain", "0.1", "--even-if-unsure")
    acting = ("--admin", admin, "--state", str(folder / "locks"))
    planned = trimtab(
        "plan", *acting, "--costs", str(state), *wish, "-o", str(plan), within_s=SLOW_S
    )
    assert planned.returncode == 0, planned.stderr
    moves = plan_of(plan)
    moves = replace(moves, limits=replace(moves.limits, **PATIENT))
    write_plan(plan, moves)
    done = trimtab("apply", str(plan), *acting, "--yes", "--json", within_s=600 + SLOW_S)
    account = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(costs.stdout), moves, account


def _last_s(reports: Path) -> float:
    """Return the time of the last report that was recorded, s since 1970."""
    *_, last, _ = reports.read_text(encoding="utf-8").split("\n")
    return datetime.fromisoformat(json.loads(last)["time"]).timestamp()


def test_what_traffic_costs_is_learned_with_intervals(night: Night, cluster: State) -> None:
    brokers = {broker_id(number, cluster.network) for number in (1, 2, 3)}
    assert {row["broker"] for row in night.costs["brokers"]} == brokers
    for price in (night.costs["traffic"], *night.costs["units"].values()):
        assert 0 < price["low"] < price["value"] < price["high"]


def test_three_moves_are_planned_with_intervals_of_their_own(night: Night, cluster: State) -> None:
    first = broker_id(1, cluster.network)
    assert [move.source for move in night.plan.moves] == [first] * MOVES
    widths = set()
    for move in night.plan.moves:
        for interval in (move.after.source, move.after.destination):
            assert interval is not None
            assert 0 <= interval[0] < interval[1] <= 100
            widths.add(round(interval[1] - interval[0], 2))
    assert len(widths) > 1


def test_they_are_made_and_end_where_they_were_expected(night: Night) -> None:
    assert [move["state"] for move in night.account["moves"]] == ["verified"] * MOVES
    for move, done in zip(night.plan.moves, night.account["moves"], strict=True):
        for end in ("source", "destination"):
            interval = getattr(move.after, end)
            assert interval[0] <= done[f"{end}_percent"] <= interval[1]


def test_what_was_predicted_of_them_is_scored(night: Night, cluster: State) -> None:
    after = ("--after", f"{SCORED_S}s")
    result = trimtab("backtest", str(night.recording), *after, "--json", within_s=SLOW_S)
    assert result.returncode == 0, result.stderr
    (recording,) = json.loads(result.stdout)["recordings"]
    assert recording["moves"] >= MOVES
    row = next(each for each in recording["scores"] if each["of"] == "moves")
    assert row["minutes"] == SCORED_S / 60
    assert row["brokers"] >= 2
    assert set(row["model"]["level_coverage"]) == {"50", "80", "90"}
    first = broker_id(1, cluster.network)
    of_first = [
        each for each in recording["predictions"] if each["is_move"] and each["broker"] == first
    ]
    assert of_first
    # Three bundles less: it was predicted to fall, and did.
    assert all(each["after"] < each["before"] for each in of_first)
    assert of_first[-1]["measured_after"] < of_first[0]["measured_before"]
