"""What a scenario expects and what came out → a verdict on each expectation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.files.fields import expected_name
from trimtab.lab.simulate.scenario_checks import NONE
from trimtab.lab.simulate.scenario_tables import Expectation, Scenario
from trimtab.pulsar.model import MINUTE_S


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

    @property
    def is_failure(self) -> bool:
        """Return whether it is not met, and the scenario does not know why."""
        return not self.is_met and not self.expectation.known


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
