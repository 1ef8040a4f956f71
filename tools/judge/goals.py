"""Rows of runs → each measure beside what it should not exceed, by what the strategy sees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tools.catalogue import table
from tools.judge.table import Row, quantile

#: Minutes within which 95 of 100 runs should be balanced, on reports that no gate holds back.
_SOON_MIN, _SOON_SHARE = 15.0, 95.0


@dataclass(frozen=True, slots=True)
class Goal:
    """Minutes to balance: the median and nine of ten runs."""

    median_min: float
    p90_min: float


#: Strategy → its goal.
GOALS: Mapping[str, Goal] = {
    "Foresee": Goal(5.5, 12.0),
    "Foresee@store%2": Goal(6.5, 20.0),
    "Foresee@store": Goal(9.0, 35.0),
    "Foresee@polled": Goal(4.0, 8.0),
}
#: Of all of them: unloads over the exact minimum, wasted and wrong of 100, and runs that are
#: never balanced, percent.
_OVER_MINIMUM, _WASTED, _WRONG, _NEVER = 1.7, 1.5, 2.0, 0.0


def goals(rows: Sequence[Row], factor: float) -> str:
    """Return a line a strategy and measure: the figure, so many times the bar, and if it holds."""
    lines = []
    for name, goal in GOALS.items():
        own = [row for row in rows if row["strategy"] == name]
        if own:
            lines += [(name, *line) for line in _lines(own, goal, factor)]
    heads = "strategy", "measure", "figure", _bar_head(factor), "holds"
    return table(heads, lines)


def _bar_head(factor: float) -> str:
    return "bar" if factor == 1.0 else f"{factor:g} times its bar"


def _lines(rows: Sequence[Row], goal: Goal, factor: float) -> list[tuple[str, str, str, str]]:
    times = [row["time_to_balance_min"] for row in rows]
    unloads = max(1, sum(row["unloads"] for row in rows))
    exact = [row for row in rows if row["fewest"]]
    over = (
        sum(row["unloads"] for row in exact) / sum(row["fewest"] for row in exact)
        if exact
        else math.nan
    )
    never = 100 * sum(map(math.isinf, times)) / len(times)
    figures = [
        ("time to balance, min: median", quantile(times, 0.5), factor * goal.median_min),
        ("time to balance, min: p90", quantile(times, 0.9), factor * goal.p90_min),
        ("never balanced, %", never, _NEVER),
        ("unloads over the exact minimum", over, factor * _OVER_MINIMUM),
        ("wasted of 100", 100 * sum(r["wasted"] for r in rows) / unloads, factor * _WASTED),
        ("wrong of 100", 100 * sum(r["wrong_direction"] for r in rows) / unloads, factor * _WRONG),
        ("worst run's unloads, in medians of its scenario", _worst(rows), 3.0 * factor),
    ]
    if goal is GOALS["Foresee"]:
        late = 100 * float(np.mean([each > _SOON_MIN for each in times]))
        most = factor * (100.0 - _SOON_SHARE)
        figures.append((f"later than {_SOON_MIN:g} min, %", late, most))
    return [(what, _shown(is_), _shown(bar), _holds(is_, bar)) for what, is_, bar in figures]


def _worst(rows: Sequence[Row]) -> float:
    """Return the most unloads of a run, in medians of its scenario; at least one is a median."""
    worst = 0.0
    for scenario in {row["scenario"] for row in rows}:
        unloads = [row["unloads"] for row in rows if row["scenario"] == scenario]
        worst = max(worst, max(unloads) / max(1.0, float(np.median(unloads))))
    return worst


def _shown(value: float) -> str:
    return "never" if math.isinf(value) else "none" if math.isnan(value) else f"{value:.3g}"


def _holds(value: float, bar: float) -> str:
    return "" if math.isnan(value) else "yes" if value <= bar + 1e-9 else "no"
