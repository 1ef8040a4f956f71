"""Clusters in which little or nothing is to be done → figures beside their bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.catalogue import table
from tools.judge.table import Row

_SCENARIOS = Path(__file__).parent / "scenarios"
BURSTS, LEADER_LOST = (str(_SCENARIOS / f"{name}.toml") for name in ("bursts", "leader-lost"))
#: What stands in the table.
STRATEGIES = ("AvgShedder", "BusiestShare", "Foresee", "Foresee@polled")
# Brokers that S07 restarts, and the scenario that LEADER_LOST is without the loss.
_RESTARTED = 10
_NOT_LOST = "S10"


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure of a scenario, and what it should not exceed."""

    scenario: str
    what: str
    figure: Callable[[Row], float]
    at_most: float


def _an_hour(row: Row) -> float:
    return float(row["unloads"] / row["hours"])


BARS = (
    Bar("S04", "S04, consumers that stop and catch up: unloads an hour", _an_hour, 0.2),
    Bar("S13", "S13, bursts up to two minutes: unloads an hour", _an_hour, 0.2),
    Bar(BURSTS, "bursts of one to four minutes: unloads an hour", _an_hour, 1.0),
    Bar(
        "S07",
        "S07, rolling restart: unloads a restarted broker",
        lambda row: float(row["unloads"] / _RESTARTED),
        1.0,
    ),
    Bar("S17", "S17, a giant that no move helps: unloads", lambda row: float(row["unloads"]), 5.0),
    Bar(
        "S02c",
        "S02c: over-placements and over-unloadings",
        lambda row: float(row["over_placements"] + row["over_unloadings"]),
        0.0,
    ),
)
_LEADER = "leader lost in the middle of a plan: minutes later than S10 without"
_LEADER_BAR = 1.0

#: All that have to be run.
SCENARIOS = (*(each.scenario for each in BARS), _NOT_LOST, LEADER_LOST)


def bars(rows: Sequence[Row]) -> str:
    """Return a line a bar: the mean over seeds of each strategy, and the worst."""
    strategies = tuple(dict.fromkeys(row["strategy"] for row in rows))
    lines = [
        (bar.what, f"{bar.at_most:g}", *(_cell(_figures(rows, bar, name)) for name in strategies))
        for bar in BARS
    ]
    late = (_cell(_late(rows, name)) for name in strategies)
    lines.append((_LEADER, f"{_LEADER_BAR:g}", *late))
    return table(("what", "bar", *strategies), lines)


def _figures(rows: Sequence[Row], bar: Bar, strategy: str) -> list[float]:
    return [
        bar.figure(row)
        for row in rows
        if row["strategy"] == strategy and row["scenario"] == bar.scenario
    ]


def _late(rows: Sequence[Row], strategy: str) -> list[float]:
    """Return by how many minutes balance is later in each seed; infinite if it never is."""
    lost, kept = (_times(rows, strategy, scenario) for scenario in (LEADER_LOST, _NOT_LOST))
    both = [seed for seed in lost if math.isfinite(kept.get(seed, math.inf))]
    return [lost[seed] - kept[seed] for seed in both]


def _times(rows: Sequence[Row], strategy: str, scenario: str) -> Mapping[int, float]:
    return {
        row["seed"]: row["time_to_balance_min"]
        for row in rows
        if row["strategy"] == strategy and row["scenario"] == scenario
    }


def _cell(figures: Sequence[float]) -> str:
    if not figures:
        return "none to compare"
    mean, worst = float(np.mean(figures)), max(figures)
    return "never" if math.isinf(mean) else f"{mean:.1f}, worst {worst:.1f}"
