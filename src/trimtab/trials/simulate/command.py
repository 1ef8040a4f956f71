"""The command `trimtab simulate` from end to end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trimtab.files.errors import TrimtabError
from trimtab.files.whole_files import write_whole
from trimtab.lab.simulate.run import simulating
from trimtab.lab.simulate.world import Run
from trimtab.trials.simulate.plot import check_plot, plot
from trimtab.trials.simulate.question import Experiment, Question, experiment_of
from trimtab.trials.simulate.result import Result, result
from trimtab.trials.simulate.simulation import tell


def simulate(question: Question, picture: Path | None, folder: Path | None) -> Result:
    """Return the result of an experiment, and write what was asked for.

    Raises:
        TrimtabError: something asked for is not there, or cannot be written.
    """
    try:
        if picture is not None:
            check_plot(picture)
        experiment = experiment_of(question)
        answer = result(experiment, run(experiment))
        if picture is not None:
            plot(answer, picture)
        if folder is not None:
            _write(answer, folder)
    except OSError as error:
        raise TrimtabError(str(error)) from error
    return answer


def run(experiment: Experiment) -> Run:
    """Return the run of an experiment; on a terminal, show how far it has come."""
    rounds = simulating(experiment.world, experiment.balancer, experiment.scenario.parameters)
    minutes, unloads = experiment.world.duration_s / 60, 0
    with _bar() as bar:
        task = None if bar is None else bar.add_task(experiment.name, total=minutes, said="")
        while True:
            try:
                round_ = next(rounds)
            except StopIteration as end:
                outcome: Run = end.value
                return outcome
            if bar is None or task is None:
                continue
            unloads += round_.moved
            minute, scores = round_.time_s / 60, round_.scores[~np.isnan(round_.scores)]
            text = f"min {minute:.0f} of {minutes:g}, {unloads} unloads"
            if len(scores):
                text += f", scores {scores.min():.3g} to {scores.max():.3g}"
            bar.update(task, completed=minute, said=text)


@contextmanager
def _bar() -> Iterator[Progress | None]:
    """Open a bar on the terminal, if there is one; it goes when the run is over."""
    console = Console(stderr=True)
    if not console.is_terminal or not logging.getLogger("trimtab").isEnabledFor(logging.WARNING):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield bar


def _write(answer: Result, folder: Path) -> None:
    """Write a folder; its files go into place when they are whole."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "history.txt": "\n".join([*tell(answer, as_json=False), ""]),
        "outcomes.json": "\n".join([*tell(answer, as_json=True), ""]),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    plot(answer, folder / "usage.svg")
