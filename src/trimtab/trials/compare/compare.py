"""Scenarios and strategies → a sweep → a comparison, as JSON and as one page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trimtab.files.fields import Field
from trimtab.lab.scenarios.expectations import judged
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.pulsar.sequences.sequences import known_release
from trimtab.report.comparison import render_comparison
from trimtab.report.contenders import figure
from trimtab.trials.compare.answer import answer
from trimtab.trials.compare.comparison import COST, GAIN, comparison
from trimtab.trials.sweep.grid import (
    TIME_LIMIT_S,
    Grid,
    settings_by_key,
    strategies,
    usual,
)
from trimtab.trials.sweep.simulation import plan_of, scenarios_of
from trimtab.trials.sweep.task import NOBODY, Row, Status, StrategyKey, settings_text
from trimtab.trials.trial import Document, Form, Trial, spelt


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared with what, as the options have it."""

    #: Names or paths of scenarios, or the path of one recording.
    scenarios: tuple[str, ...] = ()
    #: Pairs such as `AvgShedder+AvgShedder` with commas between them; blank for the usual ones.
    strategies: str = ""
    #: The pair that others are held against; None: the first.
    baseline: str | None = None
    #: `key=value` each; a key may come again with another value.
    settings: tuple[str, ...] = ()
    #: None stands for that of each scenario, or of the recording.
    release: str | None = None
    n_seeds: int = 10
    time_limit_s: float = TIME_LIMIT_S

    @property
    def pairs(self) -> tuple[str, ...]:
        """Return the strategies one by one."""
        return tuple(filter(None, map(str.strip, self.strategies.split(","))))

    def command(self, output: Path) -> str:
        """Return the command that compares the same again, on however many cores."""
        options = {
            "--strategies": self.strategies,
            "--baseline": self.baseline,
            "--release": self.release,
            "--seeds": self.n_seeds,
            "--time-limit": f"{self.time_limit_s:g}",
            "--set": self.settings,
        }
        return spelt("compare", options, output, arguments=self.scenarios)

    def grid(self, releases: Collection[str]) -> Grid:
        """Return it as a grid, the baseline first, on scenarios about some releases.

        Raises:
            FieldError: there is no such strategy, release or key.
        """
        if self.release is not None:
            releases = [known_release(Field(self.release, ("--release",)))]
        only = None if self.release is None else Field([self.release], ("--release",))
        settings = settings_by_key(self.settings)
        named = [Field(each, ("--strategies",)) for each in self.pairs or usual(releases)]
        if self.baseline is not None:
            named.insert(0, Field(self.baseline, ("--baseline",)))
        chosen = [each for pair in named for each in strategies(pair, only, settings)]
        return Grid(
            scenarios=self.scenarios,
            strategies=tuple({each.key(""): each for each in chosen}.values()),
            seeds=tuple(range(self.n_seeds)),
            time_limit_s=self.time_limit_s,
            origin="compare",
        )


def planned(contest: Contest, command: str) -> Trial:
    """Return the comparison on scenarios; the command compares the same again.

    Raises:
        FieldError: there is no such strategy, release or key.
        GridError: a release has no such strategy, or no such key.
        ScenarioError: there is no such scenario, or it is not one.
    """
    scenarios = scenarios_of(contest.scenarios, Path())
    releases = {name: scenario.run.release for name, scenario in scenarios.items()}
    grid = contest.grid(frozenset(releases.values()))
    # A strategy without a release has several.
    keys = (each.key(release) for each in grid.strategies for release in releases.values())
    strategies = tuple(dict.fromkeys(keys))
    return Trial(
        plan=plan_of(grid, scenarios),
        command=command,
        form=COMPARISON,
        document=partial(_document, scenarios, strategies),
    )


def lines(document: Document) -> Iterator[str]:
    """Return who is best, the picture's two measures a strategy, and what is not met."""
    for scenario in document["scenarios"]:
        yield f"{scenario['name']}: {scenario['answer']}"
        if scenario["strategies"]:
            yield f"{scenario['name']}: median minutes to balance, unloads"
        for each in scenario["strategies"]:
            minutes, unloads = (
                figure(each["measures"][measure]["median"]["estimate"]) for measure in (GAIN, COST)
            )
            conf = "".join(f" {key}={value}" for key, value in each["settings"].items())
            mark = "*" if each["is_on_frontier"] else " "
            failed = f", {len(each['failures'])} runs failed" if each["failures"] else ""
            yield f"{mark} {minutes:>7} {unloads:>7}  {each['label']}{conf}{failed}"
            for verdict in _failed(each):
                yield f"  not met: {verdict['expected']}; found {verdict['found']}"


def _is_good(document: Document) -> bool:
    """Return whether a run ended well, and all is met that is not known to fail."""
    strategies = [each for scenario in document["scenarios"] for each in scenario["strategies"]]
    return any(each["runs"] for each in strategies) and not any(map(_failed, strategies))


COMPARISON = Form("comparison", render_comparison, lines, _is_good)


def _document(
    scenarios: Mapping[str, Scenario], strategies: Sequence[StrategyKey], rows: Sequence[Row]
) -> dict[str, Any]:
    """Return the comparison of strategies, the first being the baseline, on scenarios."""
    questions = {name: scenario.question for name, scenario in scenarios.items()}
    document = comparison(rows, strategies, questions)
    for each in document["scenarios"]:
        _judge(scenarios[each["name"]], each, rows)
        each["answer"] = answer(each["strategies"], document["confidence"])
    return document


def _judge(scenario: Scenario, document: dict[str, Any], rows: Sequence[Row]) -> None:
    """Add to each strategy of a scenario what was expected of it, and what was found.

    What a scenario expects is about its own release and settings: no other is judged.
    """
    for each in document["strategies"]:
        key = tuple(each[name] for name in ("shedder", "placement", "release"))
        is_its_own = not each["settings"] and each["release"] == scenario.run.release
        shedder = None if each["shedder"] == NOBODY else each["shedder"]
        runs = [
            None if row["status"] != Status.OK else dict(row["numbers"] or ())
            for row in rows
            if is_its_own
            and row["scenario"] == document["name"]
            and StrategyKey.of(row) == (*key, settings_text({}))
        ]
        verdicts = judged(scenario, shedder, each["placement"], runs) if runs else ()
        each["expectations"] = [
            {
                "expected": verdict.expected,
                "found": verdict.found,
                "is_met": verdict.is_met,
                "because": verdict.expectation.because,
                "known": verdict.expectation.known or None,
            }
            for verdict in verdicts
        ]


def _failed(strategy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in strategy["expectations"] if not each["is_met"] and not each["known"]]
