"""What a sweep runs: a scenario drawn with a seed, under a strategy, measured."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trimtab.lab.outcomes import outcomes
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.scenarios.expectations import expected_numbers
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.scenario import ScenarioError
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import Run
from trimtab.trials.sweep.grid import TIME_LIMIT_S, Grid
from trimtab.trials.sweep.pipeline import Plan
from trimtab.trials.sweep.task import NOBODY, Ran, Task

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulates a task; travels to the workers with the scenarios that it needs."""

    scenarios: Mapping[str, Scenario]
    #: Takes the numbers that are asked of a run besides its outcomes, and travels along;
    #: None for those by which the scenario's expectations can be judged.
    numbers: Callable[[Run], Mapping[str, float] | None] | None = None

    def __call__(self, task: Task) -> Ran:
        """Draw the scenario, simulate it and measure what came of it."""
        run = self.run(task)
        take = self.numbers or partial(
            expected_numbers, self.scenarios[task.scenario], self._balancer(task)
        )
        return Ran(outcomes(run), run.is_cut, take(run))

    def run(self, task: Task) -> Run:
        """Return the run of a task."""
        scenario = self.scenarios[task.scenario]
        return simulated(drawn(scenario, task.seed), self._balancer(task), scenario.parameters)

    def _balancer(self, task: Task) -> Balancer:
        return balancer_of(task, self.scenarios[task.scenario].settings)


def balancer_of(task: Task, conf: Mapping[str, str]) -> Balancer:
    """Return what steers a task whose settings depart from those of a conf."""
    shedder = None if task.shedder == NOBODY else task.shedder
    return Balancer(shedder, task.placement, task.release, {**conf, **json.loads(task.settings)})


def scenarios_of(names: Iterable[str], beside: Path) -> dict[str, Scenario]:
    """Return scenarios by their names.

    Returns:
        Name → scenario; of a file, its name without the ending.

    Raises:
        ScenarioError: there is none of that name, it is not one, or two have the same name.
    """
    of_name: dict[str, Scenario] = {}
    for text in dict.fromkeys(names):
        is_file = "/" in text or text.endswith(_SUFFIX)
        name = Path(text).name.removesuffix(_SUFFIX)
        if name in of_name:
            raise ScenarioError(f"scenarios: found two that are called {name!r}")
        of_name[name] = scenario_of(str(beside / text) if is_file else text)
    return of_name


def plan_of(grid: Grid, scenarios: Mapping[str, Scenario]) -> Plan:
    """Return the plan of a grid's runs.

    Raises:
        GridError: a release has no such strategy, or no such key.
    """
    releases = {name: scenario.run.release for name, scenario in scenarios.items()}
    return simulation_plan(grid.tasks(releases), Simulation(scenarios), grid.time_limit_s)


def simulation_plan(
    tasks: Iterable[Task], work: Simulation, time_limit_s: float = TIME_LIMIT_S
) -> Plan:
    """Return the plan of simulations, which rests on their scenarios."""
    basis = {f"scenario {name}": scenario_digest(each) for name, each in work.scenarios.items()}
    return Plan(frozenset(tasks), work, basis, time_limit_s)


def scenario_digest(scenario: Scenario) -> str:
    """Return a scenario from all that ask something else; where it was read does not matter."""
    content = (dataclasses.replace(scenario, origin=""), scenario.parameters)
    return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()
