"""`trimtab watch --strategy Foresee`: beside simulated brokers, and acting on them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests import fake_admin
from tests.asking_watch import asking_watch
from tests.fake_pulsar import FakePulsar, fake_pulsar
from tests.turned_cluster import SETTINGS, Turned
from tests.watched_nights import seen
from trimtab.cli import main
from trimtab.files.array_files import ArrayFileError
from trimtab.lab.steering.keeping import arrays, remembered
from trimtab.live.apply import Where
from trimtab.live.control.trust import Outcome, Trust
from trimtab.live.gather import read_access
from trimtab.live.watch.actor import PAUSE, ActingRequest, Actor, acting
from trimtab.live.watch.costs import learning
from trimtab.live.watch.desk import Answer
from trimtab.live.watch.document import line_of, words
from trimtab.live.watch.metrics import Metrics
from trimtab.live.watch.nouns import Acted, Foretold, Steered
from trimtab.live.watch.page.state import Shown
from trimtab.live.watch.plans import limits_of
from trimtab.live.watch.proposals import Proposal, ProposedMove
from trimtab.live.watch.screen import summary
from trimtab.live.watch.steering.kept import read_kept, write_kept
from trimtab.live.watch.tally import Tally

LATER_S = 60.0
STRATEGY = "Foresee/every_s=1"
UNEVEN = {"b1": {"a": 12.0, "b": 10.0, "c": 8.0}, "b2": {"d": 4.0}, "b3": {"e": 4.0, "f": 3.0}}


def wait_until(what: str, holds: Callable[[], object]) -> None:
    last = time.monotonic() + LATER_S
    while not holds():
        assert time.monotonic() < last, what
        time.sleep(0.05)


def said(recording: Path, what: str) -> list[dict[str, Any]]:
    path = recording / "watch" / "rounds.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [each for each in map(json.loads, lines) if each["said"] == what]


# --------------------------------------------------------------------------- the command


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["watch", *arguments], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words_", "expected"),
    [
        (["--strategy", "Foresee@far"], "--strategy: found 'Foresee@far', expected one of store"),
        (["--strategy", "Foresee/haste=1"], "found 'Foresee/haste=1', expected one of trigger"),
        (["--strategy", "Foresee@polled"], "--strategy: found Foresee@polled, expected @reports"),
        (["--strategy", "Foresee@store"], "--strategy: found Foresee@store without --metadata"),
        (["--memory", "m.npz"], "--memory: found with --strategy of the cluster, expected"),
        (["--strategy", "AvgShedder", "--memory", "m"], "--memory: found with --strategy AvgS"),
    ],
)
def test_what_cannot_be_watched_by_is_one_line(
    words_: list[str], expected: str, tmp_path: Path
) -> None:
    with fake_admin.brokers(2) as cluster:
        output = str(tmp_path / "now")
        result = run("--admin", cluster[0].address, "--once", "-o", output, *words_)

    assert result.exit_code == 2
    assert expected in result.output
    assert result.output.count("\n") == 1


def test_a_damaged_memory_is_one_line(tmp_path: Path) -> None:
    memory = tmp_path / "memory.npz"
    memory.write_text("no arrays")
    words_ = ("--strategy", "Foresee", "--memory", str(memory), "-o", str(tmp_path / "now"))
    result = run("--admin", "http://127.0.0.1:1", "--once", *words_)

    assert result.exit_code == 2
    assert f"{memory}: expected a file of what a strategy" in result.output
    assert result.output.count("\n") == 1


def test_once_says_why_nothing_would_be_moved(tmp_path: Path) -> None:
    recording, memory = tmp_path / "now", tmp_path / "memory.npz"
    with fake_admin.brokers(3) as cluster:
        words_ = ("--strategy", "Foresee", "--memory", str(memory), "-o", str(recording))
        result = run("--admin", cluster[0].address, "--once", *words_)

    assert result.exit_code == 0, result.output
    assert "Foresee would unload nothing (as if there were a round now)" in result.output
    turns = said(recording, "steered")
    assert turns[0]["why"] == "too little has been seen to tell a burst from a step"
    assert turns[0]["moves"] == []
    assert read_kept(memory, "Foresee") is not None


# ------------------------------------------------------------------------------ acting


@pytest.fixture
def cluster() -> Any:
    with fake_pulsar(3, 12, 12) as running:
        running.settings["statsUpdateFrequencyInSecs"] = "1"
        yield running


def owned(cluster: FakePulsar) -> list[int]:
    of = list(cluster.owners.values())
    return [of.count(each.id) for each in cluster.brokers]


def test_an_uneven_cluster_is_evened_and_each_turn_says_why(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    memory = tmp_path / "memory.npz"
    with asking_watch(
        cluster, tmp_path, asks=False, strategy=STRATEGY, memory=memory, settle_s=0.2
    ) as watching:
        wait_until("a plan that is over", lambda: said(watching.recording, "acted"))
    turns = said(watching.recording, "steered")
    moving = [each for each in turns if each["moves"]]
    acting_ = said(watching.recording, "acting")

    assert owned(cluster)[0] < 12
    assert all(each["why"] for each in turns)
    assert {each["strategy"] for each in turns} == {STRATEGY}
    first = moving[0]
    assert {"broker", "before", "after", "change_deviation", "deviation"} == set(
        first["expected"][0]
    )
    # Nothing it predicted was held against anything yet: it may do as little as anybody.
    assert (first["trust"], first["held"]) == (0.0, [0, None])
    assert {each["turn"] for each in acting_ if each["moves"]} <= {each["turn"] for each in moving}
    plan = json.loads(next((watching.recording / "watch" / "plans").glob("*.json")).read_text())
    assert "moves_per_hour" not in plan["limits"]
    assert plan["moves"][0]["reason"].startswith(f"{STRATEGY}: ")
    kept = read_kept(memory, STRATEGY)
    assert kept is not None
    assert set(kept.names.brokers) == {each.id for each in cluster.brokers}


def test_a_plan_waits_for_an_answer_on_the_page(cluster: FakePulsar, tmp_path: Path) -> None:
    with asking_watch(cluster, tmp_path, strategy=STRATEGY, settle_s=0.2) as watching:
        desk = watching.desk

        def waits() -> bool:
            return desk.progress is not None and desk.progress.is_waiting

        wait_until("a plan", waits)
        assert owned(cluster) == [12, 0, 0]
        assert desk.progress is not None
        digest = desk.progress.plan.digest
        wait_until(
            "turns meanwhile",
            lambda: any(
                "still being" in each["why"] for each in said(watching.recording, "steered")
            ),
        )
        assert desk.take_answer(digest, is_approved=True)
        wait_until("moves", lambda: owned(cluster)[0] < 12)
        assert desk.progress.answer is Answer.APPROVED
    assert said(watching.recording, "asking")


# ---------------------------------------------------------------- limits, pauses and drift


def wish(cluster: FakePulsar, number: int, trust: Trust, *, to: str | None = None) -> Proposal:
    """A turn that would move one more bundle off the first broker."""
    source, target = cluster.brokers[0].id, to or cluster.brokers[1].id
    move = ProposedMove(sorted(cluster.owners)[number], source, target, "to see", 1e6, 50.0)
    return Proposal(number, datetime.now(UTC), "turn", (move,), trust)


def test_limits_of_a_plan_hang_on_trust_unless_they_are_set() -> None:
    sure = Trust(1.0, 1.0)
    assert limits_of(SETTINGS, {}, sure).moves_per_hour == 240.0
    assert limits_of(SETTINGS, {}, Trust(0.0, 1.0)).moves_per_hour == 60.0
    assert limits_of(SETTINGS, {}).moves_per_hour == 60.0
    assert limits_of(SETTINGS, {"moves_per_hour": 5.0}, sure).moves_per_hour == 5.0


def over(actor: Actor) -> Acted:
    """Wait for the end of a plan."""
    last = time.monotonic() + LATER_S
    while True:
        for each in actor.take([], SETTINGS, learning(None).costs):
            if each.is_over:
                return each
        assert time.monotonic() < last
        time.sleep(0.02)


def test_three_plans_cut_short_pause_for_a_time_and_drift_stops(
    cluster: FakePulsar, tmp_path: Path
) -> None:
    where = Where(
        f"http://{cluster.brokers[0].id}", read_access(None), tmp_path, is_lock_here=True,
        pause_s=0.05,
    )  # fmt: skip
    quick = {"settle_s": 0.2, "broker_age_min_s": 1.0, "verify_s": 2.0, "look_up_s": 0.2}
    costs = learning(None).costs
    with acting(
        ActingRequest(where, quick), tmp_path / "watch" / "plans", threading.Event()
    ) as actor:
        drifting = replace(wish(cluster, 1, Trust()), trust=Trust(drift="predictions have drifted"))
        (stopped,) = actor.take([drifting], SETTINGS, costs)
        assert (stopped.moves, stopped.why) == (0, "predictions have drifted")
        for number in (1, 2, 3):
            # Nobody of that name answers, so the plan stops before its first move.
            (begun,) = actor.take([wish(cluster, number, Trust(), to="x:1")], SETTINGS, costs)
            assert begun.moves == 1, begun.why
            assert "does not answer" in over(actor).why
        (paused,) = actor.take([wish(cluster, 4, Trust())], SETTINGS, costs)
        assert paused.moves == 0
        assert "the last 3 plans were not done, so nothing is moved until" in paused.why
        assert "does not answer" in paused.why
        assert timedelta(minutes=9) < actor.paused_until - datetime.now(UTC) <= PAUSE
        # Ten minutes later.
        actor.paused_until = datetime.now(UTC)
        (again,) = actor.take([wish(cluster, 5, Trust())], SETTINGS, costs)
        assert (again.moves, again.why) == (1, "")
        assert over(actor).why == ""
    assert cluster.unloads.total() >= 1


# --------------------------------------------------------------------------- memory


def turned(strategy: str = "Foresee") -> Turned:
    of = Turned(strategy, UNEVEN)
    for _ in range(30):
        of.look()
    of.move("a", "b2")
    for _ in range(15):
        of.look()
    return of


@pytest.mark.parametrize("strategy", ["Foresee", "BusiestShare"])
def test_a_memory_is_as_it_was_when_it_is_read_again(strategy: str, tmp_path: Path) -> None:
    of, path = turned(strategy), tmp_path / "memory.npz"
    kept = of.turns.kept(5.0)
    assert kept is not None
    write_kept(path, kept)
    again = read_kept(path, strategy)

    assert again is not None
    assert (again.names, again.record, again.time_s) == (kept.names, kept.record, 5.0)
    before, after = arrays(kept.memory), arrays(again.memory)
    assert before.keys() == after.keys()
    for name, values in before.items():
        np.testing.assert_array_equal(values, after[name], err_msg=name)
        assert values.dtype == after[name].dtype, name
    other = "Foresee/trigger=12"
    with pytest.raises(ArrayFileError, match=f"what {strategy} remembers, expected {other}"):
        read_kept(path, other)


def test_a_memory_that_lacks_something_is_refused() -> None:
    of = turned()
    named = arrays(of.turns.memory)
    kind = type(of.turns.memory)
    del named["mood.evidence"]
    with pytest.raises(ValueError, match="evidence: found nothing"):
        remembered(kind, named)
    with pytest.raises(ValueError, match="more: found in the file"):
        remembered(kind, {**arrays(of.turns.memory), "more": np.zeros(1)})


@pytest.mark.parametrize("strategy", ["Foresee", "Foresee/calm=on", "BusiestShare"])
def test_names_that_come_up_leave_what_is_remembered_in_its_place(strategy: str) -> None:
    of = turned(strategy)
    before = of.turns.sighting.names
    of.rate |= {"z": 2.0}
    of.owner |= {"z": "b0"}
    of.join("b0")
    for _ in range(20):
        of.look()
    names = of.turns.sighting.names

    assert names.brokers[:3] == before.brokers
    assert names.brokers[3] == "b0"
    assert names.bundles[: len(before.bundles)] == before.bundles
    answer = of.turns.turn(of.now + timedelta(seconds=60))[-1]
    assert isinstance(answer, Steered)
    assert answer.levels.keys() == set(names.brokers)
    assert answer.levels["b3"] == pytest.approx(of.usage("b3"), abs=0.5)


# ---------------------------------------------------------------------- what is said


def test_predictions_are_said_and_counted() -> None:
    of = turned()
    of.move("a", "b1")
    actions = [each for _ in range(30) for each in of.look()]
    held = [each for each in actions if isinstance(each, Foretold)]

    assert {each.checked.broker for each in held} == {"b1", "b2"}
    assert all(each.checked.outcome.is_inside for each in held)
    assert line_of(held[0])["said"] == "foretold"
    assert "predicted" in words(held[0], SETTINGS)
    tally = Tally()
    tally.add(actions)
    assert (tally.held, tally.inside) == (2, 2)
    texts = summary(replace(seen("uniform"), tally=tally))
    inside = "predictions held against what came: 2, inside of what held four in five: 2"
    assert any(each.endswith(inside) for each in texts)
    last = actions[-1]
    assert isinstance(last, Steered)
    page = Shown().look(replace(seen("uniform"), tally=tally), of.now)
    assert page["beside"]["reasons"] == [f"turn {last.number}: {last.reason}"]
    # Those of before, too.
    assert line_of(last)["held"] == [4, 1.0]


def test_drift_is_a_metric() -> None:
    of = turned()
    of.turns.record = (Outcome(of.now.timestamp(), 3.0),) * 8
    turn = [each for _ in range(2) for each in of.look()][-1]
    assert isinstance(turn, Steered)
    assert "predictions have drifted" in turn.trust.drift
    tally = Tally()
    tally.add([turn])
    metrics = Metrics(is_offered=True)
    metrics.take(replace(seen("uniform"), tally=tally), 0.0)
    told = {sample.name: sample.value for each in metrics.collect() for sample in each.samples}
    assert told["trimtab_steering_drifts"] == 1.0
    assert told["trimtab_steering_error_deviations"] == pytest.approx(3.0)
    assert told["trimtab_steering_coverage_ratio"] == 0.0
