"""A scenario, a seed and a strategy → one row of what came of it."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tools.judge.acting import Guarded, guards_of
from tools.judge.worlds import UNSEEN, unseen
from trimtab.files.fields import Field
from trimtab.lab.outcomes import Trajectory, measured, trajectory
from trimtab.lab.outcomes.minimum_moves import Minimum
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.oracle import ORACLE, Oracle
from trimtab.lab.simulate.run import at_end, passing
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.steered import steering
from trimtab.lab.simulate.world import Run
from trimtab.trials.simulate.result import fewest_unloads
from trimtab.trials.sweep.grid import pair

#: The scenarios in which something has to be moved.
IMBALANCE = ("S01", "S02", "S03", "S05", "S06", "S08", "S10", "S11", "S12", "S14", "S16")
#: In which nothing should be, or hardly anything.
STEADY = ("S04", "S13")
_KEPT = (
    "time_to_balance_min",
    "above_min",
    "unloads",
    "wasted",
    "wrong_direction",
    "over_placements",
    "over_unloadings",
    "end_spread_points",
    "inner_excess_spread_points",
    "overload_min",
    "peak_percent",
)


class Job(NamedTuple):
    """One run."""

    scenario: str
    strategy: str
    seed: int


def row(job: Job) -> dict[str, Any]:
    """Return what came of a run; infinite is what never came about."""
    began_s = time.perf_counter()
    scenario = asked(job)
    run = _run(scenario, job)
    path = trajectory(run)
    outcomes = measured(path)
    kept = {name: float(outcomes[name]) for name in _KEPT if name in outcomes}
    minimum = None
    if math.isfinite(kept["time_to_balance_min"]):
        minimum = _minimum(job, scenario, run, path)
    return {
        **job._asdict(),
        **kept,
        "hours": (run.world.duration_s - run.world.event_s) / 3600.0,
        "fewest": minimum.moves if minimum is not None and minimum.is_exact else None,
        "predicted": [dataclasses.astuple(each) for each in run.predicted],
        "advice": list(run.advice),
        "wall_s": time.perf_counter() - began_s,
    }


def asked(job: Job) -> Scenario:
    """Return the scenario of a job, in a world that nobody has seen if that is asked for."""
    name = job.scenario.removeprefix(UNSEEN)
    scenario = scenario_of(name)
    return scenario if name == job.scenario else unseen(scenario, job.seed)


#: Scenario, seed and the moves before the event → the fewest: it takes seconds, and is the same for
#: all that have moved nothing until then.
_MINIMA = dict[tuple[str, int, bytes], Minimum | None]()


def _minimum(job: Job, scenario: Scenario, run: Run, path: Trajectory) -> Minimum | None:
    early = run.moves.time_s < run.world.event_s
    moved = np.stack((run.moves.bundle[early], run.moves.target[early])).tobytes()
    # Placements after the event make the question senseless.
    late = bool(((run.moves.round < 0) & ~early).any())
    key = job.scenario, job.seed, moved + bytes([late])
    if key not in _MINIMA:
        _MINIMA[key] = fewest_unloads(run, path, scenario.parameters.physics)
    return _MINIMA[key]


def _run(scenario: Scenario, job: Job) -> Run:
    """Run a strategy, which may name a report threshold and guards: `Foresee@store%2+guards`."""
    strategy, limits = guards_of(job.strategy)
    name, _, threshold = strategy.partition("%")
    conf: Mapping[str, str] = dict(scenario.settings)
    if threshold:
        conf = {**conf, "loadBalancerReportUpdateThresholdPercentage": threshold}
    world = drawn(scenario, job.seed)
    if name == ORACLE:
        nobody = Balancer(None, "LeastLongTermMessageRate", scenario.run.release, conf)
        simulation = Simulation(world, nobody, scenario.parameters)
        simulation.steering = Oracle(simulation)
        return at_end(passing(simulation))
    sheds, places = pair(Field(name, ("--strategies",)))
    balancer = Balancer(sheds, places, scenario.run.release, conf)
    simulation = Simulation(world, balancer, scenario.parameters)
    if limits is not None:
        own = steering(simulation)
        assert own is not None, f"{name} is Pulsar's, and is held back by no guards"
        simulation.steering = Guarded(own, limits)
    return at_end(passing(simulation))
