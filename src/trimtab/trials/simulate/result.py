"""A run → what is said of it: outcomes, and what was expected of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.files.version import __version__
from trimtab.lab.outcomes import Trajectory, measured, trajectory
from trimtab.lab.outcomes.balance import BAR_POINTS
from trimtab.lab.outcomes.minimum_moves import Minimum, Placement, minimum_moves
from trimtab.lab.scenarios.expectations import Verdict, measure, verdicts
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import Kind, Run
from trimtab.pulsar.model import Floats, Ints
from trimtab.trials.simulate.question import Experiment
from trimtab.trials.sweep.task import json_number

#: Bundles times steps of traffic up to which the work is added up again: a second or two.
_SIZE_MAX = 20_000_000
_STEPS_AT_A_TIME = 64


@dataclass(frozen=True, slots=True)
class Result:
    """An experiment and its answer."""

    experiment: Experiment
    run: Run
    trajectory: Trajectory
    #: Name → value, NaN where it could not be taken.
    outcomes: Mapping[str, float]
    #: The fewest unloads that would have done; None where that is not to be said.
    fewest_unloads: Minimum | None
    #: On each expectation that is about these strategies.
    verdicts: tuple[Verdict, ...]

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """Return the expectations that are not met.

        What is expected of the median over seeds says nothing about one seed; what is
        known not to hold is no surprise.
        """
        return tuple(v for v in self.verdicts if not v.is_met and self.is_judged(v))

    def is_judged(self, verdict: Verdict) -> bool:
        """Return whether this run decides about an expectation.

        It does not about a median over seeds, about what is known not to hold, or about a
        time that was left out on purpose.
        """
        expectation, minutes = verdict.expectation, self.experiment.question.minutes
        until = expectation.until_min or self.experiment.scenario.run.minutes
        is_left_out = minutes is not None and minutes < until
        return expectation.of != "median" and not expectation.known and not is_left_out


def result(experiment: Experiment, run: Run) -> Result:
    """Return the outcomes of a run, held against what is expected."""
    path = trajectory(run)
    return Result(
        experiment=experiment,
        run=run,
        trajectory=path,
        outcomes=measured(path),
        fewest_unloads=fewest_unloads(run, path, experiment.scenario.parameters.physics),
        verdicts=verdicts(
            experiment.scenario,
            experiment.balancer.shedder,
            experiment.balancer.placer,
            [measure(path)],
        ),
    )


def document(answer: Result) -> dict[str, Any]:
    """Return a result as JSON has it.

    Returns:
        A number that is infinite is the text "Infinity", one that is not known null.
    """
    experiment, run = answer.experiment, answer.run
    names, bundles = run.world.machines.names, run.world.bundles.names
    return {
        "scenario": experiment.question.scenario,
        "question": experiment.scenario.question,
        "shedder": experiment.shedder,
        "placement": experiment.balancer.placer,
        "release": experiment.balancer.release,
        "settings": dict(experiment.balancer.conf),
        "seed": experiment.question.seed,
        "simulated_min": len(run.usage) * run.tick_s / 60,
        "event_at_min": run.world.event_s / 60,
        "is_cut": run.is_cut,
        "command": experiment.command,
        "version": __version__,
        "outcomes": {name: _number(value) for name, value in answer.outcomes.items()},
        "needed_unloads": None
        if answer.fewest_unloads is None
        else {
            "count": _number(answer.fewest_unloads.moves),
            "is_exact": answer.fewest_unloads.is_exact,
        },
        "expectations": [_expectation(answer, verdict) for verdict in answer.verdicts],
        "rounds": [
            {
                "time_s": _number(time_s),
                "duration_s": _number(run.rounds.duration_s[i]),
                "planned": int(run.rounds.planned[i]),
                "moved": int(run.rounds.moved[i]),
                "average": _number(run.rounds.average[i]),
                "error": run.rounds.error[i] or None,
            }
            for i, time_s in enumerate(run.rounds.time_s.tolist())
        ],
        "moves": [
            {
                "time_s": _number(run.moves.time_s[i]),
                "round": int(run.moves.round[i]) if run.moves.round[i] >= 0 else None,
                "bundle": bundles[bundle],
                "source": names[run.moves.source[i]] if run.moves.source[i] >= 0 else None,
                "target": names[run.moves.target[i]] if run.moves.target[i] >= 0 else None,
            }
            | {
                name: _number(getattr(run.moves, name)[i])
                for name in ("source_before", "target_before", "source_end", "target_end", "mean")
            }
            for i, bundle in enumerate(run.moves.bundle.tolist())
        ],
        "counts": dict(run.counts),
    }


def _number(value: float) -> float | str | None:
    """Return a number of an array, of whatever kind, as JSON has it."""
    return json_number(float(value))


def _expectation(answer: Result, verdict: Verdict) -> dict[str, Any]:
    return {
        "expected": verdict.expected,
        "found": verdict.found,
        "is_met": verdict.is_met,
        "is_judged": answer.is_judged(verdict),
        "because": verdict.expectation.because,
        "known": verdict.expectation.known or None,
    }


def fewest_unloads(run: Run, trajectory: Trajectory, physics: Physics) -> Minimum | None:
    """Return the fewest unloads that would have balanced a run.

    Of the bundles as they lay at the event, by their mean work since then, between the
    brokers that are up at the end, to 15 points above the best possible spread.

    Returns:
        None where the question makes no sense: bundles were split, or had to be placed since
        their broker left; or the run was cut; or where the answer would take too long.
    """
    moves, event_s = run.moves, run.world.event_s
    n_steps = int(len(run.usage) * run.tick_s / physics.traffic_step_s)
    is_split = any(event.kind is Kind.SPLIT for event in run.world.events)
    is_placed = bool(((moves.round < 0) & (moves.time_s >= event_s)).any())
    is_large = n_steps * len(run.world.bundles.names) > _SIZE_MAX
    if run.is_cut or is_split or is_placed or is_large:
        return None
    owner, is_up = _owners_at_event(run), ~np.isnan(run.usage[-1])
    if (owner < 0).any() or not is_up[owner].all():
        return None
    first = int(event_s // 60)
    background = run.background[first:, is_up]
    placement = Placement(
        work=_mean_work(run, physics, n_steps),
        owner=(np.cumsum(is_up) - 1)[owner],
        background=np.nanmean(background, axis=0).astype(np.float64),
        capacity=run.capacity[-1, is_up].astype(np.float64),
    )
    best = float(np.nanmean(trajectory.best_spread))
    return minimum_moves(placement, BAR_POINTS + best)


def _owners_at_event(run: Run) -> Ints:
    owner = run.world.bundles.owner.copy()
    before = run.moves.time_s < run.world.event_s
    # In order of time, so that the last move of a bundle stays.
    owner[run.moves.bundle[before]] = run.moves.target[before]
    return owner


def _mean_work(run: Run, physics: Physics, n_steps: int) -> Floats:
    """Return each bundle's mean work since the event: traffic is the same whoever moves it."""
    traffic = Traffic(run.world, physics, None)
    total = np.zeros(len(run.world.bundles.names))
    event_step = int(run.world.event_s // physics.traffic_step_s)
    for first in range(0, n_steps, _STEPS_AT_A_TIME):
        last = min(n_steps, first + _STEPS_AT_A_TIME)
        rows = traffic.rows(first, last)
        total += rows.work[max(0, event_step - first) :].sum(axis=0)
    mean: Floats = total / max(1, n_steps - event_step)
    return mean
