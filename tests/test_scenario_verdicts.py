"""Expectations: what is judged how, and that nothing holds for want of cases."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.lab.outcomes import outcomes, trajectory
from trimtab.lab.scenarios.expectations import (
    Measure,
    Measured,
    Verdict,
    expected_numbers,
    judged,
    measure,
    verdicts,
)
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.scenario import scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Run

BASE = {
    "run": {"minutes": 30, "event_at_min": 5},
    "machines": [{"count": 3}],
    "bundles": [{"count": 24}],
}


def expecting(*expectations: dict[str, Any], **tables: Any) -> Scenario:
    given = [{"because": "it is a test", **expectation} for expectation in expectations]
    return scenario({**BASE, "expect": given, **tables}, "a test")


def found(value: float, **how: Any) -> Measure:
    """Make a run in which each outcome has one value."""
    measured = Measured({"unloads": value}, **{"n_rounds": 20, "simulated_s": 1800.0, **how})
    return lambda from_s, to_s: measured


def verdict(expectation: dict[str, Any], *runs: Measure, shedder: str | None = "A") -> Verdict:
    (one,) = verdicts(
        expecting({"outcome": "unloads", **expectation}), shedder, "LeastLongTermMessageRate", runs
    )
    return one


# ------------------------------------------------------------------ bounds


@given(
    st.floats(allow_nan=False),
    st.none() | st.floats(-1e6, 1e6),
    st.none() | st.floats(-1e6, 1e6),
)
def test_an_expectation_is_met_within_its_bounds(
    value: float, at_least: float | None, at_most: float | None
) -> None:
    bounds = {"at_least": at_least, "at_most": at_most}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if not given:
        return

    is_within = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)

    assert verdict(given, found(value)).is_met == is_within


def test_what_was_expected_and_found_is_said() -> None:
    one = verdict({"at_most": 5, "from_min": 10, "of": "median"}, found(3), found(9), found(7))

    assert one.expected == "unloads at most 5 from minute 10, median over seeds"
    assert (one.found, one.is_met) == ("7", False)
    assert verdict({"at_most": 5, "at_least": 2}, found(2)).expected == (
        "unloads at least 2 and at most 5"
    )


def test_of_several_runs_the_worst_counts_unless_the_median_is_asked() -> None:
    runs = [found(3), found(9), found(4)]

    assert verdict({"at_most": 8}, *runs).found == "9 (the worst of 3)"
    assert not verdict({"at_most": 8}, *runs).is_met
    assert verdict({"at_least": 4}, *runs).found == "3 (the worst of 3)"
    assert verdict({"at_most": 8, "of": "median"}, *runs).is_met
    assert verdict({"at_most": 8}, found(math.inf)).found == "inf"


# ------------------------------------------------------------------ nothing for want of cases


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (found(0, n_rounds=0), "no round of shedding in that time"),
        (found(0, is_cut=True, simulated_s=600.0), "a run cut short at minute 10"),
        (found(0, simulated_s=1725.0), "a run cut short at minute 28.75"),
        (found(math.nan), "unloads is not a number"),
        (
            lambda a, b: Measured({"unlods": 0}, 3, 1800.0),
            "no outcome 'unloads'; expected 'unlods'",
        ),
    ],
)
def test_a_run_that_shows_nothing_meets_nothing(run: Measure, said: str) -> None:
    one = verdict({"at_most": 5}, found(0), run)

    assert (one.is_met, one.found) == (False, said)
    assert verdict({"at_most": 5}, found(0)).is_met


def test_no_runs_meet_nothing() -> None:
    assert (verdict({"at_most": 5}).is_met, verdict({"at_most": 5}).found) == (False, "no runs")


def test_where_nothing_sheds_no_rounds_are_needed() -> None:
    asked = {"at_most": 5, "under": "none"}

    assert verdict(asked, found(0, n_rounds=0), shedder=None).is_met


# ------------------------------------------------------------------ whom it is about


def test_an_expectation_is_about_the_strategies_that_it_names() -> None:
    asked = [
        {"outcome": "unloads", "at_most": 1},
        {"outcome": "unloads", "at_most": 2, "under": "AvgShedder"},
        {"outcome": "unloads", "at_most": 3, "under": ["AvgShedder", "none"]},
        {"outcome": "unloads", "at_most": 4, "placed_by": "AvgShedder"},
    ]

    def bounds(shedder: str | None, placer: str) -> list[float | None]:
        given = verdicts(expecting(*asked), shedder, placer, [found(0)])
        return [one.expectation.at_most for one in given]

    assert bounds("AvgShedder", "AvgShedder") == [1, 2, 3, 4]
    assert bounds("ThresholdShedder", "LeastLongTermMessageRate") == [1]
    assert bounds(None, "LeastLongTermMessageRate") == [3]


# ------------------------------------------------------------------ real runs


@pytest.fixture(scope="module")
def hot() -> tuple[Scenario, Run]:
    """A broker that has to be relieved, which takes several rounds."""
    read = expecting(
        {"outcome": "unloads", "at_least": 1},
        {"outcome": "unloads", "at_most": 0, "from_min": 0, "until_min": 10},
        {"outcome": "end_spread_points", "at_most": 90, "until_min": 25},
        run={"minutes": 40, "event_at_min": 10},
        bundles=[{"count": 60}],
        settings={"loadBalancerDistributeBundlesEvenlyEnabled": False},
        start={"owners": "usage", "usage_percent": [85, 30, 20], "grace_until_min": 10},
    )
    balancer = Balancer("AvgShedder", "AvgShedder", "4.0.8", read.settings)
    return read, simulated(drawn(read, 1), balancer, read.parameters)


def test_runs_are_judged_by_their_outcomes(hot: tuple[Scenario, Run]) -> None:
    read, run = hot
    runs = [measure(trajectory(run))] * 2
    given = verdicts(read, "AvgShedder", "AvgShedder", runs)

    assert [one.is_met for one in given] == [True, True, True]
    assert given[0].found == f"{outcomes(run)['unloads']:g} (the worst of 2)"


def test_the_numbers_of_a_run_give_the_verdicts_that_the_run_gives(
    hot: tuple[Scenario, Run],
) -> None:
    read, run = hot
    balancer = Balancer("AvgShedder", "AvgShedder", "4.0.8", read.settings)
    halves = [dataclasses.replace(run, usage=run.usage[:n]) for n in (80, 160, 240)]

    for runs in ([run], [run, halves[2]], halves, []):
        numbers = [expected_numbers(read, balancer, each) for each in runs]
        on_runs = verdicts(
            read, "AvgShedder", "AvgShedder", [measure(trajectory(each)) for each in runs]
        )
        assert on_runs == judged(read, "AvgShedder", "AvgShedder", numbers)

    # Nothing is expected without shedding, and of a run that failed nothing is met.
    idle = dataclasses.replace(balancer, shedder=None)
    assert {} == expected_numbers(read, idle, run)
    numbers = [expected_numbers(read, balancer, run), None]
    failed = judged(read, "AvgShedder", "AvgShedder", numbers)
    assert [False] * 3 == [one.is_met for one in failed]


def test_a_run_that_was_cut_short_meets_nothing(hot: tuple[Scenario, Run]) -> None:
    read, run = hot
    half = dataclasses.replace(run, usage=run.usage[:240], is_cut=True)
    given = verdicts(read, "AvgShedder", "AvgShedder", [measure(trajectory(half))])

    assert [one.found for one in given] == ["a run cut short at minute 20"] * 3
    assert [one.is_met for one in given] == [False] * 3
