"""The few moves worth making."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.control.drain import BrokerState, Frame
from trimtab.live.control.level import Levelled, Wish, levelling
from trimtab.live.control.limits import Limits

FRAME = Frame("demo", 1000.0, Limits())


def levelled(brokers: dict[str, BrokerState], wish: Wish, *takers: str) -> Levelled:
    return levelling(brokers, takers or tuple(brokers), wish, FRAME)


def state(usage: float, *traffics: float) -> BrokerState:
    bundles = {f"t/n{usage:g}/0x{i:x}_0x{i + 1:x}": each for i, each in enumerate(traffics)}
    return BrokerState(usage, bundles)


states = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        lambda usage, traffics: state(usage, *traffics),
        st.floats(0, 100),
        st.lists(st.floats(0, 1e9), max_size=12),
    ),
    min_size=1,
)


@given(states, st.integers(0, 20), st.floats(0.1, 5))
def test_no_move_makes_it_worse_and_no_bundle_moves_twice(
    brokers: dict[str, BrokerState], moves_max: int, gain_min: float
) -> None:
    found = levelled(brokers, Wish(moves_max, gain_min))

    moves = found.plan.moves
    assert len(moves) <= moves_max
    assert len({(move.source, move.bundle) for move in moves}) == len(moves)
    assert len(found.highest) == len(found.lowest) == len(moves) + 1
    for earlier, later in zip(found.highest, found.highest[1:], strict=False):
        assert later <= earlier + 1e-9
    for move in moves:
        assert move.bundle in brokers[move.source].bundles
        assert move.source != move.destination


def test_the_bundle_that_levels_best_goes_from_the_highest_to_the_lowest() -> None:
    # Points of a: 40, 16, 16 and 8; b would stand at 60, 36, 36 or 28.
    brokers = {"a": state(80, 50, 20, 20, 10), "b": state(20, 1), "c": state(50, 1)}

    found = levelled(brokers, Wish(1))

    (move,) = found.plan.moves
    assert (move.bundle, move.source, move.destination) == ("t/n80/0x0_0x1", "a", "b")
    assert move.reason == (
        "a stands highest at 80 %, b lowest at 20 %; then they stand at about 40 and 60 %"
    )
    assert move.before.source == (70.0, 90.0)
    assert move.before.destination == (10.0, 30.0)
    # Ten points by chance, and half of what the bundle costs.
    assert move.after.source == (10.0, 70.0)
    assert move.after.destination == (30.0, 90.0)
    assert found.highest == (80.0, 60.0)
    assert found.lowest == (20.0, 40.0)


def test_a_move_that_gains_too_little_is_not_made() -> None:
    brokers = {"a": state(52, 1, 1), "b": state(50, 1)}

    assert levelled(brokers, Wish(5)).plan.moves == ()
    # One bundle alone cannot be divided.
    assert levelled({"a": state(90, 7), "b": state(10, 1)}, Wish(5)).plan.moves == ()


@pytest.mark.parametrize("takers", [("a", "c"), ("c",)])
def test_who_may_not_take_and_who_is_not_known_get_nothing(takers: tuple[str, ...]) -> None:
    brokers = {
        "a": state(80, 1, 1, 1, 1),
        "b": state(10, 1),
        "c": state(30, 1),
        "d": state(math.nan, 1),
    }

    found = levelled(brokers, Wish(1), *takers)

    assert [move.destination for move in found.plan.moves] == ["c"]
