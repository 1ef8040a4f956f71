"""Rows of a rehearsal → how often the bar holds, the courses, and who is worst off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.lab.outcomes.intervals import summary
from trimtab.lab.rehearsal.measures import Bar, by_name
from trimtab.trials.rehearse.verdict import Holding
from trimtab.trials.sweep.task import Row, Status, failures, plain_numbers

UNDISTURBED, PLANNED = "undisturbed", "as planned"
#: Names that are listed at most of those who are worst off.
_WORST_MAX = 5

#: What is said of every course: name → title and unit.
MEASURES: Mapping[str, tuple[str, str]] = {
    "peak_percent": ("highest usage of a broker over a minute", "%"),
    "over_min": ("minutes with a broker over the bar", "min"),
    "topics": ("topics disconnected", ""),
    "ownerless_s": ("longest time of a bundle without an owner", "s"),
    "moves": ("changes of owners", ""),
}


def main_document(rows: Sequence[Row], bar: Bar) -> dict[str, Any]:
    """Return the verdict, both courses beside each other and who is worst off.

    A run that failed keeps to no bar.
    """
    of = {name: course_document(rows, name, bar) for name in (UNDISTURBED, PLANNED)}
    seeds = holding(rows, PLANNED, bar)
    return {
        "verdict": seeds.verdict.value,
        "seeds_to_decide": seeds.seeds_to_decide,
        "courses": {name: {**each, "course": _course(rows, name)} for name, each in of.items()},
        "measures": [
            {"name": name, "title": title, "unit": unit} for name, (title, unit) in MEASURES.items()
        ],
        "worst_brokers": _worst_brokers(rows, bar),
        "worst_namespaces": _worst_namespaces(rows),
    }


def holding(rows: Sequence[Row], name: str, bar: Bar) -> Holding:
    """Return on how many seeds a course keeps to the bar."""
    runs = [row for row in rows if row["scenario"] == name]
    return Holding(sum(_holds(row, bar) for row in runs), len(runs))


def course_document(rows: Sequence[Row], name: str, bar: Bar) -> dict[str, Any]:
    """Return how often a course keeps to the bar, and what came of it over the seeds."""
    runs = [row for row in rows if row["scenario"] == name]
    seeds = holding(rows, name, bar)
    return {
        "kept": seeds.kept,
        "count": seeds.count,
        "low": seeds.low,
        "high": seeds.high,
        "verdict": seeds.verdict.value,
        "seeds_that_break_it": sorted(row["seed"] for row in runs if not _holds(row, bar)),
        "failures": failures(runs),
        "measures": {
            measure: plain_numbers(summary([_numbers(row).get(measure, np.nan) for row in runs]))
            for measure in MEASURES
        },
    }


def _course(rows: Sequence[Row], name: str) -> dict[str, list[float | None]]:
    """Return the highest usage of any broker, stretch by stretch, over the seeds."""
    runs = [_numbers(row) for row in rows if row["scenario"] == name and _is_done(row)]
    count = max((sum(key.startswith("course ") for key in run) for run in runs), default=0)
    values = np.array([[run.get(f"course {i}", np.nan) for i in range(count)] for run in runs])
    if not values.size:
        return {"p10": [], "median": [], "p90": []}
    ends = {"p10": 0.1, "median": 0.5, "p90": 0.9}
    return {
        end: [round(each, 2) for each in np.nanquantile(values, share, axis=0).tolist()]
        for end, share in ends.items()
    }


def _worst_brokers(rows: Sequence[Row], bar: Bar) -> list[dict[str, Any]]:
    """Return the brokers that get fullest, beside what they have undisturbed."""
    of = {name: _by_name(rows, name, "peak") for name in (PLANNED, UNDISTURBED)}
    over = _by_name(rows, PLANNED, "over")
    listed: list[dict[str, Any]] = [
        {
            "broker": broker,
            "peak_percent": plain_numbers(summary(values)),
            "undisturbed": plain_numbers(summary(of[UNDISTURBED].get(broker, [np.nan]))),
            "over_min": plain_numbers(summary(over[broker])),
            "seeds_over": sum(value > bar.over_min for value in over[broker]),
        }
        for broker, values in of[PLANNED].items()
    ]
    order = sorted(
        listed, key=lambda it: (-it["seeds_over"], -(it["peak_percent"]["p90"] or 0), it["broker"])
    )
    return order[:_WORST_MAX]


def _worst_namespaces(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the namespaces of which most topics are disconnected, a mean over the seeds."""
    of = {name: _by_name(rows, name, "topics") for name in (PLANNED, UNDISTURBED)}
    count = max(1, sum(row["scenario"] == PLANNED for row in rows))
    listed: list[dict[str, Any]] = [
        {
            "namespace": namespace,
            "topics": sum(values) / count,
            "undisturbed": sum(of[UNDISTURBED].get(namespace, [])) / count,
        }
        for namespace, values in of[PLANNED].items()
    ]
    return sorted(listed, key=lambda it: (-it["topics"], it["namespace"]))[:_WORST_MAX]


def _by_name(rows: Sequence[Row], course: str, what: str) -> dict[str, list[float]]:
    """Return the numbers of one kind by whose they are, a value for each seed that has one."""
    every: dict[str, list[float]] = {}
    for row in rows:
        if row["scenario"] == course and _is_done(row):
            for name, value in by_name(_numbers(row), what).items():
                every.setdefault(name, []).append(value)
    return every


def _holds(row: Row, bar: Bar) -> bool:
    return _is_done(row) and bar.is_met(_numbers(row))


def _is_done(row: Row) -> bool:
    return bool(row["status"] == Status.OK)


def _numbers(row: Row) -> dict[str, float]:
    return dict(row["numbers"] or ())
