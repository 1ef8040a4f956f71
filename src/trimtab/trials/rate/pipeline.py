"""`trimtab rate` from end to end: a rating → a sweep → words with numbers → JSON and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from trimtab.lab.scenarios import found_scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.report.ratings import ratings_text, render_ratings
from trimtab.trials.rate.definition import Case, Contender, Dimension, Rating
from trimtab.trials.rate.document import Basis, document
from trimtab.trials.rate.statistics import STATISTICS, RunValue
from trimtab.trials.rate.words import rated
from trimtab.trials.reproduce.numbers import numbers, value_of
from trimtab.trials.sweep.simulation import Simulation, simulation_plan
from trimtab.trials.sweep.strategies import USUAL_PLACER
from trimtab.trials.sweep.task import NOBODY, Row, Status, Task, settings_text
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
    scenarios = {name: found_scenario(name) for name in dict.fromkeys(named)}
    return Rates(rating, scenarios, range(n_seeds))


def lines(document: Document) -> Iterator[str]:
    """Return the words of each strategy, and where they are not those that were published."""
    dimensions = [each["name"] for each in document["dimensions"]]
    for each in document["strategies"]:
        pairs = zip(dimensions, each["cells"], strict=True)
        words = ", ".join(f"{name} {cell['word']}" for name, cell in pairs)
        yield f"{each['name']}: {words}"
    yield from (each["sentence"] for each in document["disagreements"])


def _is_good(document: Document) -> bool:
    """Return whether a run came to its end."""
    return any(cell["runs"] for each in document["strategies"] for cell in each["cells"])


RATINGS = Form("ratings", render_ratings, lines, _is_good, ratings_text)


def _document(rates: Rates, rows: Sequence[Row]) -> dict[str, Any]:
    by_task = {Task.of(row): row for row in rows}
    cells = {
        (dimension.name, contender.name): _cell(rates, by_task, dimension, contender)
        for dimension in rates.rating.dimensions
        for contender in rates.rating.strategies
    }
    return {"seeds": len(rates.seeds), **document(rates.rating, cells)}


def _cell(
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
            runs.append(RunValue(scenario, seed, value, other, _hours(rates.scenarios[scenario])))
    cell = rated(runs, STATISTICS[dimension.statistic], dimension.thresholds)
    return Basis(rated=cell, of=of, n_failed=failed, task=rates.task(contender, of.scenarios[0], 0))


def _hours(scenario: Scenario) -> float:
    return (scenario.run.minutes - scenario.run.event_at_min) / 60
