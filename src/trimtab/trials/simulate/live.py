"""A run, with its progress shown while it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trimtab.lab.simulate.records import RoundRecord
from trimtab.lab.simulate.run import simulating
from trimtab.lab.simulate.world import Run
from trimtab.trials.simulate.question import Experiment


class Progressing:
    """Shows how far virtual time has come, and what was moved so far."""

    def __init__(self, bar: Progress, experiment: Experiment) -> None:
        """Begin at the beginning."""
        self.bar, self.minutes = bar, experiment.world.duration_s / 60
        self.unloads = 0
        self.task = bar.add_task(experiment.name, total=self.minutes, said="")

    def show(self, round_: RoundRecord) -> None:
        """Show where a round leaves it."""
        self.unloads += round_.moved
        minute = round_.time_s / 60
        text = f"min {minute:.0f} of {self.minutes:g}, {self.unloads} unloads"
        scores = round_.scores[~np.isnan(round_.scores)]
        if len(scores):
            text += f", scores {scores.min():.3g} to {scores.max():.3g}"
        self.bar.update(self.task, completed=minute, said=text)


def run(experiment: Experiment) -> Run:
    """Return the run of an experiment; on a terminal, show how far it has come."""
    rounds = simulating(experiment.world, experiment.balancer, experiment.scenario.parameters)
    with _bar() as bar:
        display = None if bar is None else Progressing(bar, experiment)
        while True:
            try:
                round_ = next(rounds)
            except StopIteration as end:
                outcome: Run = end.value
                return outcome
            if display is not None:
                display.show(round_)


@contextmanager
def _bar() -> Iterator[Progress | None]:
    """Open a bar on the terminal, if there is one; it goes when the run is over."""
    console = Console(stderr=True)
    if not console.is_terminal:
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
