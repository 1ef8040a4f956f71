"""Rows of a sweep over one recording → every strategy beside the real one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.comparison import CONFIDENCE, Row, StrategyKey, frontier, label, strategy_key
from trimtab.counterfactual.measures import SHOWN
from trimtab.intervals import paired, summary

#: The two measures of the picture: what balance costs, and how good it is.
COST = "unloads_a_day"
GAIN = "p95_spread_points"

_OK = "ok"


def matrix(rows: Sequence[Row], strategies: Sequence[StrategyKey]) -> list[dict[str, Any]]:
    """Sum up the runs of each strategy, and hold them against the real one's.

    Args:
        rows: outcomes of the sweep, with the numbers of `SHOWN`.
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
    of = {key: {row["seed"]: row for row in rows if strategy_key(row) == key} for key in strategies}
    before = of[strategies[0]]
    alike = _alike(of)
    shown = [
        _strategy(key, of[key], before) | {"alike": [json.loads(each[3]) for each in same]}
        for key, same in alike.items()
    ]
    points = [(_estimate(each, COST), _estimate(each, GAIN)) for each in shown]
    listed = [
        {**each, "is_baseline": place == 0, "is_on_frontier": is_on}
        for place, (each, is_on) in enumerate(zip(shown, frontier(points), strict=True))
    ]
    return [listed[0], *sorted(listed[1:], key=_by_spread)]


def _alike(
    of: Mapping[StrategyKey, Mapping[int, Row]],
) -> dict[StrategyKey, list[StrategyKey]]:
    """Put settings that made no difference behind the first under which all was the same."""
    found: dict[StrategyKey, list[StrategyKey]] = {}
    for key, runs in of.items():
        same = (first for first in found if first[:3] == key[:3] and _are_equal(of[first], runs))
        first = next(same, None)
        if first is None:
            found[key] = []
        else:
            found[first].append(key)
    return found


def _are_equal(one: Mapping[int, Row], other: Mapping[int, Row]) -> bool:
    """Say whether runs came to the same on every seed; such as failed never did."""
    if not one or one.keys() != other.keys():
        return False
    is_fine = all(row["status"] == _OK for runs in (one, other) for row in runs.values())
    # Text makes two numbers that are not known equal.
    return is_fine and all(repr(_numbers(one[seed])) == repr(_numbers(other[seed])) for seed in one)


def _numbers(row: Row) -> list[float]:
    return [_number(row, name) for name in SHOWN]


def _by_spread(strategy: Mapping[str, Any]) -> tuple[float, float]:
    spread, cost = _estimate(strategy, GAIN), _estimate(strategy, COST)
    return (math.inf if math.isnan(spread) else spread, cost)


def _strategy(
    key: StrategyKey, runs: Mapping[int, Row], before: Mapping[int, Row]
) -> dict[str, Any]:
    fine = {seed: row for seed, row in sorted(runs.items()) if row["status"] == _OK}
    shared = [seed for seed in fine if seed in before and before[seed]["status"] == _OK]
    shedder, placement, release, settings = key
    return {
        "label": label(key),
        "shedder": shedder,
        "placement": placement,
        "release": release,
        "settings": json.loads(settings),
        "runs": len(fine),
        "failures": [
            {"seed": seed, "status": row["status"], "error": row["error"]}
            for seed, row in sorted(runs.items())
            if row["status"] != _OK
        ],
        "measures": {
            name: _measure(
                [_number(row, name) for row in fine.values()],
                [_number(before[seed], name) for seed in shared],
                [_number(fine[seed], name) for seed in shared],
            )
            for name in SHOWN
        },
    }


def _measure(
    values: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> dict[str, Any]:
    """Sum up one measure; `before` and `after` are the real strategy's and ours, by seed."""
    found, beside = summary(values), paired(before, after, confidence=CONFIDENCE)
    middle = beside.median
    return {
        "median": {
            "estimate": _known(found.median),
            "low": _known(found.p10),
            "high": _known(found.p90),
            "count": found.count,
        },
        "difference": {
            "median": {
                "estimate": _known(middle.estimate),
                "low": _known(middle.low),
                "high": _known(middle.high),
                "count": middle.count,
            },
            "smaller": beside.smaller,
            "equal": beside.equal,
            "larger": beside.larger,
        },
    }


def _number(row: Row, name: str) -> float:
    value = dict(row["numbers"] or ()).get(name)
    return math.nan if value is None else float(value)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _estimate(strategy: Mapping[str, Any], measure: str) -> float:
    value = strategy["measures"][measure]["median"]["estimate"]
    return math.nan if value is None else float(value)
