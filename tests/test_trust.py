"""How far predictions are believed by what came of them, and what that lets happen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.control.limits import Limits
from trimtab.live.control.throttle import Bars
from trimtab.live.control.trust import (
    Outcome,
    bars_by,
    coverage,
    drift,
    drift_words,
    error,
    limits_by,
    sureness,
    trust,
    with_outcomes,
)

NOW_S = 1_000_000.0
SURE = [(-10.0, 1.0), (10.0, 1.0)]


def outcomes(*offs: float, ago_s: float = 60.0) -> tuple[Outcome, ...]:
    return tuple(Outcome(NOW_S - ago_s, off) for off in offs)


def test_of_predictions_that_nobody_checked_nothing_is_believed() -> None:
    of = trust((), NOW_S, SURE)
    assert (of.by_record, of.level, of.drift) == (0.0, 0.0, "")
    assert of.by_plan == pytest.approx(0.9)
    assert math.isnan(coverage(()))
    assert math.isnan(error(()))


def test_twelve_that_were_as_right_as_they_said_are_believed() -> None:
    honest = outcomes(*[1.2, -0.6] * 6)
    assert trust(honest, NOW_S, SURE).by_record == 1.0
    assert trust(honest[:6], NOW_S, SURE).by_record == 0.5
    assert coverage(honest) == 1.0
    assert coverage(outcomes(1.2, 1.3)) == 0.5
    # Those of the day before yesterday count no more.
    assert trust(outcomes(*[1.0] * 12, ago_s=90_000.0), NOW_S, SURE).by_record == 0.0


def test_a_plan_whose_changes_are_as_doubtful_as_they_are_large_is_not_believed() -> None:
    assert sureness([(10.0, 10.0)]) == 0.0
    assert sureness([(10.0, 20.0)]) == 0.0
    assert sureness([(10.0, 2.0), (-10.0, 4.0)]) == pytest.approx(0.7)
    assert sureness([]) == 0.0


def test_predictions_twice_as_wrong_as_they_say_have_drifted() -> None:
    off = outcomes(*[2.5, -2.5] * 3)
    assert drift(off, NOW_S) == pytest.approx(2.5)
    assert "off by 2.5 times what they said" in drift_words(off, NOW_S)
    assert trust(off, NOW_S, SURE).by_record == 0.0
    # Five say nothing yet, nor do those of four hours ago: so it is not for good.
    assert drift_words(off[:5], NOW_S) == ""
    assert drift_words(off, NOW_S + 4 * 3600.0) == ""
    # Whoever is right again is believed again.
    assert drift_words((*off, *outcomes(*[0.1] * 12)), NOW_S) == ""


def test_one_outcome_alone_is_no_drift() -> None:
    assert drift_words(outcomes(50.0, *[0.5] * 5), NOW_S) == ""


def test_limits_hang_on_trust() -> None:
    usual = Limits()
    assert limits_by(0.0) == {
        "moves_per_round": usual.moves_per_round,
        "moves_per_hour": usual.moves_per_hour,
        "broker_age_min_s": usual.broker_age_min_s,
    }
    assert limits_by(1.0) == pytest.approx(
        {"moves_per_round": 12.0, "moves_per_hour": 240.0, "broker_age_min_s": 90.0}
    )
    assert bars_by(0.0).moves_max == Bars().moves_max
    assert bars_by(1.0).moves_max == 4 * Bars().moves_max


def test_outcomes_are_kept_for_a_day() -> None:
    old = outcomes(1.0, ago_s=90_000.0)
    new = outcomes(2.0)
    assert with_outcomes(old, new) == new
    assert with_outcomes((), ()) == ()
    assert len(with_outcomes((), outcomes(*[0.0] * 1000))) == 500


LEVELS = st.floats(0.0, 1.0)


@given(LEVELS, LEVELS)
def test_more_trust_never_lets_less_happen(one: float, other: float) -> None:
    low, high = (limits_by(each) for each in sorted((one, other)))
    assert low["moves_per_round"] <= high["moves_per_round"]
    assert low["moves_per_hour"] <= high["moves_per_hour"]
    assert low["broker_age_min_s"] >= high["broker_age_min_s"]


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=40), st.integers(0, 39))
def test_what_is_further_off_is_never_believed_more(offs: list[float], at: int) -> None:
    worse = list(offs)
    worse[at % len(offs)] *= 1.5
    before, after = (trust(outcomes(*each), NOW_S, SURE).level for each in (offs, worse))
    assert after <= before + 1e-12
