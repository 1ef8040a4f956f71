"""`trimtab rate` from end to end: a rating → a sweep → words with numbers → JSON and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.report.contenders import figure
from trimtab.report.ratings import ratings_text, render_ratings
from trimtab.trials.rate.definition import Case, Contender, Dimension, Rating, Statement
from trimtab.trials.rate.statistics import STATISTICS, Rated, RunValue, Word, rated
from trimtab.trials.reproduce.numbers import MEANINGS, numbers, value_of
from trimtab.trials.sweep.grid import USUAL_PLACER
from trimtab.trials.sweep.simulation import Simulation, simulation_plan
from trimtab.trials.sweep.task import NOBODY, Row, Status, Task, plain_numbers, settings_text
from trimtab.trials.trial import Document, Form, Trial


@dataclass(frozen=True, slots=True)
class Rates:
    """A rating that can be run."""

    rating: Rating
    scenarios: Mapping[str, Scenario]
    seeds: range

    def tasks(self) -> frozenset[Task]:
        """Return what is to be run, which is what some cell rests on."""
        return frozenset(
            task
            for dimension in self.rating.dimensions
            for contender in self.rating.strategies
            for of in (self.rating.basis(dimension, contender),)
            for scenario in of.scenarios
            for seed in self.seeds
            for task in (self.task(contender, scenario, seed), self.nobody(scenario, seed))
        )

    def task(self, contender: Contender, scenario: str, seed: int) -> Task:
        """Return the task of a strategy."""
        key = contender.pair().key(self.scenarios[scenario].run.release)
        return Task(scenario, *key, seed)

    def nobody(self, scenario: str, seed: int) -> Task:
        """Return the task of nobody shedding."""
        release = self.scenarios[scenario].run.release
        return Task(scenario, NOBODY, USUAL_PLACER, release, settings_text({}), seed)


def planned(rating: Rating, n_seeds: int, command: str) -> Trial:
    """Return the runs of a rating, and what is made of them.

    Raises:
        ScenarioError: a scenario cannot be read.
    """
    rates = rates_of(rating, n_seeds)
    plan = simulation_plan(rates.tasks(), Simulation(rates.scenarios, numbers))
    return Trial(plan, command, RATINGS, partial(_document, rates))


def rates_of(rating: Rating, n_seeds: int) -> Rates:
    """Return a rating with its scenarios.

    Raises:
        ScenarioError: a scenario cannot be read.
    """
    bases: tuple[Dimension | Case, ...] = (*rating.dimensions, *rating.cases)
    named = [name for each in bases for name in each.scenarios]
    scenarios = {name: scenario_of(name) for name in dict.fromkeys(named)}
    return Rates(rating, scenarios, range(n_seeds))


def lines(document: Document) -> Iterator[str]:
    """Return who is good most often, each one's words, and where others were published."""
    yield document["answer"]
    dimensions = [each["name"] for each in document["dimensions"]]
    for each in document["strategies"]:
        pairs = zip(dimensions, each["cells"], strict=True)
        words = ", ".join(f"{name} {cell['word']}" for name, cell in pairs)
        yield f"{each['name']}: {words}"
    yield from (each["sentence"] for each in document["disagreements"])


def _answer(strategies: Sequence[Mapping[str, Any]]) -> str:
    """Return which strategies are good most often, in how much, and how sure the words are."""
    cells = {each["name"]: each["cells"] for each in strategies}
    goods = {name: sum(it["word"] == Word.GOOD for it in those) for name, those in cells.items()}
    most = max(goods.values(), default=0)
    best = [name for name, n in goods.items() if n == most]
    if not most:
        return "No strategy is good at anything that was measured."
    words = [it for name in best for it in cells[name] if it["word"] == Word.GOOD]
    unsure = sum(not it["is_sure"] for it in words)
    doubt = f"; {unsure} of these {len(words)} words may be another" if unsure else ""
    verb = "is" if len(best) == 1 else "are"
    return (
        f"{' and '.join(best)} {verb} good most often, in {most} of {len(cells[best[0]])} "
        f"dimensions{doubt}."
    )


def _is_good(document: Document) -> bool:
    """Return whether a run came to its end."""
    return any(cell["runs"] for each in document["strategies"] for cell in each["cells"])


RATINGS = Form("ratings", render_ratings, lines, _is_good, ratings_text)


@dataclass(frozen=True, slots=True)
class Basis:
    """One cell, and what it rests on."""

    rated: Rated
    of: Dimension | Case
    #: Runs that did not come to their end.
    n_failed: int
    #: One of its tasks: what its rows have in common.
    task: Task


