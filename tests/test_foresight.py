"""The parts of Foresee by themselves: what leaves a trace, and what is waited for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trimtab.lab.costs import Windows, nothing_known
from trimtab.lab.costs.knowledge import with_brokers, with_bundles
from trimtab.lab.steering.foresight.excursions import falling, young
from trimtab.lab.steering.foresight.filters import robust_rates, with_full
from trimtab.lab.steering.foresight.memory import Excursions, no_excursions
from trimtab.lab.steering.foresight.picture import lag
from trimtab.lab.steering.foresight.restless import restless
from trimtab.pulsar.model import Floats

FILTERED_S = 180.0


def rates(*windows: float) -> Floats:
    """Lay out windows of one bundle with one column, the oldest first."""
    return np.array(windows, np.float64).reshape(-1, 1, 1)


def robust(*windows: float) -> float:
    return float(robust_rates(rates(*windows), np.array([len(windows)]))[0, 0])


def excursions(
    since_s: float, *past: tuple[float, float, int, bool], by_traffic: bool = False
) -> Excursions:
    """Lay out two brokers, of which the first has been off since a time."""
    ended = np.array(past, np.float64).reshape(-1, 4)
    since, flags = np.array((since_s, np.nan)), np.array((by_traffic, False))
    return replace(no_excursions(2), since_s=since, by_traffic=flags, past=ended)


# ------------------------------------------------------------------ windows


@pytest.mark.parametrize(
    "windows",
    [(9, 10, 11, 10, 30, 30), (10, 30, 10, 11, 10, 9), (10, 9, 11, 10, 10, 50)],
    ids=["two of a burst", "one that is over", "one of a burst"],
)
def test_what_lasts_for_two_windows_leaves_no_trace(windows: tuple[float, ...]) -> None:
    assert 9.0 <= robust(*windows) <= 11.0


def test_three_windows_that_agree_are_a_step_and_count_alone() -> None:
    assert robust(10, 9, 11, 30, 31, 29) == 30.0
    assert robust(30, 31, 29, 10, 9, 11) == 10.0


def test_what_comes_and_goes_every_other_window_is_its_mean() -> None:
    assert robust(10, 30, 10, 30, 10, 30) == robust(30, 10, 30, 10, 30, 10) == 20.0


def test_windows_that_rise_are_no_step_yet() -> None:
    assert robust(10, 10, 10, 15, 25, 30) == 12.5


def test_bundles_with_few_windows_have_their_median() -> None:
    values = np.concatenate((np.zeros((3, 1, 1)), rates(10, 12, 50)))

    assert robust_rates(values, np.array([3]))[0, 0] == 12.0


# ------------------------------------------------------------------ levels


@pytest.mark.parametrize(
    ("former", "newest", "behind"),
    [
        (5, 8, 5),
        (8, 5, 5),
        (-9, -4, -4),
        (30, 10, 10),
        (5, -5, 0),
        (2, 6, 0),
        (11, 12, 0),
        (np.nan, 6, 0),
        (6, np.nan, 0),
    ],
    ids=[
        "rising",
        "falling back",
        "below",
        "one far off",
        "up and down",
        "noise",
        "a burst",
        "one minute known",
        "nothing new",
    ],
)
def test_a_level_lags_by_the_lesser_of_two_minutes(
    former: float, newest: float, behind: float
) -> None:
    assert lag(*map(np.atleast_1d, (former, newest, 10.0))).tolist() == [behind]


def test_a_broker_that_was_full_is_unsure_once_bundles_have_left_it() -> None:
    brokers = ("touched", "untouched", "seen since", "never full", "full long ago")
    usage = np.array([[40, 40, 40, 40, 98], [99, 99, 99, 60, 50]], np.float64)
    looks = replace(no_excursions(5), usage=usage, time_s=np.array((100.0, 900.0)))
    known = replace(nothing_known(brokers, ()), time_s=1000.0)
    known = with_brokers(
        known,
        level_variance=np.full(5, 4.0),
        touched_s=np.array((950.0, -np.inf, 700.0, 950.0, 950.0)),
        written_s=np.full(5, 980.0),
    )

    unsure = with_full(known, looks, Windows(60.0, 60.0)).brokers.level_variance > 4.0

    assert unsure.tolist() == [True, False, False, False, False]


# ------------------------------------------------------------------ bursts


def test_one_burst_is_no_habit() -> None:
    assert not young(excursions(1000.0, (500.0, 120.0, 1, False)), 1100.0, FILTERED_S).any()


def test_a_burst_is_waited_for_as_long_as_the_longest_before_and_some_more() -> None:
    past = (500.0, 60.0, 1, False), (600.0, 120.0, 1, False), (700.0, 240.0, 0, False)
    # A third of 240 s, as it is the longest of three, and the minute that looks lie apart.
    of_both = [young(excursions(1000.0, *past), time_s, FILTERED_S) for time_s in (1379, 1381)]

    assert [each.tolist() for each in of_both] == [[True, False], [False, False]]


def test_short_loads_do_not_hide_how_long_bursts_of_traffic_are() -> None:
    short = [(100.0 + 10 * i, 60.0, 1, False) for i in range(40)]
    past = (*short, (700.0, 240.0, 0, True), (750.0, 200.0, 0, True))

    assert young(excursions(1000.0, *past, by_traffic=True), 1320.0, FILTERED_S)[0]
    assert not young(excursions(1000.0, *past), 1320.0, FILTERED_S)[0]


def test_a_burst_that_is_over_counts_for_as_long_as_filters_show_it() -> None:
    past = (500.0, 120.0, 0, False), (1000.0, 120.0, 1, True)

    assert young(excursions(np.nan, *past), 1170.0, FILTERED_S).tolist() == [False, True]
    assert not young(excursions(np.nan, *past), 1190.0, FILTERED_S).any()


def counted(*windows: float) -> Floats:
    """Lay out windows of two bundles: of one so many thousand messages/s, of the other twenty."""
    counts = np.zeros((len(windows), 2, 7))
    counts[:, 0, :2] = 1000.0 * np.array(windows)[:, None]
    counts[:, 1, :2] = 20_000.0
    return counts


@pytest.mark.parametrize(
    ("windows", "is_falling"),
    [((12, 45, 44, 25), True), ((12, 45, 45, 44), False), ((12, 30, 45, 45), False)],
    ids=["on its way down", "as it was", "still up"],
)
def test_who_is_off_by_traffic_that_is_on_its_way_down_is_in_doubt(
    windows: tuple[float, ...], is_falling: bool
) -> None:
    known = with_bundles(nothing_known(("a", "b"), ("x", "y")), owner=np.array([0, 1]))
    off = replace(excursions(100.0), surge=np.array([0, -1]), rise=np.array([12.0, 0.0]))
    assert falling(off, known, counted(*windows)).tolist() == [is_falling, False]
    assert not falling(replace(off, rise=np.array([2.0, 0.0])), known, counted(*windows)).any()
    assert not falling(replace(off, since_s=np.full(2, np.nan)), known, counted(*windows)).any()


@pytest.mark.parametrize(
    ("windows", "is_restless"),
    [
        ((2, 45, 2, 45, 2, 45), True),
        ((2, 2, 45, 45, 2, 45), True),
        ((2, 2, 2, 45, 45, 45), False),
        ((2, 2, 45, 45, 2, 2), False),
        ((38, 45, 38, 45, 38, 45), False),
        ((1, 5, 1, 5, 1, 5), False),
    ],
    ids=["every other", "up, down and up again", "a step", "a burst", "noise", "a small bundle"],
)
def test_who_has_a_bundle_that_comes_and_goes_is_restless(
    windows: tuple[float, ...], is_restless: bool
) -> None:
    known = with_bundles(nothing_known(("a", "b"), ("moody", "calm")), owner=np.array([0, 1]))
    counts, everybody = counted(*windows), np.ones(2, np.bool_)
    assert restless(known, counts, everybody).tolist() == [is_restless, False]
    assert not restless(known, counts, ~everybody).any()
