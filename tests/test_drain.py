"""Which broker takes what of one that is emptied, and how it comes back."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.control.drain import BrokerState, Frame, bringing_back, emptying
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Interval, Plan

FRAME = Frame("demo", 1000.0, Limits())
usages = st.one_of(st.just(math.nan), st.floats(0, 100))
bundles = st.dictionaries(
    st.integers(0, 9999).map("t/n/0x{:04x}_0x1".format), st.floats(0, 1e9), max_size=30
)


def states(usage: float, takers: dict[str, float], owned: dict[str, float]) -> dict:
    brokers = {name: BrokerState(each, {}) for name, each in takers.items()}
    return brokers | {"old": BrokerState(usage, owned)}


def drained(brokers: dict, *takers: str, frame: Frame = FRAME) -> Plan:
    return emptying("old", brokers, takers, frame)


@given(usages, st.dictionaries(st.sampled_from("abcde"), usages, min_size=1), bundles)
def test_every_bundle_goes_once_to_somebody_who_takes(
    usage: float, takers: dict[str, float], owned: dict[str, float]
) -> None:
    plan = drained(states(usage, takers, owned), *takers)

    assert {move.bundle for move in plan.moves} == set(owned)
    assert len(plan.moves) == len(owned)
    assert {move.source for move in plan.moves} <= {"old"}
    assert {move.destination for move in plan.moves} <= set(takers)
    traffic = [move.traffic_bytes_s for move in plan.moves]
    assert traffic == sorted(traffic, reverse=True)


@given(st.integers(1, 5), st.integers(0, 40), st.floats(0, 100), st.sampled_from([0.0, 5.0]))
def test_equal_bundles_are_spread_evenly(
    n_takers: int, n_bundles: int, usage: float, bytes_s: float
) -> None:
    takers = dict.fromkeys("abcde"[:n_takers], 40.0)
    owned = {f"t/n/0x{i:04x}_0x1": bytes_s for i in range(n_bundles)}

    plan = drained(states(usage, takers, owned), *takers)

    counts = Counter(dict.fromkeys(takers, 0))
    counts.update(move.destination for move in plan.moves)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_busiest_bundle_goes_where_usage_is_lowest() -> None:
    owned = {"t/n/0x0_0x1": 30.0, "t/n/0x1_0x2": 60.0, "t/n/0x2_0x3": 10.0}
    # 60 % of traffic is 30 points: a stands at 20 + 30, so the others go to b at 40.
    plan = drained(states(50.0, {"a": 20.0, "b": 40.0}, owned), "a", "b")

    found = [(move.bundle, move.destination, move.reason) for move in plan.moves]
    assert found == [
        ("t/n/0x1_0x2", "a", "old is to be emptied; a will stand at about 50 %"),
        ("t/n/0x0_0x1", "b", "old is to be emptied; b will stand at about 55 %"),
        ("t/n/0x2_0x3", "a", "old is to be emptied; a will stand at about 55 %"),
    ]


def test_learned_costs_and_speeds_decide_where_they_are_known() -> None:
    owned = {"t/n/0x0_0x1": 60.0, "t/n/0x1_0x2": 30.0}
    # By their share of the traffic the first would take 20 points; it takes 6, and 12 on a.
    brokers = {
        "old": BrokerState(30.0, owned, {"t/n/0x0_0x1": 6.0, "t/n/0x1_0x2": 3.0}, speed=1.0),
        "a": BrokerState(20.0, {}, speed=2.0),
        "b": BrokerState(25.0, {}, speed=1.0),
    }

    plan = emptying("old", brokers, ("a", "b"), FRAME)

    assert [(move.destination, move.reason.partition("; ")[2]) for move in plan.moves] == [
        ("a", "a will stand at about 32 %"),
        ("b", "b will stand at about 28 %"),
    ]


def test_above_the_bar_the_run_is_to_stop() -> None:
    def expected(bar_percent: float) -> Interval | None:
        frame = Frame("demo", 0.0, Limits(bar_percent=bar_percent))
        (move,) = drained(states(1.0, {"a": 1.0}, {"t/n/0x0_0x1": 1.0}), "a", frame=frame).moves
        return move.after.destination

    assert expected(85.0) == (0.0, 85.0)
    assert expected(100.0) is None


def test_what_was_taken_comes_back_from_where_it_is_now() -> None:
    owned = {f"t/n/0x{i}_0x{i + 1}": float(i) for i in range(5)}
    gone = drained(states(50.0, {"a": 1.0}, owned), "a")
    owners = {
        "t/n/0x0_0x1": "a",
        "t/n/0x1_0x2": "old",
        "t/n/0x2_0x3": None,
        "t/n/0x4_0x5": "b",
    }

    back = bringing_back("old", gone, owners, FRAME)

    moved = [(move.bundle, move.source, move.destination) for move in back.moves]
    assert moved == [("t/n/0x0_0x1", "a", "old"), ("t/n/0x4_0x5", "b", "old")]
