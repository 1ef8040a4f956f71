"""What measures promise in their docstrings, on trajectories that nobody thought of."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trajectory_text import trajectory_of
from trimtab.lab.outcomes import MEASURES, between, measured, outcomes, trajectory
from trimtab.lab.outcomes.aftermath import Aftermath, aftermath
from trimtab.lab.outcomes.balance import time_below_min
from trimtab.lab.outcomes.level import level, minute_means
from trimtab.lab.outcomes.minimum_moves import (
    Minimum,
    Placement,
    counted_moves,
    minimum_moves,
    usages,
)
from trimtab.lab.outcomes.spread import best_spread, inner_spread, spread
from trimtab.lab.outcomes.thrash import against_the_trend
from trimtab.lab.outcomes.trajectory import Trajectory
from trimtab.lab.simulate.world import Bundles, Machines, Moves, Rounds, Run, World

STEP_S = 15.0


@st.composite
def usage_tables(draw, max_samples=160):
    """Usages of a few brokers, in whole points, that rest and jump; some are down at times."""
    n_brokers = draw(st.integers(1, 5))
    rows = []
    for _ in range(n_brokers):
        pieces = draw(
            st.lists(
                st.tuples(st.integers(0, 100) | st.just(math.nan), st.integers(1, 60)),
                min_size=1,
                max_size=6,
            )
        )
        rows.append([value for value, length in pieces for _ in range(length)])
    n_samples = min(max_samples, *map(len, rows))
    return np.array([row[:n_samples] for row in rows], np.float32).T


@st.composite
def trajectories(draw):
    """Trajectories with moves that fit together, though nobody would have made them."""
    usage = draw(usage_tables())
    n_samples, n_brokers = usage.shape
    end_s = int(n_samples * STEP_S)
    n_rounds = draw(st.integers(0, 6))
    round_s = sorted(draw(st.lists(st.integers(0, end_s), min_size=n_rounds, max_size=n_rounds)))
    n_moves = draw(st.integers(0, 8))
    rounds = sorted(
        draw(st.lists(st.integers(-1, n_rounds - 1), min_size=n_moves, max_size=n_moves))
    )
    brokers = st.integers(0, n_brokers - 1)
    columns = draw(
        st.lists(
            st.tuples(st.integers(0, 2), brokers, brokers, *[st.integers(0, 100)] * 5),
            min_size=n_moves,
            max_size=n_moves,
        )
    )
    table = np.array(columns, np.float64).reshape(n_moves, 8)
    number = np.array(rounds, np.int64)
    times = np.array([round_s[n] if n >= 0 else 0 for n in rounds], np.float64)
    _, last = np.unique(number, return_inverse=True) if n_moves else (None, number)
    return Trajectory(
        brokers=tuple(f"b{i}" for i in range(n_brokers)),
        step_s=STEP_S,
        usage=usage,
        best_spread=np.full(n_samples, float(draw(st.integers(0, 10)))),
        event_s=float(draw(st.integers(0, end_s // 2))),
        round_s=np.array(round_s, np.float64),
        round_moved=np.bincount(number[number >= 0], minlength=n_rounds),
        moves=Moves(
            time_s=times,
            round=number,
            bundle=table[:, 0].astype(np.int64),
            source=table[:, 1].astype(np.int64),
            target=table[:, 2].astype(np.int64),
            source_before=table[:, 3],
            source_after=table[:, 3],
            target_before=table[:, 4],
            target_after=table[:, 4],
            source_end=table[:, 5],
            target_end=table[:, 6],
            mean=table[:, 7][last] if n_moves else table[:, 7],
            outage_s=table[:, 3],
            traffic_share=table[:, 4] / 100,
            is_fallback=np.zeros(n_moves, np.bool_),
        ),
        moved_topics=table[:, 5],
        offered=np.full(n_samples, 100.0),
        lost=np.full(n_samples, float(draw(st.integers(0, 100)))),
    )


def permuted(found: Trajectory, order: list[int]) -> Trajectory:
    """Let the brokers stand in another order."""
    place = np.argsort(order)
    moves = dataclasses.replace(
        found.moves, source=place[found.moves.source], target=place[found.moves.target]
    )
    names = tuple(found.brokers[i] for i in order)
    return dataclasses.replace(found, brokers=names, usage=found.usage[:, order], moves=moves)


# ------------------------------------------------------------------ all measures


@given(trajectories(), st.randoms(use_true_random=False))
def test_the_order_of_the_brokers_decides_nothing(found: Trajectory, random) -> None:
    order = list(range(len(found.brokers)))
    random.shuffle(order)
    levels = level(found.usage, STEP_S)
    once, again = measured(found), measured(permuted(found, order))
    if any(len(set(row[~np.isnan(row)])) < (~np.isnan(row)).sum() for row in levels):
        # Of two that stand alike either may be called the highest.
        del once["flips"], again["flips"]

    assert once == pytest.approx(again, nan_ok=True)


@given(trajectories())
def test_measures_are_bounded_as_they_say(found: Trajectory) -> None:
    values = measured(found)
    observed_min = (np.arange(len(found.usage)) * STEP_S >= found.event_s).sum() * STEP_S / 60

    def holds(smaller: str, larger: str) -> bool:
        pair = values[smaller], values[larger]
        return any(map(math.isnan, pair)) or pair[0] <= pair[1] + 1e-9

    for counted in ("wasted", "wrong_direction", "source_below_average", "over_placements"):
        assert holds(counted, "unloads")
    assert holds("over_unloadings", "unloads")
    assert holds("triggers", "unloads")
    assert holds("returns", "wasted")
    assert holds("first_trigger_min", "last_unload_min")
    assert holds("inner_time_to_balance_min", "time_to_balance_min")
    assert holds("inner_excess_spread_points", "excess_spread_points")
    for name, value in values.items():
        assert math.isnan(value) or value >= 0, name
    assert math.isnan(values["above_min"]) or values["above_min"] <= observed_min + 0.25
    assert math.isnan(values["lost_percent"]) or values["lost_percent"] <= 100


@given(trajectories())
def test_nothing_is_concluded_of_a_run_that_was_cut(found: Trajectory) -> None:
    values = measured(dataclasses.replace(found, is_cut=True))

    assert list(values) == list(MEASURES)
    assert all(map(math.isnan, values.values()))


@given(trajectories())
def test_counts_over_no_rounds_are_not_known(found: Trajectory) -> None:
    none = np.zeros(0)
    bare = dataclasses.replace(found, round_s=none, round_moved=none.astype(np.int64))
    values = measured(bare)
    counts = ("unloads", "triggers", "first_trigger_min", "wasted", "wrong_direction", "returns")

    assert all(math.isnan(values[name]) for name in counts)


@given(trajectories(), st.integers(0, 6))
def test_asking_for_all_of_a_trajectory_changes_nothing(found: Trajectory, hour: int) -> None:
    end_s = len(found.usage) * STEP_S
    late = dataclasses.replace(found, event_s=float(hour))
    rest = found.round_s < end_s
    if not rest.all():  # a round at the very end is after the last part of it
        return

    assert measured(between(found, float(hour), end_s)) == pytest.approx(
        measured(late), nan_ok=True
    )


def test_a_part_of_a_trajectory_knows_what_was_before_and_nothing_of_what_comes() -> None:
    whole = trajectory_of(
        [
            "b0 80x60",
            "b1 40x20 70x40",
            "round 1 2 3",
            "move 5 x b0>b1 80>60 40>60 mean=60",
            "move 15 x b1>b0 65>45 55>75 mean=60",
            "move 30 y b0>b1 80>60 40>60 mean=60",
        ]
    )
    values = measured(between(whole, 600.0, 1200.0))

    assert (values["unloads"], values["returns"], values["above_min"]) == (1, 1, 10)
    assert values["time_to_balance_min"] == math.inf
    with pytest.raises(ValueError, match="from 600 s to 3700 s is no part of 3600 s"):
        between(whole, 600.0, 3700.0)
    with pytest.raises(ValueError, match="no part"):
        between(whole, 600.0, 600.0)


# ------------------------------------------------------------------ level and spread


@given(usage_tables())
def test_levels_stay_within_a_brokers_own_range(usage) -> None:
    found = level(usage, STEP_S)

    assert (np.isnan(found) == np.isnan(usage)).all()
    for column, own in zip(found.T, usage.T, strict=True):
        known = own[~np.isnan(own)]
        if len(known):
            assert np.nanmin(column) >= known.min()
            assert np.nanmax(column) <= known.max()


@given(usage_tables())
def test_levels_backwards_are_the_levels_of_the_series_backwards(usage) -> None:
    np.testing.assert_array_equal(level(usage[::-1], STEP_S), level(usage, STEP_S)[::-1])


@given(usage_tables())
def test_a_level_is_the_median_of_what_lies_within_two_and_a_half_minutes(usage) -> None:
    """Word by word, sample by sample."""
    found = level(usage, STEP_S)
    reach = int(150 / STEP_S)
    for broker, series in enumerate(usage.T.tolist()):
        for i, value in enumerate(series):
            if math.isnan(value):
                continue
            first, last = i, i
            while first > max(0, i - reach) and not math.isnan(series[first - 1]):
                first -= 1
            while last < min(len(series) - 1, i + reach) and not math.isnan(series[last + 1]):
                last += 1
            assert found[i, broker] == np.median(np.array(series[first : last + 1], np.float32))


@given(st.integers(0, 9), st.integers(20, 60))
def test_a_spike_shorter_than_half_of_the_window_is_not_in_the_level(length, at) -> None:
    usage = np.full((100, 1), 50, np.float32)
    usage[at : at + length] = 99

    assert (level(usage, STEP_S) == 50).all()


@given(usage_tables(), st.sampled_from([(1, 1), (3, 4), (2, 3)]))
def test_minute_means_are_means_of_the_last_minute(usage, sizes) -> None:
    ticks, samples = sizes
    found = minute_means(usage, ticks, samples)

    assert len(found) == len(usage) // ticks
    for i, broker in itertools.product(range(len(found)), range(usage.shape[1])):
        own = usage[i * ticks : (i + 1) * ticks, broker]
        window = usage[max(0, (i + 1 - samples) * ticks) : (i + 1) * ticks, broker]
        expected = np.nan if np.isnan(own).all() else np.nanmean(window.astype(np.float64))
        assert found[i, broker] == pytest.approx(expected, nan_ok=True, rel=1e-6)


@given(usage_tables(), st.integers(-50, 50), st.integers(1, 4))
def test_spread_is_a_distance(usage, shift, scale) -> None:
    whole, inner = spread(usage), inner_spread(usage)
    known = ~np.isnan(whole)

    assert (known == ((~np.isnan(usage)).sum(axis=1) > 1)).all()
    assert (whole[known] >= inner[known] - 1e-9).all()
    assert (inner[known] >= -1e-9).all()
    np.testing.assert_allclose(spread(usage + shift), whole)
    np.testing.assert_allclose(inner_spread(usage * scale), inner * scale, atol=1e-9)
    for row, value in zip(usage[known], inner[known], strict=True):
        ends = np.nanpercentile(row.astype(np.float64), [5, 95])
        assert value == pytest.approx(ends[1] - ends[0])


# ------------------------------------------------------------------ best possible spread


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 4), st.lists(st.integers(0, 40), max_size=4)),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([0.0, 0.001]),
)
def test_no_assignment_has_less_than_the_best_spread(brokers, convexity) -> None:
    background = np.array([[float(row[0]) for row in brokers]], np.float32)
    capacity = np.array([[float(row[1]) for row in brokers]], np.float32)
    work = np.array([float(sum(row[2])) for row in brokers])
    heights = background[0] + work / capacity[0]
    actual = np.minimum(heights + convexity * heights**2, 100.0)
    best = best_spread(background, capacity, np.array([work.sum()]), convexity)[0]

    assert 0 <= best <= np.ptp(actual) + 1e-4


@given(
    st.lists(st.tuples(st.floats(0, 60), st.floats(0.5, 4)), min_size=2, max_size=6),
    st.floats(0, 300),
)
def test_the_best_spread_is_that_of_work_poured_drop_by_drop(brokers, work) -> None:
    background = np.array([row[0] for row in brokers])
    capacity = np.array([row[1] for row in brokers])
    low, high = 0.0, 700.0
    for _ in range(100):
        middle = (low + high) / 2
        held = (capacity * np.maximum(middle - background, 0)).sum()
        low, high = (middle, high) if held < work else (low, middle)
    table = background[None].astype(np.float32), capacity[None].astype(np.float32)

    assert best_spread(*table, np.array([work]))[0] == pytest.approx(
        max(background.max() - max(low, background.min()), 0), abs=1e-3
    )


# ------------------------------------------------------------------ balance


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=8),
    st.integers(0, 40),
    st.integers(0, 10),
)
def test_a_higher_bar_is_reached_no_later(pieces, bar, more) -> None:
    series = np.array([float(value) for value, length in pieces for _ in range(length)])
    low, high = (
        time_below_min(series, np.full(len(series), float(each)), STEP_S)
        for each in (bar, bar + more)
    )
    observed_min = len(series) * STEP_S / 60

    assert math.isnan(low) == math.isnan(high) == (observed_min < 5)
    if not math.isnan(low):
        assert high <= low
        assert low == math.inf or low <= observed_min - 5


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=8),
    st.integers(0, 40),
)
def test_time_to_balance_is_the_first_sample_from_which_it_lasts(pieces, bar) -> None:
    """Word by word, sample by sample."""
    series = [float(value) for value, length in pieces for _ in range(length)]
    found = time_below_min(np.array(series), np.full(len(series), float(bar)), STEP_S)
    if math.isnan(found):
        return
    expected = math.inf
    for start in range(len(series)):
        stays = list(itertools.takewhile(lambda value: value <= bar, series[start:]))
        lasts_s, is_to_the_end = len(stays) * STEP_S, start + len(stays) == len(series)
        if lasts_s >= 1200 or (is_to_the_end and lasts_s >= 300):
            expected = start * STEP_S / 60
            break

    assert found == expected


# ------------------------------------------------------------------ thrash


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 9))
def test_thrash_discounts_a_trend(up, down, times) -> None:
    def thrash(a: float, b: float) -> float:
        return float(against_the_trend(np.array([float(a)]), np.array([float(b)]))[0])

    found = thrash(up, down)

    assert found == thrash(down, up)
    assert min(up, down) - 1e-9 <= found <= up + down + 1e-9
    assert thrash(up, 0) == 0
    assert thrash(up, up) == pytest.approx(2 * up)
    assert thrash(times * up, times * down) == pytest.approx(times * found)
    assert thrash(up + 1, down) >= found - 1e-9


# ------------------------------------------------------------------ minimum of moves


@st.composite
def placements(draw):
    n_brokers = draw(st.integers(2, 3))
    bundles = draw(
        st.lists(
            st.tuples(st.integers(0, 30), st.integers(0, n_brokers - 1)), min_size=1, max_size=6
        )
    )
    machines = draw(
        st.lists(
            st.tuples(st.integers(0, 40), st.sampled_from([0.5, 1.0, 2.0])),
            min_size=n_brokers,
            max_size=n_brokers,
        )
    )
    return Placement(
        work=np.array([float(work) for work, _ in bundles]),
        owner=np.array([owner for _, owner in bundles], np.int64),
        background=np.array([float(background) for background, _ in machines]),
        capacity=np.array([capacity for _, capacity in machines]),
    )


def tried(placement: Placement, bar: float) -> float:
    """Try every assignment there is."""
    best = math.inf
    n_brokers = len(placement.capacity)
    for owners in itertools.product(range(n_brokers), repeat=len(placement.work)):
        owner = np.array(owners, np.int64)
        usage = usages(dataclasses.replace(placement, owner=owner))
        if np.ptp(usage) <= bar + 1e-9:
            best = min(best, float((owner != placement.owner).sum()))
    return best


@settings(max_examples=60)
@given(placements(), st.integers(1, 40), st.integers(0, 20))
def test_the_minimum_is_what_trying_everything_finds(placement, bar, more) -> None:
    found = minimum_moves(placement, float(bar))

    assert found == Minimum(tried(placement, float(bar)), is_exact=True)
    assert counted_moves(placement, float(bar)) <= found.moves
    assert minimum_moves(placement, float(bar + more)).moves <= found.moves
    assert counted_moves(placement, float(bar + more)) <= counted_moves(placement, float(bar))


def test_a_large_question_gets_a_bound_and_says_so() -> None:
    n_brokers = 100
    placement = Placement(
        work=np.ones(2500),
        owner=np.repeat(np.arange(50), 50),
        background=np.zeros(n_brokers),
        capacity=np.ones(n_brokers),
    )
    # Half stand at 50, half at 0. From 15 points apart on it is balanced; each of 50 brokers
    # has to give up so much, and each of the other 50 to get so much, that 33 at least and 17
    # at most, or so, are moved to or from each.
    found = minimum_moves(placement, 15.0)

    assert found == Minimum(50 * 18, is_exact=False)


# ------------------------------------------------------------------ a run


def a_run() -> Run:
    """Two brokers for 40 minutes; a bundle with 7 topics moves at minute 10."""
    n_ticks, nothing, flags = 480, np.zeros(2), np.zeros(2, np.bool_)
    usage = np.full((n_ticks, 2), 50, np.float32)
    usage[:120] = [80, 40]
    one = np.array([600.0])
    bundles = {each.name: nothing for each in dataclasses.fields(Bundles)}
    bundles |= {"names": ("a", "b"), "topics": np.array([3.0, 7.0])}
    machines = {each.name: nothing for each in dataclasses.fields(Machines)}
    machines |= {"names": ("b0", "b1"), "is_up": flags}
    moves = {each.name: np.array([1.0]) for each in dataclasses.fields(Moves)}
    moves |= {name: np.array([0]) for name in ("round", "source")}
    moves |= {"time_s": one, "bundle": np.array([1]), "target": np.array([1])}
    world = World(Machines(**machines), Bundles(**bundles), (), (), 2400.0, 300.0, 0)
    return Run(
        world=world,
        tick_s=5.0,
        usage=usage,
        offered=np.full(n_ticks, 10.0),
        served=np.full(n_ticks, 9.0),
        lost=np.where(np.arange(n_ticks) < 60, 5.0, 1.0),
        background=np.tile(np.array([30, 0], np.float32), (40, 1)),
        capacity=np.ones((40, 2), np.float32),
        work=np.full(40, 20.0),
        moves=Moves(**moves),
        rounds=Rounds(
            time_s=one,
            duration_s=one,
            planned=np.array([1]),
            moved=np.array([1]),
            average=one,
            scores=np.zeros((1, 2), np.float32),
            error=("",),
        ),
    )


def test_a_run_is_sampled_every_quarter_of_a_minute() -> None:
    found = trajectory(a_run())

    assert (found.step_s, len(found.usage), found.usage.dtype) == (15.0, 160, np.float32)
    # Background keeps the first at 30, and 20 points of work do not reach it: 10 are left.
    assert (found.best_spread == 10).all()
    assert found.offered.sum() == 4800
    assert found.moved_topics.tolist() == [7]


def test_a_short_load_of_another_process_excuses_no_spread() -> None:
    run = a_run()
    run.background[20, 1] = 90

    assert (trajectory(run).best_spread == 10).all()


def test_outcomes_of_a_run_count_from_its_event() -> None:
    values = outcomes(a_run())

    assert list(values) == list(MEASURES)
    # Half a minute after the change the minute's means are 65 and 45, within 15 + 10 points.
    assert values["time_to_balance_min"] == 5.25
    assert values["first_trigger_min"] == 5
    assert values["disconnected_topics"] == 7
    assert values["lost_percent"] == 10


@pytest.mark.parametrize("tick_s", [5.0, 10.0, 20.0, 30.0, 60.0, 120.0])
def test_ticks_of_other_lengths_are_sampled_as_well(tick_s: float) -> None:
    run, every = a_run(), int(tick_s / 5)
    thinned = {name: getattr(run, name)[::every] for name in ("usage", "offered", "lost")}
    found = trajectory(dataclasses.replace(run, tick_s=tick_s, **thinned))

    assert found.step_s >= 15 or found.step_s == tick_s
    assert found.step_s % tick_s == 0
    assert measured(found)["time_to_balance_min"] == pytest.approx(5.25, abs=2)


def test_the_aftermath_begins_behind_the_event() -> None:
    found: Aftermath = aftermath(trajectory(a_run()))

    assert len(found.usage) == 140
    assert found.round_s.tolist() == [300]
    assert found.counted.tolist() == [0]
