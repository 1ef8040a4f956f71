"""`trimtab rate` from end to end: a rating → a sweep → words with numbers → JSON and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.lab.scenarios import found_scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.report.ratings import render_ratings
from trimtab.trials.rate.definition import Case, Contender, Dimension, Rating
from trimtab.trials.rate.document import Basis, document
from trimtab.trials.rate.rated import rated
from trimtab.trials.rate.statistics import STATISTICS, Taken
from trimtab.trials.reproduce.numbers import numbers, value_of
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.simulation import Simulation, scenario_digest
from trimtab.trials.sweep.strategies import USUAL_PLACER
from trimtab.trials.sweep.task import NOBODY, Status, Task, settings_text

#: s that one run may take.
_TIME_LIMIT_S = 600.0

#: One row of the outcomes table.
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rates:
    """A rating that can be run."""

    rating: Rating
    scenarios: Mapping[str, Scenario]
    seeds: range
    command: str

    def tasks(self) -> frozenset[Task]:
        """List what is to be run, which is what some cell rests on."""
        return frozenset(
            task
            for dimension in self.rating.dimensions
            for contender in self.rating.strategies
            for of in (self.of_cell(dimension, contender),)
            for scenario in of.scenarios
            for seed in self.seeds
            for task in (self.task(contender, scenario, seed), self.nobody(scenario, seed))
        )

    def of_cell(self, dimension: Dimension, contender: Contender) -> Dimension | Case:
        """Say what a cell rests on."""
        return self.rating.basis(dimension, contender)

    def task(self, contender: Contender, scenario: str, seed: int) -> Task:
        """Give the task of a strategy."""
        of = contender.pair()
        release = of.release or self.scenarios[scenario].run.release
        settings = settings_text(of.settings)
        return Task(scenario, of.shedder, of.placement, release, settings, seed)

    def nobody(self, scenario: str, seed: int) -> Task:
        """Give the task of nobody shedding."""
        release = self.scenarios[scenario].run.release
        return Task(scenario, NOBODY, USUAL_PLACER, release, settings_text({}), seed)


@dataclass(frozen=True, slots=True)
class RatedAll:
    """What was written, and what it says."""

    page: Path
    json: Path
    document: Mapping[str, Any]

    @property
    def has_runs(self) -> bool:
        """Say whether a run came to its end."""
        return any(cell["runs"] for each in self.document["strategies"] for cell in each["cells"])

    def lines(self) -> Iterator[str]:
        """Tell the words of each strategy, and where they are not those that were published."""
        dimensions = [each["name"] for each in self.document["dimensions"]]
        for each in self.document["strategies"]:
            words = zip(dimensions, each["cells"], strict=True)
            told = ", ".join(f"{name} {cell['word']}" for name, cell in words)
            yield f"{each['name']}: {told}"
        yield from (each["sentence"] for each in self.document["disagreements"])


def planned(rating: Rating, n_seeds: int, command: str) -> Rates:
    """Lay out what is to be run.

    Raises:
        ScenarioError: a scenario cannot be read.
    """
    bases: tuple[Dimension | Case, ...] = (*rating.dimensions, *rating.cases)
    named = [name for each in bases for name in each.scenarios]
    scenarios = {name: found_scenario(name) for name in dict.fromkeys(named)}
    return Rates(rating, scenarios, range(n_seeds), command)


def rate(start: Start, rates: Rates, output: Path, *, anew: bool = False) -> RatedAll:
    """Rate strategies.

    Writes `ratings.html`, `ratings.json` and the tables of a sweep into the output folder;
    runs that an earlier start has done are not done again.

    Args:
        start: starts Spark; called only if runs are missing.
        rates: what is run.
        output: folder to write into; made if need be.
        anew: throw away what the folder holds of an earlier sweep.

    Raises:
        SweepError: the folder cannot be used.
        JavaError: there is no Java for Spark.
        SparkError: Spark failed.
    """
    plan = Plan(
        tasks=rates.tasks(),
        work=Simulation(rates.scenarios, numbers),
        basis={f"scenario {name}": scenario_digest(of) for name, of in rates.scenarios.items()},
        time_limit_s=_TIME_LIMIT_S,
    )
    swept = sweep(start, plan, output, anew=anew)
    rows = {_task(row): row for row in swept.outcomes.to_pylist()}
    cells = {
        (dimension.name, contender.name): _cell(rates, rows, dimension, contender)
        for dimension in rates.rating.dimensions
        for contender in rates.rating.strategies
    }
    told = {
        "trimtab": __version__,
        "command": rates.command,
        "seeds": len(rates.seeds),
        **document(rates.rating, cells),
    }
    text = json.dumps(told, indent=1, allow_nan=False, ensure_ascii=False)
    return RatedAll(
        page=write_whole(output / "ratings.html", render_ratings(told)),
        json=write_whole(output / "ratings.json", text + "\n"),
        document=told,
    )


def _cell(
    rates: Rates, rows: Mapping[Task, Row], dimension: Dimension, contender: Contender
) -> Basis:
    """Rate one strategy in one dimension."""
    of = rates.of_cell(dimension, contender)
    runs, failed = [], 0
    for scenario in of.scenarios:
        for seed in rates.seeds:
            row = rows[rates.task(contender, scenario, seed)]
            nobody = rows[rates.nobody(scenario, seed)]
            failed += row["status"] != Status.OK
            # Of a run that failed no number is there, and so it is left out with its seed.
            value, other = (value_of(each, of.number) for each in (row, nobody))
            runs.append(Taken(scenario, seed, value, other, _hours(rates.scenarios[scenario])))
    found = rated(runs, STATISTICS[dimension.statistic], dimension.thresholds)
    return Basis(
        rated=found, of=of, n_failed=failed, task=rates.task(contender, of.scenarios[0], 0)
    )


def _hours(scenario: Scenario) -> float:
    return (scenario.run.minutes - scenario.run.event_at_min) / 60


def _task(row: Row) -> Task:
    return Task(**{name: row[name] for name in Task.__slots__})
