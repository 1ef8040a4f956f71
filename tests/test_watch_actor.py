"""What is carried out of what a watch decides: plans, health and limits."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_pulsar import FakePulsar, fake_pulsar
from tests.watched_nights import recorded_night, watched
from trimtab.cli import main
from trimtab.lab.costs.predict import level_now
from trimtab.live.apply import Where
from trimtab.live.control.account import OPEN, VERIFIED, Account, MoveAccount
from trimtab.live.control.expected import Costs
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Expected, plan_text, read_plan
from trimtab.live.control.throttle import Bars
from trimtab.live.gather import GatherError, read_access
from trimtab.live.watch.actor import ActingRequest, Actor, acting
from trimtab.live.watch.costs import learning, with_rows
from trimtab.live.watch.health import Fares
from trimtab.live.watch.nouns import Acted, Decided
from trimtab.live.watch.plans import (
    Basis,
    PlannedRound,
    effect_share,
    limits_in,
    limits_of,
    planned,
    unloaded_by,
)
from trimtab.live.watch.proposals import of_round
from trimtab.live.watch.targets import moves_of


def decided(number: int) -> Decided:
    (found,) = [
        each
        for each in watched(recorded_night("uniform"), 1.0)
        if isinstance(each, Decided) and each.number == number
    ]
    return found


@pytest.fixture(scope="module")
def round_() -> Decided:
    return decided(1)


@cache
def costs_at(time: datetime) -> Costs:
    """What a watch knows of costs by then."""
    now = learning(None)
    for heard_at, rows in recorded_night("uniform").rows:
        if heard_at <= time:
            now = with_rows(now, rows, heard_at.timestamp(), recorded_night("uniform").settings)
    return now.costs


def plan_of(round_: Decided, count: int) -> PlannedRound:
    limits = limits_of(recorded_night("uniform").settings, {})
    basis = Basis("Shedder", limits, costs_at(round_.time))
    return planned(of_round(round_), count, "h1", basis)


@pytest.mark.parametrize("count", [1, 3, 50])
def test_a_plan_is_the_first_moves_of_a_round(round_: Decided, count: int) -> None:
    made = plan_of(round_, count)
    wanted = moves_of(round_.shadow)[:count]

    assert [(m.bundle, m.source, m.destination) for m in made.plan.moves] == wanted
    assert read_plan(plan_text(made.plan)) == made.plan
    assert made.plan.made_s == round_.time.timestamp()
    assert all(m.traffic_bytes_s > 0 and "score of the source" in m.reason for m in made.plan.moves)


def test_what_is_expected_of_each_move_has_an_interval_of_its_own() -> None:
    # By the fifth round all sources have told what they carry.
    round_ = decided(5)
    made = plan_of(round_, 3)
    known = costs_at(round_.time).known
    level = dict(zip(known.broker_names, level_now(known), strict=True))
    widths = set()
    gone = 0.0
    for move, relief in zip(made.plan.moves, made.reliefs, strict=True):
        before, after = move.before.source, move.after.source
        assert before is not None
        assert after is not None
        assert before[0] <= level[move.source] - gone <= before[1]
        assert relief.points > 0
        gone += relief.points
        # Whatever is read of a window that began before the move is as expected, too.
        assert after[0] <= max(0.0, level[move.source] - gone)
        assert after[1] >= before[1]
        widths.add(round(after[1] - after[0], 3))
    assert len(widths) > 1


def test_of_a_cluster_that_told_nothing_nothing_is_expected(round_: Decided) -> None:
    basis = Basis(
        "Shedder", limits_of(recorded_night("uniform").settings, {}), learning(None).costs
    )
    made = planned(of_round(round_), 1, "h1", basis)
    (move,), (relief,) = made.plan.moves, made.reliefs
    assert move.before == move.after == Expected()
    assert math.isnan(relief.points)
    # A relief that nobody could foretell is no reason to slow down.
    assert math.isnan(effect_share(made, account(made, [relief.usage], VERIFIED)))


def test_limits_are_the_clusters_unless_given() -> None:
    own = limits_of(recorded_night("uniform").settings, {})
    assert own.bar_percent == Limits().bar_percent
    assert (own.grace_s, own.round_s) == (
        recorded_night("uniform").settings.ran.manager.grace_period_s,
        60.0,
    )
    assert limits_of(
        recorded_night("uniform").settings, {"grace_s": 5.0, "bar_percent": 70.0}
    ) == replace(own, grace_s=5.0, bar_percent=70.0)
    assert limits_in(["grace_s=5", "bar_percent=70"]) == {"grace_s": 5.0, "bar_percent": 70.0}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("grace", "found 'grace', expected NAME=VALUE"),
        ("graces_s=1", "found 'graces_s', expected 'grace_s'"),
        ("grace_s=soon", "grace_s: found 'soon', expected a number"),
        ("grace_s=0", "grace_s: found 0, expected more than 0"),
        ("grace_s=nan", "grace_s: found nan, expected more than 0"),
    ],
)
def test_a_limit_that_cannot_be_is_said(given: str, said: str) -> None:
    with pytest.raises(GatherError) as refused:
        limits_in([given])
    assert said in str(refused.value)


def account(made: PlannedRound, after_percent: list[float | None], state: str) -> Account:
    moves = tuple(
        MoveAccount(
            each.bundle, each.source, each.destination, state,
            unloads=1, asked_s=1000.0 + i, source_percent=after_percent[i],
        )
        for i, each in enumerate(made.plan.moves)
    )  # fmt: skip
    return Account(made.plan.digest, moves, 1, "")


def test_the_share_of_the_expected_relief_that_came(round_: Decided) -> None:
    made = plan_of(round_, 1)
    (relief,) = made.reliefs
    made = replace(made, reliefs=(replace(relief, points=8.0),))

    def share(after_percent: float | None, state: str = VERIFIED) -> float:
        return effect_share(made, account(made, [after_percent], state))

    assert share(relief.usage - 8.0) == pytest.approx(1.0)
    assert share(relief.usage - 2.0) == pytest.approx(0.25)
    assert share(relief.usage) == 0.0
    assert math.isnan(share(None))
    assert math.isnan(share(math.nan))
    assert math.isnan(share(relief.usage, OPEN))


def test_a_relief_that_drowns_in_the_swings_is_none(round_: Decided) -> None:
    made = plan_of(round_, 1)
    (relief,) = made.reliefs
    made = replace(made, reliefs=(replace(relief, points=1.0),))

    assert math.isnan(effect_share(made, account(made, [relief.usage - 1.0], VERIFIED)))


def test_what_was_unloaded_is_remembered(round_: Decided) -> None:
    made = plan_of(round_, 2)
    found = unloaded_by(account(made, [None, None], VERIFIED))

    assert [bundle for _, bundle in found] == [each.bundle for each in made.plan.moves]
    assert [time.timestamp() for time, _ in found] == [1000.0, 1001.0]


# -------------------------------------------------------------------------- health


def metrics(latency_sum_ms: float, messages: float, failures: float) -> str:
    return (
        "# TYPE pulsar_broker_publish_latency summary\n"
        'pulsar_broker_publish_latency{cluster="h1",quantile="0.99"} 70.1\n'
        f'pulsar_broker_publish_latency_count{{cluster="h1"}} {messages}\n'
        f'pulsar_broker_publish_latency_sum{{cluster="h1"}} {latency_sum_ms}\n'
        f'pulsar_broker_lookup_failures_total{{cluster="h1"}} {failures}\n'
        f'pulsar_connection_create_fail_count{{broker="b1", metric="broker_connection"}} 1\n'
    )


def test_latency_is_that_of_the_messages_since() -> None:
    fares = Fares()
    first = fares.since({"b1": metrics(1000, 100, 3), "b2": metrics(0, 0, 0)})
    assert all(map(math.isnan, first))

    latency, failures = fares.since({"b1": metrics(1600, 130, 5), "b2": metrics(100, 20, 0)})

    assert latency == (600 + 100) / (30 + 20)
    assert failures == 2.0


def test_who_starts_anew_or_is_silent_is_left_out() -> None:
    fares = Fares()
    fares.since({"b1": metrics(1000, 100, 3), "b2": metrics(1000, 100, 0)})
    latency, failures = fares.since({"b1": metrics(10, 1, 0), "b2": None, "b3": metrics(9, 9, 9)})

    assert math.isnan(latency)
    assert math.isnan(failures)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 1000)), min_size=2, max_size=10))
def test_latency_lies_between_what_there_was(told: list[tuple[float, int]]) -> None:
    fares, total, count = Fares(), 0.0, 0
    fares.since({"b1": metrics(0, 0, 0)})
    for latency, messages in told:
        total, count = total + latency * messages, count + messages
        found, _ = fares.since({"b1": metrics(total, count, 0)})
        assert found == pytest.approx(latency, rel=1e-6, abs=1e-3)


# ------------------------------------------------------------------------- command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--act"], "--act: found neither --yes nor --ask, expected one of them"),
        (["--act", "--yes", "--ask", "--page", "0"], "--act: found both --yes and --ask"),
        (["--act", "--ask"], "--ask: found without --page, expected with it"),
        (["--page", "x"], "--page: found 'x', expected PORT or HOST:PORT"),
        (["--yes"], "found without --act, expected with it"),
        (["--limit", "grace_s=1"], "found without --act, expected with it"),
        (["--act", "--yes", "--shadow"], "--act: found --shadow, too, expected one of them"),
        (["--act", "--yes", "--once"], "--act: found with --once, expected without"),
        (["--act", "--yes", "--throttle", "3", "1"], "--throttle: found 3 1, expected two"),
        (["--act", "--yes", "--limit", "x=1"], "--limit: found 'x', expected"),
        (["--set", "x"], "--set: found 'x', expected KEY=VALUE"),
        (["--set", "loadBalancerSheddingEnable=1"], "expected loadBalancerSheddingEnabled"),
        (["--metrics", "x"], "--metrics: found 'x', expected PORT or HOST:PORT"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    command = ["watch", "--admin", "http://127.0.0.1:1", "-o", str(tmp_path / "now"), *words]
    result = CliRunner().invoke(main, command, catch_exceptions=False)

    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


# -------------------------------------------------------------------------- rounds that come late

QUICK = {"settle_s": 0.2, "broker_age_min_s": 1.0, "verify_s": 2.0, "look_up_s": 0.2}


def round_of(cluster: FakePulsar, number: int, decided_at: datetime) -> Decided:
    """A round that would move one more bundle off the first broker."""
    source, target = cluster.brokers[0].id, cluster.brokers[1].id
    bundle = sorted(cluster.owners)[number]
    unload = {"bundle": bundle, "source": source, "targets": [target], "throughput": 1e6}
    brokers = [{"broker": each.id, "usage": 0.5, "score": 0.5} for each in cluster.brokers]
    shadow = {"brokers": pa.array(brokers), "unloads": [unload]}
    return Decided(number, decided_at, source, "", None, shadow)


def taken(actor: Actor, *rounds: Decided) -> list[Acted]:
    night = recorded_night("uniform")
    return actor.take([of_round(each) for each in rounds], night.settings, learning(None).costs)


def test_a_round_of_before_the_last_plan_was_over_is_not_carried_out(tmp_path: Path) -> None:
    """It does not know what that plan did: it would ask for the same again, or for too much."""
    with fake_pulsar(3, 12, 12) as cluster:
        where = Where(
            f"http://{cluster.brokers[0].id}", read_access(None), tmp_path, is_lock_here=True,
            pause_s=0.05,
        )  # fmt: skip
        request = ActingRequest(where, QUICK, Bars(1.0, 2.0))
        before = datetime.now(UTC)
        with acting(request, tmp_path / "watch" / "plans", threading.Event()) as actor:
            (begun,) = taken(actor, round_of(cluster, 1, before))
            assert begun.moves == 1
            last = time.monotonic() + 60.0
            while not any(each.is_over for each in taken(actor)):
                assert time.monotonic() < last
                time.sleep(0.02)
            moved = dict(cluster.unloads)
            (late,) = taken(actor, round_of(cluster, 2, before))
            (next_,) = taken(actor, round_of(cluster, 3, datetime.now(UTC)))

    assert len(moved) == 1
    assert (late.moves, late.why) == (
        0,
        "round 2 is of before the last plan was over, so what that did is not in it: "
        "the next round has it",
    )
    assert (next_.moves, next_.why) == (1, "")
    assert sorted(cluster.owners)[2] not in cluster.unloads
