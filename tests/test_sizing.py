"""How many brokers a recorded night needs: the search, the nights it tries and what is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_recorded_traffic import MEASURED, THRESHOLD, two_brokers
from tools import sizes
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.rehearsal.measures import Bar
from trimtab.lab.sizing.bundles import bundle_count
from trimtab.lab.sizing.need import need
from trimtab.lab.sizing.sized import Size, loss, shared_out, sized_run
from trimtab.trials.size.document import Needs, answer, curve
from trimtab.trials.size.work import Sizes

BAR = Bar(peak_percent=20.0, over_min=0.5, topics=None, ownerless_s=60.0)


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


@given(st.integers(2, 41), st.integers(1, 60))
def test_the_least_number_is_found_whatever_was_guessed(truth: int, first: int) -> None:
    asked: list[int] = []

    def keeps(count: int) -> bool:
        asked.append(count)
        return count >= truth

    assert need(keeps, first, least=2, most=40) == truth
    assert len(asked) <= 15


@given(st.sets(st.integers(2, 30)), st.integers(1, 40))
def test_of_a_number_the_next_ones_keep_to_the_bar_too(broken: set[int], first: int) -> None:
    least = need(lambda count: count not in broken, first, least=2, most=40)

    assert not broken & set(range(least, least + 4))


def test_one_broker_more_that_hurts_is_not_overlooked() -> None:
    # The giant of the lost broker comes to one that has as much again.
    assert need(lambda count: count >= 10 and count != 12, 10, least=2, most=40) == 13
    assert need(lambda count: count >= 10 and count != 14, 10, least=2, most=40) == 10
    assert need(lambda count: count >= 10 and count != 40, 39, least=39, most=40) == 41


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
    run = sized_run(again, THRESHOLD, again.used.costs, Size(3), seed=0)
    is_up = ~np.isnan(run.usage)
    assert is_up[0].all()
    assert is_up[-1].sum() == 2
    whole = sized_run(again, THRESHOLD, again.used.costs, Size(3, is_one_lost=False), seed=0)
    assert not np.isnan(whole.usage).any()
    grown = sized_run(again, THRESHOLD, again.used.costs, Size(3, growth=2.0), seed=0)
    assert grown.offered == pytest.approx(2.0 * whole.offered)


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
    sizes = Sizes(again, THRESHOLD, (again.used.costs,), BAR)
    once, twice = sizes.need(1.0, 0), sizes.need(2.0, 0)
    assert 2 <= once <= twice
    lower = replace(sizes, bar=replace(BAR, peak_percent=15.0))
    assert lower.need(1.0, 0) >= once
    assert replace(sizes, bar=replace(BAR, peak_percent=1.0)).need(1.0, 0) == np.inf


def test_what_a_broker_may_carry_fills_it_to_the_bar(again: Rebuilt) -> None:
    costs = again.used.costs
    full, half = (
        Sizes(again, THRESHOLD, (costs,), replace(BAR, peak_percent=percent)).room(again, costs)
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
    needs = Needs((4, 4, 5, 4, 6, 5, 4, 4, 4, 4))
    assert (needs.usual, needs.sure) == (4, 6)
    assert needs.document() == {"usual": 4, "low": 4, "high": 6, "sure": 6, "seeds": 10}
    points = curve(needs, range(3, 8))
    assert [point["risk"] for point in points] == [1.0, 0.3, 0.1, 0.0, 0.0]
    for point in points:
        assert 0.0 <= point["low"] <= point["risk"] <= point["high"] <= 1.0
    assert points[-1]["high"] == pytest.approx(1 - 0.05**0.1)


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
    need = Needs((4, 4, 5, 4, 6)).document()
    document = {"fidelity": {"is_trusted": True}, "need": need, "today": today}
    assert answer(document) == (
        f"4 brokers carry this night and the loss of any one, 6 almost surely; {told}"
    )


def test_where_no_number_will_do_it_is_said() -> None:
    needs = Needs((np.inf, 4, np.inf))
    assert needs.document() == {"usual": None, "low": 4, "high": None, "sure": None, "seeds": 3}
    assert needs.numbers == (4,)
    document = {"fidelity": {"is_trusted": True}, "need": needs.document(), "today": 4}
    assert answer(document).startswith("No number of brokers carries this night")
    some = {**document, "need": Needs((4, 4, np.inf)).document()}
    assert "in some nights like it no number does" in answer(some)


def test_of_a_replay_that_is_not_true_nothing_is_foretold() -> None:
    checks = [{"name": "unloads", "is_met": False}]
    told = answer({"fidelity": {"is_trusted": False, "checks": checks}, "need": None})
    assert told.startswith("Not decidable: the replay does not reproduce")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_what_is_said_of_a_cluster_is_what_trying_all_numbers_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SEEDS", 5)
    world = sizes.world_of(seed)
    assert world.need is not None
    assert abs(world.usual - world.need) <= 1
    assert world.sure >= world.need


def test_worlds_are_counted_by_how_far_they_are_off() -> None:
    worlds = [
        sizes.KnownWorld(seed=i, brokers=4, bundles=40, need=need, usual=usual, sure=sure)
        for i, (need, usual, sure) in enumerate(
            [(4, 4.0, 5.0), (4, 5.0, 6.0), (6, 4.0, 5.0), (None, np.inf, np.inf)]
        )
    ]
    text = sizes.summary(worlds)
    for row in (
        "| worlds, of which some number up to 24 will do | 4, 3 |",
        "| the same number | 1 of 3 (33.3 %) |",
        "| right within one broker | 2 of 3 (66.7 %) |",
        "| too few by more than one | 1 of 3 (33.3 %) |",
        "| the almost sure number is too few | 1 of 3 (33.3 %) |",
    ):
        assert row in text
