"""What is carried out of what a watch decides: plans, health and limits."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.watched_nights import told, watched
from trimtab.cli import main
from trimtab.live.control.account import OPEN, VERIFIED, Account, MoveAccount
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import plan_text, read_plan
from trimtab.live.gather.access import GatherError
from trimtab.live.watch.health import Fares
from trimtab.live.watch.nouns import Decided
from trimtab.live.watch.plans import (
    PlannedRound,
    effect_share,
    limits_in,
    limits_of,
    planned,
    unloaded_by,
)
from trimtab.live.watch.targets import moves_of

NIGHT = told("uniform")


def decided(number: int) -> Decided:
    (found,) = [
        each for each in watched(NIGHT, 1.0) if isinstance(each, Decided) and each.number == number
    ]
    return found


@pytest.fixture(scope="module")
def round_() -> Decided:
    return decided(1)


def plan_of(round_: Decided, count: int) -> PlannedRound:
    return planned(round_, count, "h1", NIGHT.settings, limits_of(NIGHT.settings, {}))


@pytest.mark.parametrize("count", [1, 3, 50])
def test_a_plan_is_the_first_moves_of_a_round(round_: Decided, count: int) -> None:
    made = plan_of(round_, count)
    wanted = moves_of(round_.shadow)[:count]

    assert [(m.bundle, m.source, m.destination) for m in made.plan.moves] == wanted
    assert read_plan(plan_text(made.plan)) == made.plan
    assert made.plan.made_s == round_.time.timestamp()
    assert all(m.traffic_bytes_s > 0 and "scores stand at" in m.reason for m in made.plan.moves)


def test_what_is_expected_goes_from_what_was_to_all_of_its_share(round_: Decided) -> None:
    made = plan_of(round_, 3)
    assert round_.shadow is not None
    usage = {row["broker"]: 100 * row["usage"] for row in round_.shadow["brokers"].to_pylist()}
    gone = 0.0
    for move, relief in zip(made.plan.moves, made.reliefs, strict=True):
        before, after = move.before.source, move.after.source
        assert before is not None
        assert after is not None
        assert before[0] <= usage[move.source] - gone <= before[1]
        gone += relief.points
        assert 0 < relief.points <= usage[move.source]
        assert after[0] <= max(0.0, usage[move.source] - gone)
        assert usage[move.source] <= after[1] < usage[move.source] + 16


def test_limits_are_the_clusters_unless_given() -> None:
    own = limits_of(NIGHT.settings, {})
    assert own.bar_percent == Limits().bar_percent
    assert (own.grace_s, own.round_s) == (NIGHT.settings.ran.manager.grace_period_s, 60.0)
    assert limits_of(NIGHT.settings, {"grace_s": 5.0, "bar_percent": 70.0}) == replace(
        own, grace_s=5.0, bar_percent=70.0
    )
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
        (["--act"], "--act: found without --yes, expected both"),
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
