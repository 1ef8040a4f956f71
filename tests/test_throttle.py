"""How far continuous control may go: whatever happens, within its bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.control.throttle import Bars, Health, Throttle, adapted, bad_signs, granted

GOOD = Health(publish_latency_ms=5.0, effect_share=0.9, reconnect_failures=0.0)
BAD = (
    Health(publish_latency_ms=101.0),
    Health(effect_share=0.2, publish_latency_ms=1.0, reconnect_failures=0.0),
    Health(reconnect_failures=6.0),
    Health(is_cut_short=True),
)
BARS = Bars()

numbers = st.one_of(st.floats(0, 1e6), st.just(math.nan))
healths = st.builds(Health, numbers, numbers, numbers, st.booleans())
bars = st.builds(
    lambda low, more, step: Bars(low, low + more, step),
    st.floats(0.01, 5),
    st.floats(0, 20),
    st.floats(0.01, 5),
)


@pytest.mark.parametrize("health", BAD)
def test_any_bad_sign_halves_it(health: Health) -> None:
    assert len(bad_signs(health, BARS)) == 1
    assert adapted(Throttle(2.0), health, BARS).moves == 1.0


def test_several_bad_signs_halve_it_once() -> None:
    worst = Health(1e3, 0.0, 1e3, is_cut_short=True)

    assert len(bad_signs(worst, BARS)) == 4
    assert adapted(Throttle(2.0), worst, BARS).moves == 1.0


def test_a_good_round_opens_it_by_a_step() -> None:
    assert adapted(Throttle(1.0), GOOD, BARS).moves == 1.5


@pytest.mark.parametrize("health", [Health(), Health(publish_latency_ms=1.0)])
def test_what_is_not_known_opens_nothing(health: Health) -> None:
    assert adapted(Throttle(1.0), health, BARS) == Throttle(1.0)


@given(bars, st.lists(st.tuples(healths, st.integers(0, 30)), max_size=40))
def test_it_stays_within_its_bounds(bars: Bars, rounds: list[tuple[Health, int]]) -> None:
    throttle = Throttle(bars.moves_min)
    for health, wanted in rounds:
        before = throttle
        throttle = adapted(throttle, health, bars)
        assert bars.moves_min <= throttle.moves <= bars.moves_max
        if bad_signs(health, bars):
            assert throttle.moves == max(bars.moves_min, before.moves / 2)
        else:
            assert 0 <= throttle.moves - before.moves <= bars.step * (1 + 1e-9)
        count, throttle = granted(throttle, wanted)
        assert 0 <= count <= min(wanted, max(1.0, throttle.moves))
        assert 0 <= throttle.credit <= max(1.0, throttle.moves)


@given(bars, st.integers(1, 200))
def test_no_more_is_made_than_the_throttle_lets_through(bars: Bars, n_rounds: int) -> None:
    throttle, made = Throttle(bars.moves_min), 0
    for _ in range(n_rounds):
        count, throttle = granted(throttle, 1_000)
        made += count

    assert made <= n_rounds * bars.moves_min + 1e-6


def test_below_one_a_round_there_is_one_now_and_then() -> None:
    throttle, made = Throttle(0.25), []
    for _ in range(8):
        count, throttle = granted(throttle, 5)
        made.append(count)

    assert made == [0, 0, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("given", [(0.0, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, 2.0, 0.0)])
def test_bars_that_cannot_be_are_refused(given: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"expected 0 < moves_min <= moves_max"):
        Bars(*given)
