"""How many brokers a recorded night needs: the search, the nights it tries and what is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sized_night import needs_of
from test_recorded_traffic import MEASURED, THRESHOLD, two_brokers
from tools import sizes
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.rehearsal.measures import Bar, measures, samples
from trimtab.lab.simulate.run import at_end, passing
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Run
from trimtab.lab.sizing.bundles import bundle_count
from trimtab.lab.sizing.kept import keeps
from trimtab.lab.sizing.need import Need, need, share_needs
from trimtab.lab.sizing.sized import Size, likely_need, loss, shared_out, sized
from trimtab.trials.size.document import answer
from trimtab.trials.size.needs import Needs, curve
from trimtab.trials.size.nights import night_needs
from trimtab.trials.size.work import Sizes

BAR = Bar(peak_percent=20.0, over_min=0.5, topics=None, ownerless_s=60.0)


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


def least(is_kept: Callable[[int], bool], first: int, lowest: int = 2) -> float:
    """Give the number from which on all up to 40 keep."""
    return need(is_kept, first, least=lowest, most=40).least


@given(st.integers(2, 41), st.integers(1, 60))
def test_the_least_number_is_found_whatever_was_guessed(truth: int, first: int) -> None:
    asked: list[int] = []

    def is_kept(count: int) -> bool:
        asked.append(count)
        return count >= truth

    assert least(is_kept, first) == (truth if truth <= 40 else np.inf)
    assert len(asked) == len(set(asked)) <= 16


def test_a_good_guess_is_quick() -> None:
    asked: list[int] = []

    def is_kept(count: int) -> bool:
        asked.append(count)
        return count >= 9

    assert least(is_kept, 9) == 9
    assert sorted(asked) == [7, 8, 9, 10, 11, 12]


@given(st.sets(st.integers(2, 30)), st.integers(1, 40))
def test_of_a_number_the_next_ones_keep_to_the_bar_too(broken: set[int], first: int) -> None:
    of = need(lambda count: count not in broken, first, least=2, most=40)

    assert not broken & set(range(int(of.least), int(of.least) + 4))
    assert not broken & of.also
    assert all(count < of.least for count in of.also)


def test_one_broker_more_that_hurts_is_not_overlooked() -> None:
    # The giant of the lost broker comes to one that has as much again.
    of = need(lambda count: count >= 10 and count != 12, 10, least=2, most=40)
    assert (of.least, of.also) == (13, {10, 11})
    assert [of.keeps(count) for count in (9, 10, 11, 12, 13)] == [False, True, True, False, True]
    assert Need.of(of.numbers()) == of
    assert least(lambda count: count >= 10 and count != 14, 10) == 10
    assert least(lambda count: count >= 10 and count != 40, 39, lowest=39) == np.inf


def test_a_number_that_hurts_some_nights_is_kept_to_by_most() -> None:
    # Each night has another number that hurts: none of them hurts most.
    nights = [Need(float(hurts + 1), frozenset(range(6, hurts))) for hurts in (7, 8, 9)]
    assert sorted(each.least for each in nights)[1] == 9
    assert share_needs(nights, 0.5) == 6
    assert share_needs(nights, 1.0) == 10
    assert share_needs([*nights, Need(np.inf)], 1.0) == np.inf


def test_a_guess_knows_that_a_giant_wants_a_broker_with_room() -> None:
    # Of 60 in all the giant has 30, and what a broker may carry is 40: it may meet 10 at most.
    work = np.full((40, 31), 1.0)
    work[:, 0] = 30.0
    assert likely_need(work, 15.0, 40.0, 32) == 4
    assert likely_need(work, 15.0, 39.0, 32) == 5
    assert likely_need(np.full((40, 30), 2.0), 15.0, 40.0, 32) == 3
    assert likely_need(work, 15.0, 20.0, 32) == 32


def test_bundles_are_shared_out_by_their_work() -> None:
    work = np.array([8.0, 7.0, 6.0, 5.0, 4.0])
    assert shared_out(work, 2).tolist() == [0, 1, 1, 0, 0]
    assert shared_out(work, 1).tolist() == [0] * 5


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=30), st.integers(1, 8))
def test_nobody_has_more_than_the_mean_and_one_bundle(work: list[float], count: int) -> None:
    array = np.array(work)
    carried = np.bincount(shared_out(array, count), array, count)
    assert carried.max() <= array.sum() / count + array.max() + 1e-9


def test_the_fullest_is_lost_and_the_others_carry_all(again: Rebuilt) -> None:
    def run_on(size: Size) -> Run:
        return at_end(passing(sized(again, THRESHOLD, again.used.costs, size, seed=0)))

    run = run_on(Size(3))
    is_up = ~np.isnan(run.usage)
    assert is_up[0].all()
    assert is_up[-1].sum() == 2
    whole = run_on(Size(3, is_one_lost=False))
    assert not np.isnan(whole.usage).any()
    grown = run_on(Size(3, growth=2.0))
    assert grown.offered == pytest.approx(2.0 * whole.offered)


def test_what_has_broken_the_bar_is_not_run_to_its_end(again: Rebuilt) -> None:
    def simulation() -> Simulation:
        return sized(again, THRESHOLD, again.used.costs, Size(3), seed=0)

    whole = at_end(passing(simulation()))
    peaks = np.quantile(samples(whole)[0].max(axis=1), np.linspace(0.0, 1.0, 9))
    said = []
    for peak in peaks.tolist():
        bar, tried = replace(BAR, peak_percent=peak), simulation()
        said.append(keeps(tried, bar))
        # The same as of all of it, though what breaks it is not run to the end.
        assert said[-1] == bar.is_met(measures(whole, bar))
        assert (tried.tick == tried.n_ticks) or not said[-1]
    assert not said[0]
    assert said[-1]
    broken = simulation()
    assert not keeps(broken, replace(BAR, peak_percent=1.0))
    assert broken.tick < broken.n_ticks


def test_the_loss_comes_before_the_busiest_minutes_not_the_busiest_moment() -> None:
    work = np.full((120, 2), 10.0)
    # Minutes 15 to 20 are busy; another moment has more.
    work[60:80] += 5.0
    work[10] += 40.0
    work[100, 0] += 100.0

    event = loss(work, 15.0, np.array([0, 1]), 2)

    assert event.time_s == 60 * 15.0 - 120.0
    assert event.subjects == (0,)
    # Where all is over soon, not before the leader knows its brokers.
    assert loss(work[:8], 15.0, np.array([0, 1]), 2).time_s == 120.0


def test_brokers_and_growth_move_the_need_as_they_must(again: Rebuilt) -> None:
    sizes = Sizes((again,), THRESHOLD, ((again.used.costs,),), BAR)
    once, twice = sizes.need(1.0, 0).least, sizes.need(2.0, 0).least
    assert 2 <= once <= twice
    lower = replace(sizes, bar=replace(BAR, peak_percent=15.0))
    assert lower.need(1.0, 0).least >= once
    assert replace(sizes, bar=replace(BAR, peak_percent=1.0)).need(1.0, 0).least == np.inf


def test_seeds_take_the_nights_in_turn(again: Rebuilt) -> None:
    costs = (again.used.costs,) * 4
    sizes = Sizes((again, again), THRESHOLD, (costs, costs), BAR)
    assert [sizes.need(1.0, seed).night for seed in range(4)] == [0, 1, 0, 1]
    assert len(sizes.basis()["recording"].split()) == 2


def test_what_a_broker_may_carry_fills_it_to_the_bar(again: Rebuilt) -> None:
    costs = again.used.costs
    full, half = (
        Sizes((again,), THRESHOLD, ((costs,),), replace(BAR, peak_percent=percent)).room(
            again, costs
        )
        for percent in (100.0, 50.0)
    )
    assert 0 < half < full


def test_bundles_are_too_few_too_many_or_giants() -> None:
    even = np.ones((10, 40))
    assert bundle_count(even, room=100.0, brokers=4).verdict == "enough"
    few = bundle_count(even[:, :5], room=100.0, brokers=4)
    assert few.verdict == "too few"
    assert few.unevenness == pytest.approx(2 / 1.25 - 1)
    many = bundle_count(np.full((2, 9000), 1e-3), room=100.0, brokers=4)
    assert many.verdict == "too many"
    giant = np.ones((10, 40))
    giant[:, 7] = 60.0
    assert bundle_count(giant, room=100.0, brokers=4).giants == (7,)
    assert bundle_count(np.zeros((3, 4)), room=100.0, brokers=2).unevenness == 0.0


def test_needs_are_ranked_and_their_curve_falls() -> None:
    needs = needs_of(4, 4, 5, 4, 6, 5, 4, 4, 4, 4)
    assert (needs.usual, needs.sure) == (4, 6)
    assert needs.document() == {"usual": 4, "low": 4, "high": 6, "sure": 6, "seeds": 10}
    points = curve(needs, range(3, 8))
    assert [point["risk"] for point in points] == [1.0, 0.3, 0.1, 0.0, 0.0]
    for point in points:
        assert 0.0 <= point["low"] <= point["risk"] <= point["high"] <= 1.0
    assert points[-1]["high"] == pytest.approx(1 - 0.05**0.1)


def answered(needs: Needs, today: int = 4, giants: tuple[float, ...] = ()) -> dict[str, Any]:
    """Give as much of a document as an answer looks at."""
    return {
        "fidelity": {"is_trusted": True},
        "nights": [{}] * len(needs.nights),
        "need": needs.document(),
        "today": today,
        "bundle_count": {"giants": [{"percent": percent} for percent in giants]},
    }


def test_one_night_whose_trials_are_far_apart_says_so_first() -> None:
    apart = (13, 19, 25, 19, 17, 20)
    told = answer(answered(needs_of(*apart), giants=(71.0, 52.0)))
    assert told.endswith(
        " One night: others of this cluster may need 13 to 25, as a bundle alone takes 71 % of "
        "what a broker may carry."
    )
    told = answer(answered(needs_of(*apart)))
    assert told.endswith(" One night: others of this cluster may need 13 to 25.")
    # Not where nothing says so, nor where others were recorded.
    assert "One night" not in answer(answered(needs_of(4, 5, 6), giants=(71.0,)))
    assert "One night" not in answer(answered(needs_of(*apart, nights=2), giants=(71.0,)))
    assert "may need 4 or more" in answer(answered(needs_of(4, 4, np.inf), giants=(90.0,)))


def test_what_one_more_night_tells_is_what_leaving_one_out_changes() -> None:
    by_night = night_needs(needs_of(7, 9, 7, 9, 7, 9, nights=2))
    assert by_night == {"each": [7, 9], "low": 7, "high": 9}
    assert night_needs(needs_of(7, 7)) is None
    none = night_needs(needs_of(7, np.inf, nights=2))
    assert none == {"each": [7, None], "low": 7, "high": None}


@pytest.mark.parametrize(
    ("today", "told"),
    [
        (3, "the 3 of today are too few."),
        (5, "the 5 of today are perhaps too few."),
        (6, "the 6 of today are enough."),
        (9, "the 9 of today are 3 more than that."),
    ],
)
def test_the_answer_holds_todays_number_against_the_need(today: int, told: str) -> None:
    document = answered(needs_of(4, 4, 5, 4, 6), today)
    assert answer(document) == (
        f"4 brokers carry this night and the loss of any one, 6 almost surely; {told}"
    )


def test_where_no_number_will_do_it_is_said() -> None:
    needs = needs_of(np.inf, 4, np.inf)
    assert needs.document() == {"usual": None, "low": 4, "high": None, "sure": None, "seeds": 3}
    assert needs.numbers == (4,)
    assert answer(answered(needs)).startswith("No number of brokers carries this night")
    some = answer(answered(needs_of(4, 4, np.inf)))
    assert "in some nights like it no number does" in some


def test_of_a_replay_that_is_not_true_nothing_is_foretold() -> None:
    checks = [{"name": "unloads", "is_met": False}]
    told = answer({"fidelity": {"is_trusted": False, "checks": checks}, "need": None})
    assert told.startswith("Not decidable: the replay does not reproduce")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_what_is_said_of_a_cluster_is_what_trying_all_numbers_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "RECORDED", 3)
    # Other nights are tried of each.
    monkeypatch.setattr(sizes, "MORE_OF", 1)
    world = sizes.world_of(seed)
    assert world.need is not None
    assert world.need_of_others is not None
    assert abs(world.said.usual - world.need) <= 1
    assert abs(world.said.usual - world.need_of_others) <= 1
    assert world.said.sure >= world.need_of_others
