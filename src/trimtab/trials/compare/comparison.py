"""Outcomes of many runs → each strategy beside the others, with how sure one may be of it.

Strategies of one scenario have met the same luck, seed by seed, so what is compared is the
difference on each seed.  No strategy is named the best: a frontier is, on which nobody has
fewer unloads without being balanced later.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from trimtab.lab.outcomes import MEASURES
from trimtab.lab.outcomes.intervals import interval, paired
from trimtab.trials.sweep.task import (
    Row,
    Spelt,
    Status,
    StrategyKey,
    failures,
    json_number,
    plain_numbers,
)

#: A strategy's runs, and on the seeds that both have, the baseline's and ours → its measures.
Measures: TypeAlias = Callable[[Sequence[Row], Sequence[Row], Sequence[Row]], dict[str, Any]]

#: The two measures of the picture: what balance costs, and when it is there.
COST = "unloads"
GAIN = "time_to_balance_min"

#: Share of such intervals that hold the truth.
CONFIDENCE = 0.95


def comparison(
    rows: Sequence[Row], strategies: Sequence[StrategyKey], questions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the comparison of strategies on each scenario, by its name and what it asks.

    Of each scenario, the first strategy that it has is the baseline.

    Returns:
        What is shown, made of what JSON has: a number that is infinite is the text
        "Infinity", and one that could not be taken is null.

    Properties:
        The order of the rows decides nothing.
    """
    scenarios = [
        _scenario(name, question, [row for row in rows if row["scenario"] == name], strategies)
        for name, question in questions.items()
    ]
    return {
        "confidence": CONFIDENCE,
        "seeds": sorted({row["seed"] for row in rows}),
        "measures": [
            {
                "name": name,
                "title": measure.title,
                "unit": measure.unit,
                "meaning": (inspect.getdoc(measure.take) or "").partition("\n")[0],
            }
            for name, measure in MEASURES.items()
        ],
        "scenarios": scenarios,
    }


def frontier(points: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Return of which points no other is smaller in one number and not larger in the other.

    NaN stands on no frontier.

    Properties:
        Where one number of all points is known, somebody is on it.
        A point that is added takes others off it, or none; it puts none on it.
    """
    known = [point for point in points if not any(map(math.isnan, point))]
    return tuple(
        point in known
        and not any(
            other[0] <= point[0] and other[1] <= point[1] and other != point for other in known
        )
        for point in points
    )


def strategy_document(
    key: StrategyKey, runs: Mapping[int, Row], baseline: Mapping[int, Row], measures: Measures
) -> dict[str, Any]:
    """Return one strategy's runs, summed up, and on seeds that both have the difference."""
    fine = {seed: row for seed, row in sorted(runs.items()) if row["status"] == Status.OK}
    shared = [seed for seed in fine if seed in baseline and baseline[seed]["status"] == Status.OK]
    return {
        "label": key.label,
        "shedder": key.shedder,
        "placement": key.placement,
        "release": key.release,
        "settings": json.loads(key.settings),
        "runs": len(fine),
        "failures": failures(row for _, row in sorted(runs.items())),
        "measures": measures(
            list(fine.values()),
            [baseline[seed] for seed in shared],
            [fine[seed] for seed in shared],
        ),
    }


def beside(documents: Sequence[dict[str, Any]], cost: str, gain: str) -> list[dict[str, Any]]:
    """Return strategies with who is the baseline, the first, and who on the frontier."""
    points = [(estimate(each, cost), estimate(each, gain)) for each in documents]
    return [
        {**each, "is_baseline": place == 0, "is_on_frontier": is_on}
        for place, (each, is_on) in enumerate(zip(documents, frontier(points), strict=True))
    ]


def difference_document(
    before: Sequence[float], after: Sequence[float], spelt: Spelt = json_number
) -> dict[str, Any]:
    """Return the difference of the baseline's values and ours, seed by seed, as JSON has it."""
    difference = paired(before, after, confidence=CONFIDENCE)
    return {
        "median": plain_numbers(difference.median, spelt),
        "smaller": difference.smaller,
        "equal": difference.equal,
        "larger": difference.larger,
    }


def estimate(strategy: Mapping[str, Any], measure: str) -> float:
    """Return the median of a measure in a strategy's document; NaN if it is not known."""
    return number(strategy["measures"][measure]["median"]["estimate"])


def number(value: Any) -> float:  # noqa: ANN401  # a cell of a table may be null
    """Return what a cell holds, NaN where it is null."""
    return math.nan if value is None else float(value)


def _scenario(
    name: str, question: str, rows: Sequence[Row], strategies: Sequence[StrategyKey]
) -> dict[str, Any]:
    """Return the comparison of one scenario's strategies."""
    there = {StrategyKey.of(row) for row in rows}
    of_strategy = {
        key: {row["seed"]: row for row in rows if StrategyKey.of(row) == key}
        for key in strategies
        if key in there
    }
    baseline = next(iter(of_strategy.values()), {})
    documents = [
        strategy_document(key, runs, baseline, _measures) for key, runs in of_strategy.items()
    ]
    return {"name": name, "question": question, "strategies": beside(documents, COST, GAIN)}


def _measures(runs: Sequence[Row], before: Sequence[Row], after: Sequence[Row]) -> dict[str, Any]:
    """Return each measure, summed up; of the baseline's runs and ours, seed by seed, as well."""
    measures = {}
    for name in MEASURES:
        values, was, is_ = ([number(row[name]) for row in rows] for rows in (runs, before, after))
        measures[name] = {
            "median": plain_numbers(interval(values, confidence=CONFIDENCE)),
            "never": sum(map(math.isinf, values)),
            "difference": difference_document(was, is_),
        }
    return measures
