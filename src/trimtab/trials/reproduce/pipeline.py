"""`trimtab reproduce` from end to end: definitions → a sweep → verdicts → JSON and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.report.reproductions import render_reproductions
from trimtab.trials.reproduce.arms import Arm, arms, scenarios_of
from trimtab.trials.reproduce.definition import Definition
from trimtab.trials.reproduce.document import Judged, Row, document, judged
from trimtab.trials.reproduce.numbers import numbers
from trimtab.trials.reproduce.picture import picture
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.simulation import Simulation, scenario_digest
from trimtab.trials.sweep.task import Task

#: s that one run may take.
_TIME_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Reproducing:
    """Experiments that can be run: everything in them is there."""

    definitions: tuple[Definition, ...]
    arms: tuple[tuple[Arm, ...], ...]
    seeds: range
    command: str


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What was written, and what it says."""

    page: Path
    json: Path
    document: Mapping[str, Any]

    @property
    def has_runs(self) -> bool:
        """Say whether a run came to its end."""
        return any(arm["runs"] for each in self.document["experiments"] for arm in each["arms"])

    def lines(self) -> Iterator[str]:
        """Tell each experiment's verdict, a line each."""
        for each in self.document["experiments"]:
            yield f"{each['title']}: {each['verdict']['sentence']}"


def planned(definitions: Sequence[Definition], n_seeds: int, command: str) -> Reproducing:
    """Lay out what is to be run.

    Raises:
        DefinitionError: a definition names what is not there, or changes a scenario into one
            that cannot be.
    """
    laid_out = tuple(arms(each) for each in definitions)
    scenarios_of([arm for each in laid_out for arm in each])
    return Reproducing(tuple(definitions), laid_out, range(n_seeds), command)


def reproduce(
    start: Start, reproducing: Reproducing, output: Path, *, anew: bool = False
) -> Reproduced:
    """Run published experiments again, and hold them against what was published.

    Writes `reproductions.html`, `reproductions.json` and the tables of a sweep into the
    output folder; runs that an earlier start has done are not done again.

    Args:
        start: starts Spark; called only if runs are missing.
        reproducing: what is run.
        output: folder to write into; made if need be.
        anew: throw away what the folder holds of an earlier sweep.

    Raises:
        SweepError: the folder cannot be used.
        JavaError: there is no Java for Spark.
        SparkError: Spark failed.
    """
    swept = sweep(start, _plan(reproducing), output, anew=anew)
    rows = {_task(row): row for row in swept.outcomes.to_pylist()}
    found = [
        judged(of, each, rows, reproducing.seeds)
        for of, each in zip(reproducing.definitions, reproducing.arms, strict=True)
    ]
    told = {
        "trimtab": __version__,
        "command": reproducing.command,
        **document(found, len(reproducing.seeds)),
    }
    for each, one in zip(told["experiments"], found, strict=True):
        each["picture"] = _picture(one)
    text = json.dumps(told, indent=1, allow_nan=False, ensure_ascii=False)
    return Reproduced(
        page=write_whole(output / "reproductions.html", render_reproductions(told)),
        json=write_whole(output / "reproductions.json", text + "\n"),
        document=told,
    )


def _plan(reproducing: Reproducing) -> Plan:
    every = [arm for each in reproducing.arms for arm in each]
    scenarios = scenarios_of(every)
    return Plan(
        tasks=frozenset(arm.task(seed) for arm in every for seed in reproducing.seeds),
        work=Simulation(scenarios, numbers),
        basis={f"scenario {name}": scenario_digest(each) for name, each in scenarios.items()},
        time_limit_s=_TIME_LIMIT_S,
    )


def _task(row: Row) -> Task:
    return Task(**{name: row[name] for name in Task.__slots__})


def _picture(found: Judged) -> dict[str, Any] | None:
    seed = found.typical_seed
    return None if seed is None else picture(found.shown, seed, found.definition.published)
