"""Rows of runs → tables of measures that doing nothing does not win."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tools.catalogue import table

Row: TypeAlias = Mapping[str, Any]

#: Minutes within which a cluster should be balanced.
_SOON_MIN = 15.0
# Points of a change below which its relative error says nothing; least percent of a level.
_CHANGE_MIN, _LEVEL_MIN = 1.0, 5.0
# Quantile of a normal deviation within which four of five lie.
_FOUR_OF_FIVE = 1.2816

HEADS = (
    "strategy",
    "runs",
    "time to balance, min: median",
    "p90",
    "never",
    f"within {_SOON_MIN:g}",
    "time out of balance, min",
    "unloads a run",
    "over the exact minimum, balanced runs only",
    "wasted / wrong of 100",
    "change predicted: median error",
    "of four in five",
)


def summary(rows: Sequence[Row]) -> str:
    """Return a line a strategy over all scenarios."""
    return table(HEADS, (_line(name, own) for name, own in _by(rows, "strategy").items()))


def by_scenario(rows: Sequence[Row]) -> str:
    """Return the median time to balance, the worst, and the unloads, of each scenario."""
    strategies = tuple(_by(rows, "strategy"))
    lines = []
    for scenario, own in sorted(_by(rows, "scenario").items()):
        of = _by(own, "strategy")
        lines.append((scenario, *(_cell(of.get(name, ())) for name in strategies)))
    return table(("scenario", *strategies), lines)


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, the higher of two neighbours, so that infinite ones stay infinite."""
    return float(np.quantile(np.array(values), share, method="higher"))


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    times = [row["time_to_balance_min"] for row in rows]
    unloads = float(np.mean([row["unloads"] for row in rows]))
    return f"{_minutes(quantile(times, 0.5))}, worst {_minutes(max(times))}; {unloads:.1f}"


def _line(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    times = [row["time_to_balance_min"] for row in rows]
    unloads = sum(row["unloads"] for row in rows)
    wasted, wrong = (sum(row[key] for row in rows) for key in ("wasted", "wrong_direction"))
    held = [row for row in rows if row["fewest"]]
    over = sum(row["unloads"] for row in held) / max(1.0, sum(row["fewest"] for row in held))
    error, covered = accuracy(rows)
    return (
        name,
        str(len(rows)),
        _minutes(quantile(times, 0.5)),
        _minutes(quantile(times, 0.9)),
        _share(sum(math.isinf(each) for each in times), len(times)),
        _share(sum(each <= _SOON_MIN for each in times), len(times)),
        f"{np.mean([row['above_min'] for row in rows]):.1f}",
        f"{unloads / len(rows):.1f}",
        f"{over:.2f} ({len(held)})" if held else "none",
        f"{100 * wasted / unloads:.1f} / {100 * wrong / unloads:.1f}" if unloads else "none",
        "" if math.isnan(error) else f"{error:.0f} %",
        "" if math.isnan(covered) else f"{covered:.0f} %",
    )


def accuracy(rows: Iterable[Row]) -> tuple[float, float]:
    """Return the median error of predicted changes, and how often 80 % intervals hold; percent."""
    all_ = [each for row in rows for each in row["predicted"]]
    if not all_:
        return math.nan, math.nan
    said = np.array(all_)
    change, true = said[:, 3] - said[:, 2], said[:, 7] - said[:, 6]
    large = np.abs(true) > _CHANGE_MIN
    error = 100 * np.abs(change - true)[large] / np.abs(true)[large]
    covered = np.abs(change - true) <= _FOUR_OF_FIVE * np.sqrt(said[:, 4] ** 2 + 0.25)
    return float(np.median(error)), float(100 * covered.mean())


def _minutes(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f}"


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %"


def _by(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    groups = dict[str, list[Row]]()
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups
