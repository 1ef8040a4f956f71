"""Statistics over seeds, with values that never came and values that could not be taken."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.lab.outcomes.intervals import (
    Interval,
    interval,
    mean,
    median,
    paired,
    percentile,
    share_bounds,
    summary,
)

INF, NAN = math.inf, math.nan

values = st.lists(st.floats(-1e6, 1e6) | st.just(INF) | st.just(NAN), min_size=0, max_size=12)
finite = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


# A median of what is there, percentiles between the values, NaN left out, infinity among them.
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([5.0], (5, 5, 5, 1)),
        ([1.0, 2.0, 3.0], (2, 1.2, 2.8, 3)),
        ([3.0, NAN, 1.0, 2.0], (2, 1.2, 2.8, 3)),
        ([1.0, 2.0, INF], (2, 1.2, INF, 3)),
        ([1.0, INF, INF], (INF, INF, INF, 3)),
        ([1.0, INF], (INF, INF, INF, 2)),
        ([INF, INF], (INF, INF, INF, 2)),
        ([NAN], (NAN, NAN, NAN, 0)),
        ([], (NAN, NAN, NAN, 0)),
    ],
)
def test_summary(given: list[float], expected: tuple[float, ...]) -> None:
    found = summary(given)

    assert (found.median, found.p10, found.p90, found.count) == pytest.approx(expected, nan_ok=True)


def test_an_interval_that_can_be_worked_out() -> None:
    # Of two values, a median of the drawn pair is 0, 10 or, half of the time, 5; a quarter
    # of the draws lies at either end, so 95 % reach from end to end, and the middle 40 % do not.
    wide = interval([0.0, 10.0])
    narrow = interval([0.0, 10.0], confidence=0.4)

    assert (wide.estimate, wide.low, wide.high, wide.count) == (5, 0, 10, 2)
    assert (narrow.low, narrow.high) == (5, 5)


def test_an_interval_of_a_mean_is_as_wide_as_theory_has_it() -> None:
    drawn = np.random.default_rng(5).normal(50, 10, 400)
    found = interval(drawn, mean)
    half = 1.96 * drawn.std() / 20

    assert found.estimate == pytest.approx(drawn.mean())
    assert found.low == pytest.approx(drawn.mean() - half, abs=0.1)
    assert found.high == pytest.approx(drawn.mean() + half, abs=0.1)


def test_intervals_hold_the_truth_about_as_often_as_they_claim() -> None:
    random = np.random.default_rng(1)
    held = 0
    for i in range(300):
        found = interval(random.normal(0, 1, 30), mean, confidence=0.9, seed=i)
        held += found.low <= 0 <= found.high

    assert 0.83 <= held / 300 <= 0.95


def test_where_some_runs_never_got_there_the_interval_is_open() -> None:
    found = interval([5.0, 6.0, 7.0, INF, INF])

    assert found.estimate == 7
    assert found.low == 5
    assert found.high == INF


# Fewer than two values say nothing of how sure one may be.
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], Interval(NAN, NAN, NAN, 0)),
        ([NAN, NAN], Interval(NAN, NAN, NAN, 0)),
        ([3.0, NAN], Interval(3.0, NAN, NAN, 1)),
        ([INF], Interval(INF, NAN, NAN, 1)),
        ([INF, INF], Interval(INF, INF, INF, 2)),
    ],
)
def test_intervals_of_little(given: list[float], expected: Interval) -> None:
    found = interval(given)

    assert (found.estimate, found.low, found.high, found.count) == pytest.approx(
        (expected.estimate, expected.low, expected.high, expected.count), nan_ok=True
    )


def test_a_seed_that_is_hard_for_both_does_not_count_against_the_second() -> None:
    hard = np.array([0.0, 40, 5, 90, 20, 60, 10, 33])
    found = paired(hard + 10, hard + 8)

    assert (found.median.estimate, found.median.low, found.median.high) == (-2, -2, -2)
    assert (found.smaller, found.equal, found.larger) == (8, 0, 0)


# (first, second) → smaller, equal, larger, estimate. Neither ever got there: nobody was sooner.
# Only the second never did: infinitely later. What could not be taken is no pair.
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 2.0], [1.0, 3.0], (0, 1, 1, 0.5)),
        ([INF, INF], [INF, 3.0], (1, 1, 0, -INF)),
        ([5.0, 5.0, 5.0], [INF, 4.0, 4.0], (2, 0, 1, -1)),
        ([5.0, NAN], [4.0, 4.0], (1, 0, 0, -1)),
        ([NAN], [1.0], (0, 0, 0, NAN)),
        ([], [], (0, 0, 0, NAN)),
    ],
)
def test_pairs(first, second, expected) -> None:
    found = paired(first, second)

    assert (found.smaller, found.equal, found.larger, found.median.estimate) == pytest.approx(
        expected, nan_ok=True
    )


def test_pairs_need_the_same_seeds() -> None:
    with pytest.raises(ValueError, match="2 values and 1: not the same seeds"):
        paired([1.0, 2.0], [1.0])


# ------------------------------------------------------------------ properties


@example([0.0, -0.0, 0.0], random.Random(1))
@given(values, st.randoms(use_true_random=False))
def test_percentiles_are_in_order_and_order_does_not_matter(given, random) -> None:
    found = summary(given)
    mixed = list(given)
    random.shuffle(mixed)
    known = [value for value in given if not math.isnan(value)]

    assert repr(summary(mixed)) == repr(found)
    assert found.count == len(known)
    if known:
        assert min(known) <= found.p10 <= found.median <= found.p90 <= max(known)


@given(finite)
def test_percentiles_are_numpys(given) -> None:
    found = summary(given)

    assert (found.p10, found.median, found.p90) == pytest.approx(
        tuple(np.percentile(given, [10, 50, 90])), abs=1e-6
    )


@given(finite, st.sampled_from([median, mean]), st.integers(0, 9))
def test_intervals_stay_within_the_values_and_come_again(given, statistic, seed) -> None:
    found = interval(given, statistic, seed=seed)

    assert repr(interval(given, statistic, seed=seed)) == repr(found)
    assert repr(interval(given[::-1], statistic, seed=seed)) == repr(found)
    if len(given) > 1:
        slack = 1e-9 * max(map(abs, given))
        assert min(given) - slack <= found.low <= found.high <= max(given) + slack


@given(st.floats(-1e6, 1e6), st.integers(2, 9))
def test_values_that_are_alike_leave_no_doubt(value, count) -> None:
    found = interval([value] * count)

    assert (found.low, found.high) == (value, value)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12))
def test_exchanging_the_two_changes_the_sign(pairs) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    once, back = paired(first, second), paired(second, first)

    assert (once.smaller, once.equal, once.larger) == (back.larger, back.equal, back.smaller)
    assert once.median.estimate == pytest.approx(-back.median.estimate, nan_ok=True)


def test_percentiles_between_infinities() -> None:
    ordered = np.array([[-INF, 1.0], [1.0, INF], [-INF, INF], [2.0, 4.0]])

    assert percentile(ordered, 0.5).tolist() == pytest.approx([-INF, INF, NAN, 3], nan_ok=True)


# 0.05 = (1 - high) ** n where none was; for the others, tables of Clopper-Pearson's bounds.
@pytest.mark.parametrize(
    ("count", "n", "tail", "expected"),
    [
        (0, 20, 0.05, (0.0, 1 - 0.05 ** (1 / 20))),
        (20, 20, 0.05, (0.05 ** (1 / 20), 1.0)),
        (1, 1, 0.05, (0.05, 1.0)),
        (5, 10, 0.025, (0.187086, 0.812914)),
        (1, 10, 0.025, (0.002529, 0.445016)),
        (19, 20, 0.05, (0.783894, 0.997439)),
    ],
)
def test_bounds_of_a_share(count: int, n: int, tail: float, expected: tuple[float, float]) -> None:
    assert share_bounds(count, n, tail) == pytest.approx(expected, abs=1e-6)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_bounds_of_a_share_hold_it_and_mirror_those_of_the_rest(trials: tuple[int, int]) -> None:
    count, n = trials
    low, high = share_bounds(count, n, 0.05)

    assert 0 <= low <= count / n <= high <= 1
    assert share_bounds(n - count, n, 0.05) == pytest.approx((1 - high, 1 - low))
