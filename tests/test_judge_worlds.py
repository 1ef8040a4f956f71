"""Worlds that nobody tuned on, acting under guards, and figures beside their bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.simulated_worlds import bundles, machines
from tools.judge.acting import GUARDS, Guarded, guards_of
from tools.judge.goals import goals
from tools.judge.runs import IMBALANCE
from tools.judge.worlds import FAMILY, unseen
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.parameters import Measuring, Parameters, Physics
from trimtab.lab.simulate.run import at_end, passing, simulated
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.steered import steering
from trimtab.lab.simulate.world import Event, Kind, Run, World
from trimtab.live.control.limits import Limits


def uneven_world(minutes: float, events: tuple[Event, ...] = (), count: int = 4) -> World:
    """Make brokers of which the first has most of the load."""
    owner = np.repeat(np.arange(count), 6)
    rate = np.where(owner == 0, 12000.0, 2500.0) * (1.0 + 0.1 * (np.arange(owner.size) % 6))
    return World(
        machines=machines(count, cores=np.full(count, 16.0)),
        bundles=bundles(owner, rate, cost=np.full(owner.size, 1.3)),
        changes=(),
        events=events,
        duration_s=60.0 * minutes,
        event_s=60.0,
        seed=4,
    )


def run_under(limits: Limits, world: World) -> Run:
    simulation = Simulation(world, Balancer("Foresee", "Foresee", "4.0.8"), Parameters())
    own = steering(simulation)
    assert own is not None
    simulation.steering = Guarded(own, limits)
    return at_end(passing(simulation))


# ------------------------------------------------------------------ worlds


def test_a_seed_draws_one_world_and_another_draws_another() -> None:
    scenario = scenario_of("S10")

    assert unseen(scenario, 7) == unseen(scenario, 7)
    assert unseen(scenario, 7).parameters != unseen(scenario, 8).parameters


@pytest.mark.parametrize("name", IMBALANCE)
def test_every_question_can_be_asked_in_such_a_world(name: str) -> None:
    scenario = scenario_of(name)
    for seed in range(5):
        strange = unseen(scenario, seed)
        physics, measuring = strange.parameters.physics, strange.parameters.measuring

        assert FAMILY.work_exponent[0] <= physics.work_exponent <= FAMILY.work_exponent[1]
        assert 0 <= measuring.reports_lost_share <= FAMILY.reports_lost[1]
        assert {each.spikes_per_hour for each in strange.machines} != {0.5}
        assert strange.events[: len(scenario.events)] == scenario.events
        assert (strange.run, strange.traffic, strange.start) == (
            scenario.run,
            scenario.traffic,
            scenario.start,
        )
    drawn(strange, 1)


def test_a_neighbour_is_on_a_host_of_two_brokers_and_goes_again() -> None:
    scenario = scenario_of("S10")
    events = [
        event
        for seed in range(8)
        for _, event in unseen(scenario, seed).events[len(scenario.events) :]
    ]

    assert events
    for event in events:
        first, second = event.brokers  # type: ignore[misc, union-attr]  # of backgrounds
        assert (first % 2, second) == (0, first + 1)
        assert event.at_min < event.until_min <= scenario.run.minutes  # type: ignore[union-attr, operator]  # of backgrounds


def test_a_broker_that_has_just_begun_is_slower_for_a_while() -> None:
    events = (
        Event(120.0, Kind.LEAVE, (1,)),
        Event(180.0, Kind.JOIN, (1,)),
        Event(200.0, Kind.UNLOAD, (18, 19, 20), 1.0),
    )
    world, nobody = uneven_world(30.0, events), Balancer(None, "LeastLongTermMessageRate", "4.0.8")
    usual = simulated(world, nobody, Parameters())
    slow = simulated(world, nobody, Parameters(Physics(warm_up_share=0.5)))
    early, late = slice(48, 54), slice(-24, None)

    assert (slow.usage[early, 1] > usual.usage[early, 1] + 1.0).all()
    np.testing.assert_allclose(slow.usage[late, 1], usual.usage[late, 1], atol=0.2)
    np.testing.assert_array_equal(slow.usage[late, 2], usual.usage[late, 2])


@pytest.mark.slow
def test_a_lost_report_is_seen_at_the_next_look() -> None:
    world = uneven_world(20.0)
    all_ = Parameters(), Parameters(measuring=Measuring(reports_lost_share=0.6))
    runs = [simulated(world, Balancer("Foresee", "Foresee", "4.0.8"), each) for each in all_]

    assert all(run.moves.time_s.size > 0 for run in runs)
    assert runs[0].rounds.reason != runs[1].rounds.reason


@pytest.mark.parametrize(
    ("values", "name"),
    [({"reports_lost_share": 1.0}, "reports_lost_share"), ({"scrape_noise": -0.1}, "scrape_noise")],
)
def test_shares_that_cannot_be_are_refused(values: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: found"):
        Measuring(**values)


def test_a_broker_cannot_lack_all_of_its_speed() -> None:
    with pytest.raises(ValueError, match=r"warm_up_share: found 1\.0, expected"):
        Physics(warm_up_share=1.0)


# ------------------------------------------------------------------ acting


def test_guards_stand_behind_a_name() -> None:
    assert guards_of("Foresee@polled+guards") == ("Foresee@polled", GUARDS["+guards"])
    assert guards_of("Foresee/trigger=12") == ("Foresee/trigger=12", None)


@pytest.mark.slow
def test_no_more_is_moved_than_the_limits_allow() -> None:
    limits = Limits(moves_per_round=1, moves_per_hour=2)
    free = run_under(Limits(moves_per_round=99), uneven_world(20.0))
    held = run_under(limits, uneven_world(20.0))

    assert free.moves.time_s.size > 2
    assert np.diff(free.moves.time_s).min() < 1.0
    assert held.moves.time_s.size == 2
    assert np.diff(held.moves.time_s).min() >= limits.round_s - 1.0


@pytest.mark.slow
def test_a_broker_takes_nothing_before_it_is_old_enough() -> None:
    events = (Event(60.0, Kind.LEAVE, (3,)), Event(1020.0, Kind.JOIN, (3,)))
    run = run_under(Limits(broker_age_min_s=400.0), uneven_world(30.0, events))
    to_it = run.moves.time_s[(run.moves.target == 3) & (run.moves.time_s > 1020.0)]

    assert to_it.size > 0
    assert to_it.min() >= 1420.0


# ------------------------------------------------------------------ bars


def row(minutes: float, **values: Any) -> dict[str, Any]:
    figures = {"unloads": 4.0, "wasted": 0.0, "wrong_direction": 0.0, "fewest": 4.0}
    of = {"scenario": "S10", "strategy": "Foresee", "seed": 1, "time_to_balance_min": minutes}
    return {**of, **figures, **values}


def line(text: str, measure: str) -> list[str]:
    (found,) = (each for each in text.splitlines() if f"| {measure} |" in each)
    return [cell.strip() for cell in found.split("|")[3:-1]]


def test_each_measure_stands_beside_its_bar() -> None:
    text = goals([row(5.0), row(6.0), row(20.0)], 1.0)

    assert line(text, "time to balance, min: median") == ["6", "5.5", "no"]
    assert line(text, "unloads over the exact minimum") == ["1", "1.7", "yes"]


def test_in_unseen_worlds_the_bar_is_half_as_high_again_but_for_never() -> None:
    text = goals([row(5.0), row(6.0), row(math.inf)], 1.5)

    assert "1.5 times its bar" in text
    assert line(text, "time to balance, min: median") == ["6", "8.25", "yes"]
    assert line(text, "time to balance, min: p90") == ["never", "18", "no"]
    assert line(text, "never balanced, %")[1:] == ["0", "no"]


def test_what_was_not_balanced_has_no_ratio() -> None:
    text = goals([row(math.inf, fewest=None)], 1.0)

    assert line(text, "unloads over the exact minimum") == ["none", "1.7", ""]
