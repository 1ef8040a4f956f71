"""What a plan goes out from: learned costs, hours to come, and what is printed of it."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from test_costs import _after, _Cluster
from trimtab.lab.costs import Knowledge, predicted, priced
from trimtab.lab.frontier import Moves, moved, question
from trimtab.lab.planning import Planned, Snapshot, Wish, planned, unrestrained
from trimtab.lab.planning.columns import Column, by_share, learned_cpu
from trimtab.lab.planning.hours import History, by_hours, history
from trimtab.lab.planning.obstacle import obstacle
from trimtab.lab.planning.profile import Expected, expected
from trimtab.lab.planning.recommend import recommended
from trimtab.lab.planning.snapshot import columns, is_learned
from trimtab.pulsar.model import Floats
from trimtab.trials.plan.document import Basis, document
from trimtab.trials.plan.lines import lines
from trimtab.trials.plan.plot import chart
from trimtab.trials.plan.recording import RecordedCosts, ahead, loads

_DAY, _WEEK = 24, 168


@functools.cache
def known_cluster() -> Knowledge:
    """Return what is learned of a cluster whose traffic swings."""
    return _after(_Cluster(8.0, np.array([4.0, 6.0, 5.0, 20.0]), 0.5, 0.3), 90)


def snapshot_of(known: Knowledge) -> Snapshot:
    usage = np.zeros((len(known.broker_names), 5))
    usage[:, 0] = known.brokers.level
    counts = known.bundles.counts
    return Snapshot(
        known.broker_names,
        known.bundle_names,
        usage,
        np.array((1.0, 0.0, 1.0, 1.0, 1.0)),
        known.bundles.owner,
        counts[:, 2] + counts[:, 3],
    )


# ------------------------------------------------------------------------- learned costs


def test_a_plan_by_learned_costs_says_what_the_model_predicts() -> None:
    known = known_cluster()
    assert is_learned(known) and priced(known).traffic.is_told
    column = learned_cpu(known)
    asked = question(
        column.usage[:, None], column.speed[:, None], column.cost[:, None], known.bundles.owner
    )

    bundle, to = np.array([3]), np.array([0])
    ours = predicted(known, bundle, to)
    after = moved(asked, Moves(bundle, to))[ours.broker, 0]

    assert after == pytest.approx(ours.after, abs=0.3)
    assert (np.abs(ours.change) > 3.0).all()


def test_learned_costs_are_surer_than_the_share_of_traffic() -> None:
    known = known_cluster()
    now = snapshot_of(known)
    doubts = columns(now, known)[0].doubts
    shared = np.einsum("bs,st,bt->b", doubts.following, doubts.covariance, doubts.following)
    share = columns(now, None)[0].doubts
    by_share_variance = float(share.covariance[0, 0]) + share.own**2

    assert (0 < shared + doubts.own**2).all()
    assert (shared + doubts.own**2 < 0.8 * by_share_variance).all()


def test_what_cannot_be_told_is_not_called_learned() -> None:
    calm = _after(_Cluster(8.0, np.full(4, 5.0), 0.0, 0.3), 30)

    assert not is_learned(calm)
    assert not is_learned(None)


# ------------------------------------------------------------------------- hours to come


def weeks(count: int, shape: Floats) -> Floats:
    """Return a bundle's hours, (1, n), from a Monday's midnight on."""
    return np.tile(shape, count)[None]


def test_days_that_repeat_themselves_go_on() -> None:
    day = 10.0 + 5.0 * np.sin(np.arange(_DAY) / _DAY * 2 * np.pi)
    week = np.tile(day, 7)
    week[5 * _DAY :] = 2.0

    monday = expected(weeks(2, week), 2 * _WEEK)
    saturday = expected(weeks(2, week)[:, : -2 * _DAY], 2 * _WEEK - 2 * _DAY)

    assert monday.mean[0] == pytest.approx(day, rel=0.15)
    assert saturday.mean[0] == pytest.approx(np.full(_DAY, 2.0), abs=1.5)
    assert (monday.deviation > 0).all()


def test_one_day_is_better_than_nothing_and_less_sure_than_ten() -> None:
    day = np.where(np.arange(_DAY) == 9, 50.0, 5.0)
    one, ten = (expected(np.tile(day, count)[None], count * _DAY) for count in (1, 10))

    assert one.mean[0].argmax() == ten.mean[0].argmax() == 9
    assert one.mean[0, 9] > 35
    assert one.deviation[0, 15] > 1.5 * ten.deviation[0, 15]


def test_a_day_that_is_like_no_other_counts_for_little() -> None:
    usual = np.full(10 * _DAY, 10.0)
    odd = usual.copy()
    odd[4 * _DAY : 5 * _DAY] = 100.0

    assert expected(odd[None], 10 * _DAY).mean[0].max() < 14.0


def test_a_bundle_of_which_nothing_is_known_has_no_hours() -> None:
    nothing = expected(np.full((1, 48), np.nan), 48)

    assert np.isnan(nothing.mean).all()


def test_history_is_the_mean_of_each_hour() -> None:
    # 1970-01-05 was a Monday.
    monday_s = 4 * 86_400.0
    time_s = monday_s + np.array([10.0, 1800.0, 3600.0, 3 * 3600.0])
    found = history(np.array([0, 0, 1, 0]), time_s, np.array([2.0, 4.0, 7.0, 9.0]), 2)

    assert found.hourly[0].tolist()[::3] == [3.0, 9.0]
    assert found.hourly[1, 1] == 7.0
    assert np.isnan(found.hourly[1, 0])
    assert found.next_hour % _WEEK == 4


def test_bundles_that_peak_at_different_hours_belong_together() -> None:
    """Each broker holds two that peak at the same hour: now all is even, at their hours not."""
    usage, owner = np.array([30.0, 30.0]), np.array([0, 0, 1, 1])
    now = np.full(4, 10.0)
    column = by_share("CPU", usage, now, owner)
    ahead = np.array([[40.0, 4.0], [40.0, 4.0], [4.0, 40.0], [4.0, 40.0]])
    hours = by_hours([column], owner, now, Expected(ahead, np.full((4, 2), 1.0)))
    free, wish = unrestrained(2, 4), Wish(2, 1.0, only_if_sure=False)

    assert planned([column], owner, free, wish).moves.bundle.size == 0
    plan = planned(hours, owner, free, wish)

    assert plan.frontier.peak[0] == 100.0
    assert sorted(owner[plan.moves.bundle].tolist()) == [0, 1]
    assert sorted(plan.moves.to.tolist()) == [0, 1]
    assert plan.course.highest[-1] == pytest.approx(66.0)


def test_a_recording_of_days_tells_the_hours_to_come() -> None:
    known = known_cluster()
    now = snapshot_of(known)
    work = loads(known, np.arange(len(known.bundle_names)), known.bundles.counts)
    # One bundle of the first broker has its noon eighteen hours ahead, ten times what it takes now.
    hourly = np.repeat(work[:, None], 48, axis=1)
    hourly[0, [18, 42]] *= 10.0
    costs = RecordedCosts("two days", known, True, History(hourly, 60), now)

    to_come, note = ahead(costs, 24)
    assert to_come is not None
    assert note.startswith("hours ahead: by 2.0 days")
    (column,) = columns(now, known)[:1]
    hours = to_come(now, (column,), known)
    rise = np.array([hour.usage[0] for hour in hours]) - column.usage[0]
    assert len(hours) == 24
    assert int(rise.argmax()) == 18
    assert rise[18] > 2.0
    short = dataclasses.replace(costs, history=History(hourly[:, :20], 60))
    assert ahead(short, 24) == (
        None,
        "planned for now: found 20 hours recorded, expected a day at least",
    )
    assert ahead(costs, 0) == (None, "")


# ------------------------------------------------------------------------------ the curve


def test_a_curve_ends_where_further_moves_gain_too_little() -> None:
    peaks = np.array([80.0, 80.0, 70.0, 65.0, 64.7])
    sure = peaks[:, None] + np.zeros((5, 100))
    noisy = sure.copy()
    noisy[3:] += np.where(np.arange(100) % 5 == 0, 9.0, 0.0)

    # Two of equal height have to come down together.
    found = recommended(peaks, sure, 1.0)
    assert (found.moves, found.next_moves, found.is_unsure) == (3, 0, False)
    assert found.next_gain == pytest.approx(0.3)
    unsure = recommended(peaks, noisy, 1.0)
    assert (unsure.moves, unsure.next_moves, unsure.is_unsure) == (2, 1, True)
    assert recommended(peaks, noisy, 1.0, only_if_sure=False).moves == 3


def test_a_bundle_is_to_be_split_only_if_a_half_would_fit() -> None:
    ones, owner = np.ones((2, 1)), np.array([0, 0, 1])
    usage = np.array([[62.0], [30.0]])
    fits_by_half = question(usage, ones, np.array([[50.0], [5.0], [20.0]]), owner)
    small = dataclasses.replace(fits_by_half, cost=np.array([[10.0], [5.0], [20.0]]))
    nothing = Moves(np.empty(0, np.int64), np.empty(0, np.int64))

    found = obstacle(fits_by_half, nothing)
    assert found is not None
    assert (found.broker, found.bundle, found.points, found.elsewhere) == (0, 0, 50.0, 80.0)
    largest_is_small = obstacle(small, nothing)
    assert largest_is_small is not None and largest_is_small.bundle == -1


def test_what_is_printed_and_drawn_is_what_is_planned() -> None:
    owner = np.array([0, 0, 0, 1])
    usage, traffic = np.array([80.0, 20.0]), np.array([3e6, 2e6, 1e6, 1e6])
    now = Snapshot(
        ("a", "b"),
        tuple(f"t/n/{i}" for i in range(4)),
        np.stack([usage, *[np.zeros(2)] * 4], axis=1),
        np.ones(5),
        owner,
        traffic,
    )
    plan: Planned = planned(
        columns(now, None), owner, unrestrained(2, 4), Wish(2, 1.0, only_if_sure=False)
    )
    made = document(Basis("demo", is_learned=False, hours=24, notes=("a note",)), now, plan)

    text = "\n".join(lines(made))
    assert text.splitlines()[0] == "demo: highest 80.0 %, lowest 20.0 % in the next 24 hours"
    assert "a note" in text
    assert "Recommended: 1 move, 80.0 to 53.3 %; further moves would gain nothing" in text
    drawn = chart(made)
    assert [row["moves"] for row in drawn["datasets"]["curve"]] == [0, 1, 2]
    assert drawn["datasets"]["recommended"][0]["label"] == "1 moves: 80 → 53 %"
    assert all(isinstance(each, Column) for each in plan.columns)
