"""What a scenario expects, measured where it ran and judged where all its runs are known.

An expectation may be about a part of the time, and about the median over seeds.  So the run
takes the numbers, a row of a sweep carries them by name, and the verdict comes at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.lab.outcomes import MEASURES, Trajectory, between, measured, trajectory
from trimtab.lab.outcomes.aftermath import aftermath
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.verdicts import (
    Measure,
    Measured,
    Verdict,
    is_about,
    verdicts,
    window_s,
)
from trimtab.lab.simulate.world import Run

#: Name of the number that says how far a run came, s.
SIMULATED_S = "simulated_s"
_ROUNDS = "rounds"


def measure(trajectory: Trajectory) -> Measure:
    """Return how to measure a trajectory between any two times."""
    end_s = len(trajectory.usage) * trajectory.step_s

    def measured_between(from_s: float, to_s: float) -> Measured:
        part = _part(trajectory, from_s, to_s)
        return Measured(
            outcomes={} if part is None else measured(part),
            n_rounds=_n_rounds(part, from_s),
            simulated_s=end_s,
            is_cut=trajectory.is_cut,
        )

    return measured_between


def expected_numbers(scenario: Scenario, balancer: Balancer, run: Run) -> dict[str, float]:
    """Return the numbers by which a run can be judged later.

    Returns:
        The outcomes that expectations name, each between its two times, and the rounds of
        shedding there; empty if nothing is expected of these strategies.
    """
    expected = [
        each for each in scenario.expectations if is_about(each, balancer.shedder, balancer.placer)
    ]
    if not expected or run.is_cut:
        return {}
    whole = trajectory(run)
    numbers = {SIMULATED_S: len(whole.usage) * whole.step_s}
    for expectation in expected:
        window = window_s(scenario, expectation)
        part = _part(whole, *window)
        numbers[_named(_ROUNDS, *window)] = _n_rounds(part, window[0])
        if part is not None and expectation.outcome in MEASURES:
            taken = MEASURES[expectation.outcome].take(aftermath(part))
            numbers[_named(expectation.outcome, *window)] = float(taken)
    return numbers


def judged(
    scenario: Scenario,
    shedder: str | None,
    placer: str,
    runs: Sequence[Mapping[str, float] | None],
) -> tuple[Verdict, ...]:
    """Return verdicts on what a scenario expects of two strategies, by their runs' numbers.

    There are `expected_numbers` of each seed; None of a run that failed or was cut.

    Properties:
        The same verdicts as those on the runs themselves.
    """
    return verdicts(scenario, shedder, placer, [_measure_of(numbers) for numbers in runs])


def _measure_of(numbers: Mapping[str, float] | None) -> Measure:
    """Return what was measured of a run, between the times for which it was."""

    def measured_between(from_s: float, to_s: float) -> Measured:
        if numbers is None or SIMULATED_S not in numbers:
            return Measured(outcomes={}, n_rounds=0, simulated_s=0.0, is_cut=True)
        taken = {name: numbers.get(_named(name, from_s, to_s)) for name in MEASURES}
        return Measured(
            # A table may hold null for what is not a number.
            outcomes={name: value for name, value in taken.items() if value is not None},
            n_rounds=int(numbers[_named(_ROUNDS, from_s, to_s)]),
            simulated_s=numbers[SIMULATED_S],
        )

    return measured_between


def _part(trajectory: Trajectory, from_s: float, to_s: float) -> Trajectory | None:
    """Return a part of a trajectory; None if the run ended before it."""
    end_s = len(trajectory.usage) * trajectory.step_s
    return between(trajectory, from_s, min(to_s, end_s)) if from_s < end_s else None


def _n_rounds(part: Trajectory | None, from_s: float) -> int:
    return 0 if part is None else int((part.round_s >= from_s).sum())


def _named(name: str, from_s: float, to_s: float) -> str:
    """Return the name of a number that is about a part of the time.

    >>> _named("unloads", 600.0, 7200.0)
    'unloads, 600 s to 7200 s'
    """
    return f"{name}, {from_s:g} s to {to_s:g} s"
