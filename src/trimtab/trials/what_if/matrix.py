"""Rows of a sweep over one recording → every strategy beside the real one, and what to change."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trimtab.lab.outcomes.intervals import Interval, summary
from trimtab.trials.compare.comparison import (
    beside,
    difference_document,
    estimate,
    number,
    strategy_document,
)
from trimtab.trials.sweep.task import Row, Status, StrategyKey, plain_numbers
from trimtab.trials.what_if.replay import MATRIX_MEASURES

#: The two measures of the picture: what balance costs, and how good it is.
COST = "unloads_a_day"
GAIN = "p95_spread_points"
#: Changes that are advised at most.
_CHANGES_MAX = 5

_Strategy: TypeAlias = Mapping[str, Any]


def matrix(rows: Sequence[Row], strategies: Sequence[StrategyKey]) -> list[dict[str, Any]]:
    """Return the runs of each strategy, summed up and held against the real one's.

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
    return [listed[0], *sorted(listed[1:], key=_spread_and_cost)]


def changes(strategies: Sequence[_Strategy]) -> list[dict[str, Any]]:
    """Return what is worth changing.

    A strategy is, whose interval of the difference lies below 0 for the spread or for the
    unloads, and for neither of them above 0.  First comes what gains most of both, as a
    share of what was.  Of those that came to the same, the one with the fewest keys is taken.

    Properties:
        At most five; none where the real strategy is as good as any.
    """
    real, *others = strategies
    worth = [each for each in others if _is_better(each)]
    worth.sort(key=lambda each: (_gain(each, real), len(dict(_keys(each, real)))))
    different: list[dict[str, Any]] = []
    for change in (_change(each, real) for each in worth):
        if all(change["effects"] != other["effects"] for other in different):
            different.append(change)
    return different[:_CHANGES_MAX]


def alternatives(strategies: Sequence[_Strategy]) -> int:
    """Return how many strategies and settings were run beside the real one."""
    return max(0, sum(1 + len(each["alike"]) for each in strategies) - 1)


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


def _spread_and_cost(strategy: _Strategy) -> tuple[float, float]:
    spread = estimate(strategy, GAIN)
    return math.inf if math.isnan(spread) else spread, estimate(strategy, COST)


def _measures(runs: Sequence[Row], before: Sequence[Row], after: Sequence[Row]) -> dict[str, Any]:
    """Return each measure; of the real strategy's runs and ours, seed by seed, as well."""
    measures = {}
    for name in MATRIX_MEASURES:
        values, was, is_ = ([_number(row, name) for row in rows] for rows in (runs, before, after))
        middle = summary(values)
        median = Interval(middle.median, middle.p10, middle.p90, middle.count)
        measures[name] = {
            "median": plain_numbers(median, _finite),
            "difference": difference_document(was, is_, _finite),
        }
    return measures


def _number(row: Row, name: str) -> float:
    return number(dict(row["numbers"] or ()).get(name))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is_better(strategy: _Strategy) -> bool:
    ends = [strategy["measures"][name]["difference"]["median"] for name in (GAIN, COST)]
    is_lower = any(end["high"] is not None and end["high"] < 0 for end in ends)
    is_higher = any(end["low"] is not None and end["low"] > 0 for end in ends)
    return is_lower and not is_higher


def _gain(strategy: _Strategy, real: _Strategy) -> float:
    """Return by which shares of what was the measures change; 0 where that is not known."""
    gain = 0.0
    for name in (GAIN, COST):
        change = strategy["measures"][name]["difference"]["median"]["estimate"]
        before = real["measures"][name]["median"]["estimate"]
        gain += change / before if change is not None and before else 0.0
    return gain


def _change(strategy: _Strategy, real: _Strategy) -> dict[str, Any]:
    return {
        "strategy": strategy["label"],
        "set": dict(_keys(strategy, real)),
        "effects": [
            {
                "measure": name,
                "title": measure.title,
                "unit": measure.unit,
                "now": real["measures"][name]["median"]["estimate"],
                "then": strategy["measures"][name]["median"]["estimate"],
                "difference": strategy["measures"][name]["difference"]["median"],
            }
            for name, measure in MATRIX_MEASURES.items()
        ],
    }


def _keys(strategy: _Strategy, real: _Strategy) -> Iterator[tuple[str, str]]:
    """Return what is to be written into broker.conf."""
    package = "org.apache.pulsar.broker.loadbalance.impl."
    if strategy["shedder"] == "none":
        yield "loadBalancerSheddingEnabled", "false"
    elif strategy["shedder"] != real["shedder"]:
        yield "loadBalancerLoadSheddingStrategy", package + strategy["shedder"]
        if real["shedder"] == "none":
            yield "loadBalancerSheddingEnabled", "true"
    if strategy["placement"] != real["placement"]:
        yield "loadBalancerLoadPlacementStrategy", package + strategy["placement"]
    yield from strategy["settings"].items()
