"""What a scenario expects, measured where it ran and judged where all its runs are known.

An expectation may be about a part of the time, and about the median over seeds.  So the run
takes the numbers, a row of a sweep carries them by name, and the verdict comes at the end.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.files.fields import expected_name
from trimtab.lab.outcomes import MEASURES, Trajectory, between, measured, trajectory
from trimtab.lab.outcomes.aftermath import aftermath
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.scenario_checks import NONE
from trimtab.lab.simulate.scenario_tables import Expectation, Scenario
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import MINUTE_S

#: Name of the number that says how far a run came, s.
SIMULATED_S = "simulated_s"
_ROUNDS = "rounds"


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of one run between two times."""

    #: Name → value.
    outcomes: Mapping[str, float]
    #: Rounds of shedding in that time.
    n_rounds: int
    #: s up to which was simulated; a run that lacks less than a minute is whole.
    simulated_s: float
    #: The run was cut short.
    is_cut: bool = False


#: One run, measured between two times, s.
Measure = Callable[[float, float], Measured]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one expectation."""

    expectation: Expectation
    is_met: bool
    #: What was expected, and what was found.
    expected: str
    found: str


def verdicts(
    scenario: Scenario, shedder: str | None, placer: str, runs: Sequence[Measure]
) -> tuple[Verdict, ...]:
    """Return verdicts, in order, on what a scenario expects of two strategies.

    Nothing holds for want of cases: an expectation is not met without runs, without rounds
    in its time, by a run that was cut short, or by an outcome that is not a number.
    """
    return tuple(
        _verdict(scenario, expectation, shedder, runs)
        for expectation in scenario.expectations
        if is_about(expectation, shedder, placer)
    )


def is_about(expectation: Expectation, shedder: str | None, placer: str) -> bool:
    """Return whether an expectation is about two strategies.

    One that names no shedder is about each of them, and not about shedding nothing: most
    would hold then, and tell nothing.
    """
    is_meant = (
        shedder is not None if not expectation.under else (shedder or NONE) in expectation.under
    )
    return is_meant and (not expectation.placed_by or placer in expectation.placed_by)


def window_s(scenario: Scenario, expectation: Expectation) -> tuple[float, float]:
    """Return between which times an expectation is to hold, s."""
    from_min, until_min = expectation.from_min, expectation.until_min
    return (
        (scenario.run.event_at_min if from_min is None else from_min) * MINUTE_S,
        (scenario.run.minutes if until_min is None else until_min) * MINUTE_S,
    )


def expected_words(expectation: Expectation) -> str:
    """Return what is expected: `unloads at most 100, median over seeds`."""
    bounds = [
        f"{name} {bound:g}"
        for name, bound in (("at least", expectation.at_least), ("at most", expectation.at_most))
        if bound is not None
    ]
    words = f"{expectation.outcome} {' and '.join(bounds)}"
    if expectation.from_min is not None:
        words += f" from minute {expectation.from_min:g}"
    if expectation.until_min is not None:
        words += f" up to minute {expectation.until_min:g}"
    return words + (", median over seeds" if expectation.of == "median" else "")


def _verdict(
    scenario: Scenario, expectation: Expectation, shedder: str | None, runs: Sequence[Measure]
) -> Verdict:
    from_s, until_s = window_s(scenario, expectation)
    parts = [run(from_s, until_s) for run in runs]
    wrong = next(
        filter(None, (_unfit(one, expectation, shedder, until_s) for one in parts)),
        "" if parts else "no runs",
    )
    words = expected_words(expectation)
    if wrong:
        return Verdict(expectation, False, words, wrong)
    values = [one.outcomes[expectation.outcome] for one in parts]
    if expectation.of == "median":
        values = [statistics.median(values)]
    worst = max(values, key=lambda value: _distance(value, expectation))
    many = f" (the worst of {len(values)})" if len(values) > 1 else ""
    return Verdict(expectation, _distance(worst, expectation) <= 0, words, f"{worst:g}{many}")


def _unfit(part: Measured, expectation: Expectation, shedder: str | None, until_s: float) -> str:
    """Return why nothing may be concluded of a run; nothing if something may."""
    name = expectation.outcome
    if part.is_cut or part.simulated_s <= until_s - MINUTE_S:
        return f"a run cut short at minute {part.simulated_s / MINUTE_S:g}"
    if shedder is not None and not part.n_rounds:
        return "no round of shedding in that time"
    if name not in part.outcomes:
        return f"no outcome {name!r}; expected {expected_name(name, part.outcomes)}"
    return f"{name} is not a number" if math.isnan(part.outcomes[name]) else ""


def _distance(value: float, expectation: Expectation) -> float:
    """Return how far a value lies beyond the bounds; 0 or less within them."""
    over = -math.inf if expectation.at_most is None else _beyond(value, expectation.at_most)
    under = -math.inf if expectation.at_least is None else _beyond(expectation.at_least, value)
    return max(over, under)


def _beyond(value: float, bound: float) -> float:
    # Infinity minus itself is not a number, and the two are equal here.
    return 0.0 if value == bound else value - bound


# ------------------------------------------------------------------ numbers


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
