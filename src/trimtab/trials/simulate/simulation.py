"""A simulated experiment as plain values, for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.lab.scenarios.expectations import Verdict
from trimtab.trials.simulate.command import tell
from trimtab.trials.simulate.result import Result, document


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a scenario expects of a strategy, and what came of it."""

    expected: str
    found: str
    because: str
    is_met: bool
    #: Whether one run decides about it; of a median over seeds it does not.
    is_judged: bool
    #: Why it is known not always to hold; None where it should.
    known: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Simulated:
    """One simulated run; seconds and minutes are those of the simulation, from its start."""

    scenario: str
    #: Who sheds: a class of Pulsar's, or `none`.
    shedder: str
    #: Who places.
    placement: str
    release: str
    seed: int
    #: Name → value, in the units of docs/outcomes.md; infinite for what never came about, None
    #: for what could not be taken.
    outcomes: Mapping[str, float | None]
    expectations: tuple[Expectation, ...]
    #: The run was cut short, so that nothing may be concluded of it.
    is_cut: bool
    #: The command that gives the same again.
    command: str
    _result: Result

    @property
    def failed(self) -> tuple[Expectation, ...]:
        """Return the expectations that this run decides about and does not meet."""
        return tuple(each for each in self.expectations if each.is_judged and not each.is_met)

    @property
    def history(self) -> str:
        """Return the run round by round, as the command tells it."""
        return "\n".join(tell(self._result, as_json=False))

    @property
    def document(self) -> Mapping[str, Any]:
        """Return everything, rounds and moves included, as `trimtab simulate --json` has it."""
        return document(self._result)

    def __repr__(self) -> str:
        """Return what was simulated."""
        who = f"{self.shedder} + {self.placement}, Pulsar {self.release}"
        return f"<Simulated {self.scenario}: {who}, seed {self.seed}>"


def simulation(result: Result) -> Simulated:
    """Return the plain values of a result."""
    experiment = result.experiment
    return Simulated(
        scenario=experiment.question.scenario,
        shedder=experiment.shedder,
        placement=experiment.balancer.placer,
        release=experiment.balancer.release,
        seed=experiment.question.seed,
        outcomes={
            name: None if math.isnan(value) else float(value)
            for name, value in result.outcomes.items()
        },
        expectations=tuple(_expectation(result, verdict) for verdict in result.verdicts),
        is_cut=result.run.is_cut,
        command=experiment.command,
        _result=result,
    )


def _expectation(result: Result, verdict: Verdict) -> Expectation:
    return Expectation(
        expected=verdict.expected,
        found=verdict.found,
        because=verdict.expectation.because,
        is_met=verdict.is_met,
        is_judged=result.is_judged(verdict),
        known=verdict.expectation.known or None,
    )
