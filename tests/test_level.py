"""The few moves worth making: where the curve ends, what is too unsure, and what a plan says."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.lab.planning import Planned, Snapshot, Wish, planned, unrestrained
from trimtab.lab.planning.snapshot import columns
from trimtab.live.control.drain import Frame
from trimtab.live.control.level import level_plan
from trimtab.live.control.limits import Limits
from trimtab.live.control.plan import Plan

FRAME = Frame("demo", 1000.0, Limits())
WEIGHTS = np.array((1.0, 0.0, 1.0, 1.0, 1.0))
_Brokers = dict[str, tuple[float, list[float]]]


def snapshot(brokers: _Brokers) -> Snapshot:
    """Lay out broker → CPU and what each of its bundles carries."""
    usage = np.zeros((len(brokers), 5))
    usage[:, 0] = [percent for percent, _ in brokers.values()]
    usage[np.isnan(usage[:, 0])] = np.nan
    lists = [traffics for _, traffics in brokers.values()]
    names = [
        f"t/{name}/0x{i:x}_0x{i + 1:x}" for name in brokers for i in range(len(brokers[name][1]))
    ]
    owner = np.repeat(np.arange(len(brokers)), [len(each) for each in lists])
    traffic = np.array([each for of in lists for each in of], np.float64)
    return Snapshot(tuple(brokers), tuple(names), usage, WEIGHTS, owner, traffic)


def levelled(brokers: _Brokers, wish: Wish, *takers: str) -> tuple[Planned, Plan]:
    now = snapshot(brokers)
    free = unrestrained(len(now.brokers), len(now.bundles))
    takes = np.array([not takers or name in takers for name in now.brokers])
    found = planned(columns(now, None), now.owner, dataclasses.replace(free, takes=takes), wish)
    return found, level_plan(found, now, FRAME)


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.tuples(st.floats(0, 100), st.lists(st.floats(0, 1e9), max_size=6)),
        min_size=1,
    ),
    st.integers(1, 4),
    st.booleans(),
)
def test_no_move_makes_it_worse_and_no_bundle_moves_twice(
    brokers: _Brokers, moves_max: int, only_if_sure: bool
) -> None:
    found, plan = levelled(brokers, Wish(moves_max, 1.0, only_if_sure))

    assert len(plan.moves) <= moves_max
    assert len({move.bundle for move in plan.moves}) == len(plan.moves)
    assert found.course.highest.size == found.course.lowest.size == len(plan.moves) + 1
    assert (np.diff(found.frontier.peak) <= 0).all()
    assert (found.low <= found.frontier.peak).all()
    if plan.moves:
        assert found.course.highest[-1] <= found.course.highest[0] - len(plan.moves) + 1e-6
    for move in plan.moves:
        assert move.source != move.destination


def test_the_bundle_that_levels_best_goes_from_the_highest_to_the_lowest() -> None:
    # Points of a: 40, 16, 16 and 8; b would stand at 60, 36, 36 or 28.
    brokers = {"a": (80.0, [50.0, 20, 20, 10]), "b": (20.0, [1.0]), "c": (50.0, [1.0])}

    # Half as much again as it is predicted to take would make b the highest.
    assert levelled(brokers, Wish(1))[1].moves == ()
    found, plan = levelled(brokers, Wish(1, 1.0, only_if_sure=False))

    (move,) = plan.moves
    assert (move.bundle, move.source, move.destination) == ("t/a/0x0_0x1", "a", "b")
    assert move.reason == "a stands at 80 %, b at 20 %; then they stand at about 40 and 60 %"
    assert found.course.highest.tolist() == [80.0, 60.0]
    assert found.course.lowest.tolist() == [20.0, 40.0]
    # What is measured now is sure within a few points, what a share of traffic costs is not.
    assert move.before.source is not None and move.after.source is not None
    assert 65 < move.before.source[0] < 75
    assert 85 < move.before.source[1] < 95
    assert move.after.source[0] == 0.0
    assert move.after.source[1] > 80


def test_what_is_expected_of_usage_is_told_to_a_tenth() -> None:
    _, plan = levelled({"a": (80.123, [7e6, 5e6, 3e6]), "b": (20.456, [1e6])}, Wish(1))
    assert plan.moves
    expected = [each for move in plan.moves for each in (move.before, move.after)]
    intervals = [pair for each in expected for pair in (each.source, each.destination) if pair]
    ends = [end for pair in intervals for end in pair]
    assert len(ends) == 8
    assert [round(end, 1) for end in ends] == ends


def test_a_move_that_gains_too_little_is_not_made() -> None:
    brokers = {"a": (52.0, [1.0, 1]), "b": (50.0, [1.0])}

    assert levelled(brokers, Wish(5))[1].moves == ()
    # One bundle alone cannot be divided: it is said which.
    found, plan = levelled({"a": (90.0, [7.0]), "b": (10.0, [1.0])}, Wish(5))
    assert plan.moves == ()
    assert found.last is not None
    assert (found.last.broker, found.last.bundle, found.last.points) == (0, 0, 90.0)


def test_a_gain_within_what_is_not_known_is_planned_only_if_asked() -> None:
    brokers = {"a": (56.0, [1.0] * 20), "b": (50.0, [1.0] * 20)}

    found, plan = levelled(brokers, Wish(2))
    assert plan.moves == ()
    assert found.recommendation.is_unsure
    assert found.recommendation.next_gain == pytest.approx(2.8)
    assert len(levelled(brokers, Wish(2, 1.0, only_if_sure=False))[1].moves) == 1


@pytest.mark.parametrize("takers", [("a", "c"), ("c",)])
def test_who_may_not_take_and_who_is_not_known_get_nothing(takers: tuple[str, ...]) -> None:
    brokers = {
        "a": (80.0, [1.0] * 4),
        "b": (10.0, [1.0]),
        "c": (30.0, [1.0]),
        "d": (math.nan, [1.0]),
    }

    _, plan = levelled(brokers, Wish(1), *takers)

    assert [move.destination for move in plan.moves] == ["c"]


def test_a_broker_that_no_move_helps_does_not_keep_others_from_relief() -> None:
    brokers = {"a": (95.0, []), "b": (70.0, [1.0] * 10), "c": (10.0, [1.0] * 10)}

    found, plan = levelled(brokers, Wish(3))

    assert [found.question.is_counted.tolist(), len(found.aside)] == [[False, True, True], 1]
    assert found.aside[0].usage == 95.0
    assert {move.source for move in plan.moves} == {"b"}
    assert {move.destination for move in plan.moves} == {"c"}