def _document(rates: Rates, rows: Sequence[Row]) -> dict[str, Any]:
    by_task = {Task.of(row): row for row in rows}
    cells = {
        (dimension.name, contender.name): _basis(rates, by_task, dimension, contender)
        for dimension in rates.rating.dimensions
        for contender in rates.rating.strategies
    }
    return {"seeds": len(rates.seeds), **document(rates.rating, cells)}


def _basis(
    rates: Rates, rows: Mapping[Task, Row], dimension: Dimension, contender: Contender
) -> Basis:
    """Return the rating of one strategy in one dimension, and what it rests on."""
    of = rates.rating.basis(dimension, contender)
    runs, failed = [], 0
    for scenario in of.scenarios:
        for seed in rates.seeds:
            row = rows[rates.task(contender, scenario, seed)]
            nobody = rows[rates.nobody(scenario, seed)]
            failed += row["status"] != Status.OK
            # Of a run that failed no number is there, and so it is left out with its seed.
            value, other = (value_of(each, of.number) for each in (row, nobody))
            of_scenario = rates.scenarios[scenario].run
            hours = (of_scenario.minutes - of_scenario.event_at_min) / 60
            runs.append(RunValue(scenario, seed, value, other, hours))
    statistic = STATISTICS[dimension.statistic]
    cell = rated(runs, statistic, dimension.good_to, dimension.fair_to)
    return Basis(rated=cell, of=of, n_failed=failed, task=rates.task(contender, of.scenarios[0], 0))


def document(rating: Rating, cells: Mapping[tuple[str, str], Basis]) -> dict[str, Any]:
    """Return the whole rating, as JSON has it; cells by names of a dimension and of a strategy."""
    strategies: list[dict[str, Any]] = [
        {
            "name": contender.name,
            "cells": [
                _cell(cells[each.name, contender.name], rating.word(each, contender))
                for each in rating.dimensions
            ],
        }
        for contender in rating.strategies
    ]
    return {
        "answer": _answer(strategies),
        "dimensions": [_dimension(each) for each in rating.dimensions],
        "strategies": strategies,
        "disagreements": [
            _disagreement(strategy["name"], dimension, cell)
            for strategy in strategies
            for dimension, cell in zip(rating.dimensions, strategy["cells"], strict=True)
            if cell["published"] and cell["published"]["word"] != cell["word"]
        ],
    }


def _dimension(dimension: Dimension) -> dict[str, Any]:
    meaning = MEANINGS[dimension.number]
    return {
        "name": dimension.name,
        "asks": dimension.asks,
        "number": dimension.number,
        "title": meaning.title,
        "unit": "" if dimension.statistic == "ratio to nobody" else meaning.unit,
        "statistic": dimension.statistic,
        "definition": STATISTICS[dimension.statistic].definition,
        "scenarios": list(dimension.scenarios),
        "good_to": dimension.good_to,
        "fair_to": dimension.fair_to,
    }


def _cell(basis: Basis, published: Statement | None) -> dict[str, Any]:
    task, of, numbers_of = basis.task, basis.of, plain_numbers(basis.rated.interval)
    return {
        "word": str(basis.rated.word),
        "is_sure": basis.rated.is_sure,
        **{name: numbers_of[name] for name in ("estimate", "low", "high")},
        "published": published and {"word": published.word, "says": published.says},
        "rows": {
            "scenarios": list(of.scenarios),
            "shedder": task.shedder,
            "placement": task.placement,
            "release": task.release,
            "settings": json.loads(task.settings),
            "number": of.number,
        },
        "because": of.because if isinstance(of, Case) else None,
        "is_own_number": isinstance(of, Case),
        "runs": basis.rated.n_runs - basis.n_failed,
        "never": basis.rated.n_never,
        "failed": basis.n_failed,
    }


def _disagreement(strategy: str, dimension: Dimension, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a measured word is not the published one, and by how much."""
    published = cell["published"]
    number, low, high = (figure(cell[name]) for name in ("estimate", "low", "high"))
    ends = "" if low == high else f" ({low} to {high})"
    unsure = "" if cell["is_sure"] else ", which is not beyond doubt"
    bar = dimension.good_to if published["word"] == Word.GOOD else dimension.fair_to
    bound = f"more than {bar:g}" if published["word"] == Word.POOR else f"{bar:g} or less"
    measured = f"measured {cell['word']} with {number}{ends}{unsure}"
    return {
        "strategy": strategy,
        "dimension": dimension.name,
        "measured": cell["word"],
        "published": published["word"],
        "sentence": (
            f"{strategy} in {dimension.name}: published {published['word']}, "
            f"{measured}; {published['word']} would be {bound}."
        ),
    }
