"""Scenarios and strategies → a sweep → a comparison, as JSON and as one page."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.files.fields import Field
from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.lab.scenarios.expectations import judged
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.pulsar.sequences.sequences import known_release
from trimtab.report.comparison import render_comparison
from trimtab.report.contenders import figure
from trimtab.trials.compare.comparison import COST, GAIN, Row, StrategyKey, comparison, strategy_key
from trimtab.trials.sweep.grid import TIME_LIMIT_S, Grid
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.simulation import plan_of, scenarios_of
from trimtab.trials.sweep.strategies import JOINT, Strategy, asked_settings, strategies, usual
from trimtab.trials.sweep.task import NOBODY, Status, settings_text


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared with what, as the command line has it."""

    #: Names or paths.
    scenarios: tuple[str, ...]
    #: Pairs such as `AvgShedder+AvgShedder`; none stands for the usual ones.
    strategies: tuple[str, ...] = ()
    #: The pair that others are held against; None: the first.
    baseline: str | None = None
    #: `key=value` each; a key may come again with another value.
    settings: tuple[str, ...] = ()
    #: None stands for that of each scenario.
    release: str | None = None
    n_seeds: int = 10
    time_limit_s: float = TIME_LIMIT_S
    #: Says how to ask the same again.
    command: str = ""

    def grid(self, releases: Collection[str]) -> Grid:
        """Lay it out as a grid, the baseline first.

        Args:
            releases: those that the scenarios are about.

        Raises:
            FieldError: there is no such strategy, release or key.
        """
        if self.release is not None:
            releases = [known_release(Field(self.release, ("--release",)))]
        asked = None if self.release is None else Field([self.release], ("--release",))
        settings = asked_settings(self.settings)
        pairs = self.strategies or usual(releases)
        named = [Field(each, ("--strategies",)) for each in pairs]
        if self.baseline is not None:
            named.insert(0, Field(self.baseline, ("--baseline",)))
        chosen = [each for pair in named for each in strategies(pair, asked, settings)]
        return Grid(
            scenarios=self.scenarios,
            strategies=tuple({_spelt(each): each for each in chosen}.values()),
            seeds=tuple(range(self.n_seeds)),
            time_limit_s=self.time_limit_s,
            origin="compare",
        )


@dataclass(frozen=True, slots=True)
class Comparing:
    """A question that can be answered: everything in it is there."""

    plan: Plan
    #: As rows know them, the baseline first.
    strategies: tuple[StrategyKey, ...]
    #: By name, in the order to be shown.
    scenarios: Mapping[str, Scenario]
    command: str


@dataclass(frozen=True, slots=True)
class Compared:
    """What was written, and what it says."""

    page: Path
    comparison: Path
    document: Mapping[str, Any]

    @property
    def has_runs(self) -> bool:
        """Say whether a run came to its end."""
        return any(each["runs"] for _, each in self._strategies())

    @property
    def has_failed(self) -> bool:
        """Say whether an expectation is not met that is not known to fail."""
        return any(_failed(each) for _, each in self._strategies())

    def lines(self) -> Iterator[str]:
        """Tell the two measures of the picture, a line a strategy, and what is not met."""
        scenario = ""
        for name, each in self._strategies():
            if name != scenario:
                scenario = name
                yield f"{name}: median minutes to balance, unloads"
            minutes, unloads = (_median(each, measure) for measure in (GAIN, COST))
            conf = "".join(f" {key}={value}" for key, value in each["settings"].items())
            mark = "*" if each["is_on_frontier"] else " "
            failed = f", {len(each['failures'])} runs failed" if each["failures"] else ""
            yield f"{mark} {minutes:>7} {unloads:>7}  {each['label']}{conf}{failed}"
            for verdict in _failed(each):
                yield f"  not met: {verdict['expected']}; found {verdict['found']}"

    def _strategies(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for scenario in self.document["scenarios"]:
            for each in scenario["strategies"]:
                yield scenario["name"], each


def planned(question: Question) -> Comparing:
    """Plan the runs of a question.

    Raises:
        FieldError: there is no such strategy, release or key.
        GridError: a release has no such strategy, or no such key.
        ScenarioError: there is no such scenario, or it is not one.
    """
    scenarios = scenarios_of(question.scenarios, Path())
    releases = {name: scenario.run.release for name, scenario in scenarios.items()}
    grid = question.grid(frozenset(releases.values()))
    return Comparing(
        plan=plan_of(grid, scenarios),
        strategies=_keys(grid.strategies, releases),
        scenarios=scenarios,
        command=question.command,
    )


def compare(start: Start, comparing: Comparing, output: Path, *, anew: bool = False) -> Compared:
    """Compare strategies on scenarios.

    Writes `comparison.html`, `comparison.json` and the tables of a sweep into the output
    folder; runs that an earlier start has done are not done again.

    Args:
        start: starts Spark; called only if runs are missing.
        comparing: what is compared with what.
        output: folder to write into; made if need be.
        anew: throw away what the folder holds of an earlier sweep.

    Raises:
        SweepError: the folder cannot be used.
        JavaError: there is no Java for Spark.
        SparkError: Spark failed.
    """
    swept = sweep(start, comparing.plan, output, anew=anew)
    rows = swept.outcomes.to_pylist()
    questions = {name: scenario.question for name, scenario in comparing.scenarios.items()}
    found = comparison(rows, comparing.strategies, questions)
    for each in found["scenarios"]:
        _judge(comparing.scenarios[each["name"]], each, rows)
    document = {"trimtab": __version__, "command": comparing.command, **found}
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    return Compared(
        page=write_whole(output / "comparison.html", render_comparison(document)),
        comparison=write_whole(output / "comparison.json", text + "\n"),
        document=document,
    )


def _spelt(strategy: Strategy) -> tuple[str, ...]:
    pair = f"{strategy.shedder}{JOINT}{strategy.placement}"
    return pair, strategy.release or "", settings_text(strategy.settings)


def _keys(chosen: Sequence[Strategy], releases: Mapping[str, str]) -> tuple[StrategyKey, ...]:
    """List strategies as rows know them, in their order; one without a release has several."""
    keys = [
        (each.shedder, each.placement, each.release or release, settings_text(each.settings))
        for each in chosen
        for release in dict.fromkeys(releases.values())
    ]
    return tuple(dict.fromkeys(keys))


def _judge(scenario: Scenario, shown: dict[str, Any], rows: Sequence[Row]) -> None:
    """Add to each strategy of a scenario what was expected of it, and what was found.

    What a scenario expects is about its own release and settings: no other is judged.
    """
    for each in shown["strategies"]:
        key = tuple(each[name] for name in ("shedder", "placement", "release"))
        is_its_own = not each["settings"] and each["release"] == scenario.run.release
        shedder = None if each["shedder"] == NOBODY else each["shedder"]
        runs = [
            None if row["status"] != Status.OK else dict(row["numbers"] or ())
            for row in rows
            if is_its_own
            and row["scenario"] == shown["name"]
            and strategy_key(row) == (*key, settings_text({}))
        ]
        given = judged(scenario, shedder, each["placement"], runs) if runs else ()
        each["expectations"] = [
            {
                "expected": verdict.expected,
                "found": verdict.found,
                "is_met": verdict.is_met,
                "because": verdict.expectation.because,
                "known": verdict.expectation.known or None,
            }
            for verdict in given
        ]


def _failed(strategy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in strategy["expectations"] if not each["is_met"] and not each["known"]]


def _median(strategy: Mapping[str, Any], measure: str) -> str:
    return figure(strategy["measures"][measure]["median"]["estimate"])
