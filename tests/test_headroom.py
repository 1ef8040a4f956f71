"""Whether there is room for a whole plan is judged before its first move."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from fake_pulsar import FakePulsar, fake_pulsar
from trimtab.cli import main
from trimtab.live.control.drain import BrokerState, Frame, emptying
from trimtab.live.control.headroom import Outlook, outlooks, refusal
from trimtab.live.control.limits import Limits

FRAME = Frame("demo", 1000.0, Limits())
OWNED = {"t/n/0x0_0x1": 3e6, "t/n/0x1_0x2": 1e6}


def states(old: float, **takers: float) -> dict[str, BrokerState]:
    return {"old": BrokerState(old, OWNED)} | {
        name: BrokerState(usage, {}) for name, usage in takers.items()
    }


def judged(brokers: dict[str, BrokerState]) -> tuple[Outlook, ...]:
    takers = [name for name in brokers if name != "old"]
    return outlooks(emptying("old", brokers, takers, FRAME).moves, brokers)


def test_a_taker_stands_between_what_is_surely_added_and_all() -> None:
    # Of 60 % up to 20 may be what an idle broker uses: three quarters of 40 to 60 points go to
    # a, the rest to b.
    found = judged(states(60.0, a=20.0, b=50.0))

    assert found == (Outlook("a", 20.0, (50.0, 65.0)), Outlook("b", 50.0, (60.0, 65.0)))
    assert refusal(found, 65.0) == ""
    assert refusal(found, 60.0) == (
        "more than --bar 60 % in the end: a is at 20 % and would come to 50 to 65 %; "
        "b is at 50 % and would come to 60 to 65 %"
    )
    assert refusal(found, 1e9) == ""


def test_what_is_not_known_is_not_room() -> None:
    found = judged(states(60.0, a=math.nan))

    assert refusal(found, 85.0) == (
        "the usage of a in the end cannot be predicted: a usage now is not known; "
        "see whether its load report tells one, and plan again"
    )
    assert refusal(found, 1e9) == ""


@given(st.floats(0, 100), st.lists(st.floats(0, 100), min_size=1, max_size=4))
def test_both_ends_hold_whatever_is_idle(old: float, usages: list[float]) -> None:
    found = judged(states(old, **dict(zip("abcd", usages, strict=False))))

    for each in found:
        assert each.now <= each.then[0] <= each.then[1]
    added = sum(each.then[1] - each.now for each in found)
    assert added == pytest.approx(old)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePulsar]:
    monkeypatch.chdir(tmp_path)
    with fake_pulsar(busy=6) as running:
        for broker, usage in zip(running.brokers, (80.0, 70.0, 60.0), strict=True):
            broker.usage_percent = usage
        yield running


def drain(cluster: FakePulsar, *words: str) -> Result:
    broker, other = (each.id for each in cluster.brokers[:2])
    where = ("--admin", f"http://{other}", "--lock-here", "--state", "state")
    return CliRunner().invoke(main, ["drain", broker, *where, "-o", "drain.json", *words])


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_a_broker_is_not_half_drained_for_want_of_room(
    cluster: FakePulsar, words: tuple[str, ...]
) -> None:
    refused = drain(cluster, *words)

    assert refused.exit_code == 1
    second, third = (each.id for each in cluster.brokers[1:])
    # 80 points come to 70 and 60: nobody stays below 85, and no bar below 100 would do.
    assert f"{second} is at 70 % and would come to" in refused.stderr
    assert f"{third} is at 60 % and would come to" in refused.stderr
    assert "4 more brokers as idle as the least busy one" in refused.stderr
    assert cluster.unloads.total() == 0
    assert not Path("drain.json").exists()
    assert not Path("state").exists()


def test_what_would_make_it_possible_does(cluster: FakePulsar) -> None:
    cluster.brokers[1].usage_percent = cluster.brokers[2].usage_percent = 50.0
    assert "--bar 90" in drain(cluster).stderr

    assert drain(cluster, "--bar", "90").exit_code in {0, 1}
    assert Path("drain.json").exists()


def test_without_a_bar_it_is_for_who_asks(cluster: FakePulsar) -> None:
    assert "would stand" not in drain(cluster, "--bar", "100").stderr
    assert Path("drain.json").exists()


def test_learned_costs_leave_no_interval_and_follow_the_machine() -> None:
    old = BrokerState(60.0, OWNED, {"t/n/0x0_0x1": 12.0, "t/n/0x1_0x2": 6.0})
    brokers = {"old": old, "a": BrokerState(20.0, {}, speed=2.0)}

    assert judged(brokers) == (Outlook("a", 20.0, (56.0, 56.0)),)
