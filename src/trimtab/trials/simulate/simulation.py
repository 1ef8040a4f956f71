"""A result for a person, line by line, and for programs, as plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.lab.outcomes import MEASURES
from trimtab.lab.outcomes.minimum_moves import Minimum
from trimtab.trials.simulate.history import history
from trimtab.trials.simulate.result import Result, document

#: How to read a history.
LEGEND = (
    "usage is the truth: percent of the busiest of CPU and network, in the minute before; scores",
    "are what the strategy saw; a → b is a usage before and after a move, on the same traffic;",
    "bundles are ranges of hashes without trailing zeros.",
    "",
)


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
    plain = document(result)
    names = ("scenario", "shedder", "placement", "release", "seed", "is_cut", "command")
    return Simulated(
        **{name: plain[name] for name in names},
        outcomes={
            name: None if math.isnan(value) else float(value)
            for name, value in result.outcomes.items()
        },
        expectations=tuple(Expectation(**each) for each in plain["expectations"]),
        _result=result,
    )


def tell(answer: Result, as_json: bool) -> Iterator[str]:
    """Return a result, for a person or for a program."""
    if as_json:
        yield json.dumps(document(answer), indent=1, ensure_ascii=False)
        return
    yield from _opening(answer)
    yield ""
    yield from LEGEND
    yield from history(answer)
    yield from ("", "Outcomes since the event" if answer.run.world.event_s else "Outcomes")
    yield from _outcome_lines(answer)
    if answer.verdicts:
        yield from ("", "Expectations")
        yield from _expectation_lines(answer)
    if answer.run.is_cut:
        yield from ("", "The run was cut short: nothing may be concluded of it.")
    yield from ("", "To repeat it:", f"  {answer.experiment.command}")


def _opening(answer: Result) -> Iterator[str]:
    """Return what was asked, of whom."""
    experiment, world = answer.experiment, answer.run.world
    yield (
        f"{experiment.question.scenario}: {len(world.machines.names)} brokers,"
        f" {len(world.bundles.names)} bundles, {world.duration_s / 60:g} minutes,"
        f" seed {experiment.question.seed}"
    )
    if experiment.scenario.question:
        yield experiment.scenario.question
    who = "nobody sheds" if experiment.balancer.shedder is None else experiment.balancer.shedder
    yield f"{who}, placed by {experiment.balancer.placer}, as Pulsar {experiment.balancer.release}"
    yield from (f"  {key}={text}" for key, text in experiment.balancer.conf.items())


def _outcome_lines(answer: Result) -> Iterator[str]:
    """Return the outcomes as lines of a table."""
    rows = [
        (measure.title, rounded(answer.outcomes[name]), measure.unit)
        for name, measure in MEASURES.items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for title, value, unit in rows:
        yield f"  {title:<{widths[0]}}  {value:>{widths[1]}} {unit}".rstrip()
    if answer.fewest_unloads is not None:
        yield f"  {_minimum(answer.fewest_unloads)}"


def _expectation_lines(answer: Result) -> Iterator[str]:
    """Yield a line an expectation, met or not, and the reason for each that is not met."""
    for verdict in answer.verdicts:
        is_judged = answer.is_judged(verdict)
        sign = ("✓" if verdict.is_met else "✗") if is_judged else "·"
        yield f"  {sign} {verdict.expected}: {verdict.found}"
        if not verdict.is_met and is_judged:
            yield f"      expected because: {verdict.expectation.because}"
        if verdict.expectation.known:
            yield f"      known not always to hold: {verdict.expectation.known}"


def _minimum(minimum: Minimum) -> str:
    if math.isinf(minimum.moves):
        return "No number of unloads could have balanced it: a bundle or a background is too large."
    count = f"{'exactly' if minimum.is_exact else 'at least'} {minimum.moves:.0f} unloads"
    return f"Had the work of all bundles been known, it would have taken {count}."


def rounded(value: float) -> str:
    """Return a number rounded for reading.

    >>> rounded(8.25), rounded(1234.5), rounded(float("inf")), rounded(float("nan"))
    ('8.2', '1234', 'never', 'unknown')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "never"
    if value == round(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
