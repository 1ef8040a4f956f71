"""`trimtab reproduce` from end to end: definitions → a sweep → verdicts → JSON and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from trimtab.report.reproduction_picture import picture_alone
from trimtab.report.reproductions import render_reproductions, reproductions_text
from trimtab.trials.reproduce.arms import Arm, arms, scenarios_of
from trimtab.trials.reproduce.definition import Definition
from trimtab.trials.reproduce.document import Judged, document, judged
from trimtab.trials.reproduce.numbers import numbers
from trimtab.trials.reproduce.picture import picture
from trimtab.trials.sweep.simulation import Simulation, simulation_plan
from trimtab.trials.sweep.task import Row, Task
from trimtab.trials.trial import Document, Form, Trial


def planned(definitions: Sequence[Definition], n_seeds: int, command: str) -> Trial:
    """Return the runs of experiments, and what is made of them.

    Raises:
        DefinitionError: a definition names what is not there, or changes a scenario into one
            that cannot be.
    """
    laid_out = [arms(each) for each in definitions]
    every = [arm for of_one in laid_out for arm in of_one]
    seeds = range(n_seeds)
    tasks = (arm.task(seed) for arm in every for seed in seeds)
    return Trial(
        plan=simulation_plan(tasks, Simulation(scenarios_of(every), numbers)),
        command=command,
        form=REPRODUCTIONS,
        document=partial(_document, definitions, laid_out, seeds),
    )


def lines(document: Document) -> Iterator[str]:
    """Return each experiment's verdict, a line each."""
    for each in document["experiments"]:
        yield f"{each['title']}: {each['verdict']['sentence']}"


def _is_good(document: Document) -> bool:
    """Return whether a run came to its end."""
    return any(arm["runs"] for each in document["experiments"] for arm in each["arms"])


def _pictures(document: Document) -> dict[str, str]:
    pictures = {f"{each['name']}.svg": picture_alone(each) for each in document["experiments"]}
    return {name: svg for name, svg in pictures.items() if svg is not None}


REPRODUCTIONS = Form(
    "reproductions", render_reproductions, lines, _is_good, reproductions_text, _pictures
)


def _document(
    definitions: Sequence[Definition],
    laid_out: Sequence[Sequence[Arm]],
    seeds: range,
    rows: Sequence[Row],
) -> dict[str, Any]:
    """Return what came of all experiments, with the picture of one run each."""
    by_task = {Task.of(row): row for row in rows}
    pairs = zip(definitions, laid_out, strict=True)
    experiments = [judged(of, each, by_task, seeds) for of, each in pairs]
    answer = document(experiments, len(seeds))
    for each, one in zip(answer["experiments"], experiments, strict=True):
        each["picture"] = _picture(one)
    return answer


def _picture(experiment: Judged) -> dict[str, Any] | None:
    seed = experiment.typical_seed
    return (
        None if seed is None else picture(experiment.shown, seed, experiment.definition.published)
    )
