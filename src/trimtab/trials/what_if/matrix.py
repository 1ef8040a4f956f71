"""Rows of a sweep over one recording → every strategy beside the real one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.lab.outcomes.intervals import Interval, summary
from trimtab.trials.compare.comparison import (
    beside,
    difference_document,
    estimate,
    interval_document,
    number,
    strategy_document,
)
from trimtab.trials.sweep.task import Row, Status, StrategyKey
from trimtab.trials.what_if.measures import MATRIX_MEASURES

#: The two measures of the picture: what balance costs, and how good it is.
COST = "unloads_a_day"
GAIN = "p95_spread_points"


def matrix(rows: Sequence[Row], strategies: Sequence[StrategyKey]) -> list[dict[str, Any]]:
    """Return the runs of each strategy, summed up and held against the real one's.

    Args:
        rows: outcomes of the sweep, with the numbers of `MATRIX_MEASURES`.
        strategies: the real one first.

    Returns:
        The real one, and behind it the others from the smallest spread on; a number that
        could not be taken is None.  `median` goes from the 10th to the 90th percentile of
        the seeds, `difference` is that of the same seed, with a bootstrap interval of its
        median.  `alike` lists the settings under which the same strategy did the same on
        every seed, which then has no row of its own.

    Properties:
        The order of the rows decides nothing.
    """
    of = {
        key: {row["seed"]: row for row in rows if StrategyKey.of(row) == key} for key in strategies
    }
    before = of[strategies[0]]
    alike = _alike(of)
    documents = [
        strategy_document(key, of[key], before, _measures)
        | {"alike": [json.loads(each[3]) for each in same]}
        for key, same in alike.items()
    ]
    listed = beside(documents, COST, GAIN)
    return [listed[0], *sorted(listed[1:], key=_by_spread)]


def _alike(
    of: Mapping[StrategyKey, Mapping[int, Row]],
) -> dict[StrategyKey, list[StrategyKey]]:
    """Return by strategy the settings under which all was the same as under it."""
    alike: dict[StrategyKey, list[StrategyKey]] = {}
    for key, runs in of.items():
        same = (first for first in alike if first[:3] == key[:3] and _are_equal(of[first], runs))
        first = next(same, None)
        if first is None:
            alike[key] = []
        else:
            alike[first].append(key)
    return alike


def _are_equal(one: Mapping[int, Row], other: Mapping[int, Row]) -> bool:
    """Return whether runs came to the same on every seed; such as failed never did."""
    if not one or one.keys() != other.keys():
        return False
    is_fine = all(row["status"] == Status.OK for runs in (one, other) for row in runs.values())
    # Text makes two numbers that are not known equal.
    return is_fine and all(repr(_numbers(one[seed])) == repr(_numbers(other[seed])) for seed in one)


def _numbers(row: Row) -> list[float]:
    return [_number(row, name) for name in MATRIX_MEASURES]


def _by_spread(strategy: Mapping[str, Any]) -> tuple[float, float]:
    spread, cost = estimate(strategy, GAIN), estimate(strategy, COST)
    return (math.inf if math.isnan(spread) else spread, cost)


def _measures(runs: Sequence[Row], before: Sequence[Row], after: Sequence[Row]) -> dict[str, Any]:
    return {
        name: _measure(*([_number(row, name) for row in rows] for rows in (runs, before, after)))
        for name in MATRIX_MEASURES
    }


def _measure(
    values: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> dict[str, Any]:
    """Return one measure; `before` and `after` are the real strategy's and ours, seed by seed."""
    values_summary = summary(values)
    median = Interval(
        values_summary.median, values_summary.p10, values_summary.p90, values_summary.count
    )
    return {
        "median": interval_document(median, _finite),
        "difference": difference_document(before, after, _finite),
    }


def _number(row: Row, name: str) -> float:
    return number(dict(row["numbers"] or ()).get(name))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
