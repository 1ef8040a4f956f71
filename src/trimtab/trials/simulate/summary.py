"""A result in short: what came out, what was expected, how to do it again."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab.lab.outcomes import MEASURES
from trimtab.lab.outcomes.minimum_moves import Minimum
from trimtab.lab.scenarios.expectations import Verdict
from trimtab.trials.simulate.result import Result


def opening(answer: Result) -> Iterator[str]:
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


def outcome_lines(answer: Result) -> Iterator[str]:
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


def expectation_lines(answer: Result) -> Iterator[str]:
    """Return of each expectation whether it is met, and of one that is not, why it was expected."""
    for verdict in answer.verdicts:
        yield f"  {_sign(answer, verdict)} {verdict.expected}: {verdict.found}"
        if not verdict.is_met and answer.is_judged(verdict):
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


def _sign(answer: Result, verdict: Verdict) -> str:
    if not answer.is_judged(verdict):
        return "·"
    return "✓" if verdict.is_met else "✗"
