"""Where little or nothing is to be done: figures beside their bars."""

from __future__ import annotations

import math
from typing import Any

from tools.judge.steady import BARS, BURSTS, LEADER_LOST, SCENARIOS, bars
from trimtab.lab.scenarios import scenario_of


def row(scenario: str, seed: int, **values: Any) -> dict[str, Any]:
    figures = {
        "unloads": 0.0,
        "hours": 2.0,
        "over_placements": 0.0,
        "over_unloadings": 0.0,
        "time_to_balance_min": 5.0,
    }
    return {"scenario": scenario, "strategy": "Foresee", "seed": seed, **figures, **values}


def line(text: str, begins: str) -> str:
    (found,) = (each for each in text.splitlines() if each.startswith(f"| {begins}"))
    return found


def test_every_scenario_can_be_read() -> None:
    for name in SCENARIOS:
        scenario_of(name)


def test_bursts_last_for_one_to_four_minutes() -> None:
    (_, event), *_ = scenario_of(BURSTS).events

    assert event.lasting_min == (1, 4)  # type: ignore[union-attr]  # of bursts


def test_a_figure_is_the_mean_over_seeds_and_the_worst() -> None:
    text = bars([row("S13", 1, unloads=4.0), row("S13", 2)])

    assert line(text, "S13").endswith("| 0.2 | 1.0, worst 2.0 |")
    assert len(text.splitlines()) == 2 + len(BARS) + 1


def test_a_lost_leader_is_held_against_the_same_seed() -> None:
    rows = [
        row("S10", 1, time_to_balance_min=10.0),
        row(LEADER_LOST, 1, time_to_balance_min=12.0),
        row("S10", 2, time_to_balance_min=math.inf),
        row(LEADER_LOST, 2, time_to_balance_min=9.0),
        row("S10", 3, time_to_balance_min=11.0),
    ]

    assert line(bars(rows), "leader lost").endswith("| 1 | 2.0, worst 2.0 |")


def test_balance_that_never_comes_is_never() -> None:
    rows = [row("S10", 1), row(LEADER_LOST, 1, time_to_balance_min=math.inf)]

    assert line(bars(rows), "leader lost").endswith("| 1 | never |")
