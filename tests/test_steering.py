"""trimtab's own strategies: their names, their memory, and the laboratory that runs them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.simulated_worlds import bundles, machines
from tests.steered_cluster import Steered
from trimtab.lab.frontier import moved, question
from trimtab.lab.frontier.band import banded
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.oracle import Oracle
from trimtab.lab.simulate.parameters import Clients, Parameters, Physics
from trimtab.lab.simulate.run import at_end, passing, simulated
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Event, Kind, Run, World
from trimtab.lab.steering import STRATEGIES, Sight, StrategyError, named

EVEN = {
    "b1": {"a": 12.0, "b": 10.0, "c": 8.0, "d": 10.0},
    "b2": {"e": 11.0, "f": 9.0, "g": 10.0, "h": 10.0},
    "b3": {"i": 10.0, "j": 10.0, "k": 12.0, "l": 8.0},
}


def uneven_world(minutes: float, events: tuple[Event, ...] = ()) -> World:
    """Make four brokers, of which the first has most of the load."""
    owner = np.repeat(np.arange(4), 6)
    rate = np.where(owner == 0, 9000.0, 3000.0) * (1.0 + 0.1 * (np.arange(24) % 6))
    return World(
        machines=machines(4, cores=np.full(4, 16.0)),
        bundles=bundles(owner, rate, cost=np.full(24, 1.3)),
        changes=(),
        events=events,
        duration_s=60.0 * minutes,
        event_s=60.0,
        seed=4,
    )


def run_of(strategy: str, world: World) -> Run:
    return simulated(world, Balancer(strategy, strategy, "4.0.8"), Parameters(Physics()))


# ------------------------------------------------------------------ names


def test_a_name_has_its_sight_and_its_settings() -> None:
    plain, asked = named("Foresee"), named("Foresee@store/episodes=off/trigger=12.5/every_s=30")

    assert (plain.sight, plain.every_s, plain.settings.episodes) == (Sight.REPORTS, 20.0, True)
    assert (asked.sight, asked.every_s) == (Sight.STORE, 30.0)
    assert (asked.settings.episodes, asked.settings.trigger) == (False, 12.5)
    assert named("Foresee@polled").settings.windows == 13
    assert named("Foresee@polled/windows=9").settings.windows == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Foreseen", "one of Foresee, BusiestShare"),
        ("Foresee@near", "one of store, reports, polled behind @"),
        ("Foresee/trigger=x", "trigger= with a number of 0 or more"),
        ("Foresee/trigger=-1", "trigger= with a number of 0 or more"),
        ("Foresee/every_s=0", "every_s= with a number of 0 or more"),
        ("Foresee/episodes=1", "episodes=on or episodes=off"),
    ],
)
def test_a_name_that_is_none_says_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(StrategyError, match="found") as error:
        named(text)
    assert error.value.expected == expected


def test_what_another_sheds_is_placed_by_pulsars() -> None:
    with pytest.raises(StrategyError, match="a placer of Pulsar's"):
        simulated(uneven_world(2), Balancer("AvgShedder", "Foresee", "4.0.8"), Parameters())


# ------------------------------------------------------------------ purity


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_step_changes_nothing_that_it_was_given(name: str) -> None:
    of = Steered(name, EVEN)
    for _ in range(4):
        of.step()
    of.rate[:3] *= 2.0
    memory, view = of.memory, of._view()
    before = repr(memory)

    first = of.named.entry.step(view, memory, of.named.settings)
    second = of.named.entry.step(view, memory, of.named.settings)

    assert repr(memory) == before
    assert repr(first) == repr(second)


# ------------------------------------------------------------------ what reports say


def test_a_window_that_two_reports_tell_of_is_taken_into_account_once() -> None:
    of = Steered("Foresee", EVEN)
    for _ in range(6):
        of.step()
    of.others[0] = 30.0
    of.step()
    assert of.memory.known.brokers.doubts[0] == 1

    of.others[0] = 0.0
    late, later = (_again(of, seconds) for seconds in (20.0, 60.0))

    # Twenty seconds later it is the same window of the host, and a minute later another.
    assert late.known.brokers.doubts[0] == 1
    assert later.known.brokers.doubts[0] == 2


def _again(of: Steered, seconds: float) -> Any:  # the memory of any strategy
    """Return what is remembered when the first broker says the same again."""
    view = of._view()
    look = view.look
    time_s = of.time_s + seconds
    cpu = look.cpu.copy()
    cpu[0] = of.memory.newest[0]
    look = dataclasses.replace(look, time_s=time_s, written_s=look.written_s + seconds, cpu=cpu)
    step = of.named.entry.step
    return step(dataclasses.replace(view, look=look), of.memory, of.named.settings)[1]


# ------------------------------------------------------------------ the laboratory


def test_foresee_balances_what_is_uneven_and_then_rests() -> None:
    run = run_of("Foresee", uneven_world(30))

    usage = run.usage[-60:].mean(axis=0)
    assert np.ptp(run.usage[:12].mean(axis=0)) > 20
    assert np.ptp(usage) < 12
    assert 1 <= run.moves.time_s.size <= 8
    assert len(run.rounds.reason) == run.rounds.time_s.size
    assert all(run.rounds.reason)
    changes = np.array([(p.after - p.before, p.true_after - p.true_before) for p in run.predicted])
    assert np.abs(changes[:, 0] - changes[:, 1]).max() < 6


def test_the_same_run_gives_the_same_bytes() -> None:
    first, second = (run_of("Foresee@polled", uneven_world(12)) for _ in range(2))

    assert first.usage.tobytes() == second.usage.tobytes()
    assert first.rounds.reason == second.rounds.reason


def test_a_new_leader_takes_over_the_memory() -> None:
    lead = Event(60.0 * 4.1, Kind.LEADER)
    alone, after = (run_of("Foresee", uneven_world(12, events)) for events in ((), (lead,)))

    assert after.counts["elections"] == alone.counts["elections"] + 1
    # Whoever forgets begins anew, and says so.
    assert "too little" in after.rounds.reason[0]
    late = [
        text
        for text, s in zip(after.rounds.reason, after.rounds.time_s, strict=True)
        if s > lead.time_s
    ]
    assert late and not any("too little" in text for text in late)


def test_a_strategy_has_a_schedule_of_its_own() -> None:
    gaps = np.diff(run_of("Foresee@polled/every_s=25", uneven_world(5)).rounds.time_s)

    assert np.allclose(gaps[gaps < 26], 25.0, atol=0.5)
    assert gaps.size > 9


def test_it_places_what_a_leaving_broker_leaves() -> None:
    run = run_of("Foresee", uneven_world(14, (Event(600.0, Kind.LEAVE, (3,)),)))

    placed = run.moves.round < 0
    before = run.moves.time_s[~placed & (run.moves.target == 3)]
    assert placed.sum() == 6 + np.count_nonzero(before < 600.0)
    assert set(run.moves.target[placed]) <= {0, 1, 2}
    left = run.usage[-24:, :3].mean(axis=0)
    assert np.ptp(left) < 15


def test_the_placement_can_stay_with_pulsar() -> None:
    balancer = Balancer("Foresee", "LeastLongTermMessageRate", "4.0.8")
    parameters = Parameters(Physics(), clients=Clients(astray_share=1.0))
    run = simulated(uneven_world(10), balancer, parameters)

    assert run.counts.get("unloads gone astray", 0) + run.counts.get("unloads that came back", 0)


def test_the_oracle_needs_no_reports() -> None:
    world = dataclasses.replace(uneven_world(6), event_s=60.0)
    simulation = Simulation(
        world, Balancer(None, "LeastLongTermMessageRate", "4.0.8"), Parameters()
    )
    simulation.steering = Oracle(simulation)
    run = at_end(passing(simulation))

    assert run.moves.time_s.min() < 120
    assert np.ptp(run.usage[-12:].mean(axis=0)) < 13


# ------------------------------------------------------------------ the planner


@pytest.mark.parametrize("seed", range(30))
def test_moves_into_a_band_are_few_and_allowed(seed: int) -> None:
    random = np.random.default_rng([seed, 19])
    n, m = int(random.integers(2, 8)), int(random.integers(0, 60))
    cost = random.lognormal(0.0, 1.0, (m, 2))
    owner = random.integers(-1, n, m)
    speed = random.uniform(0.5, 2.0, (n, 2))
    carried = np.stack(
        [np.bincount(owner[owner >= 0], cost[owner >= 0, i], n) for i in (0, 1)], axis=1
    )
    asked = question(random.uniform(0, 10, (n, 2)) + speed * carried, speed, cost, owner)
    mean = float(asked.usage.max(axis=1).mean())
    found = banded(asked, (mean, mean), (6.0, 10.0))

    after = moved(asked, found.moves).max(axis=1)
    low, high = found.edges.outer_low, found.edges.outer_high
    outside = np.maximum(after - high, 0) + np.maximum(low - after, 0)
    assert np.unique(found.moves.bundle).size == found.moves.bundle.size
    assert (owner[found.moves.bundle] >= 0).all()
    assert (owner[found.moves.bundle] != found.moves.to).all()
    assert found.after == pytest.approx(outside.sum(), abs=1e-6)
    assert found.after <= found.before + 1e-6
    if found.before == 0:
        assert found.moves.bundle.size == 0
