"""What many seeds gave, beside what was published → does it come out?

An arm is the experiment as it stands, or one variant of it.  The rules:

- a number is *reached* if the median over the seeds lies within its bounds, and *within
  range* if the median does not but the span from p10 to p90 touches them; otherwise, or if
  fewer than half of the runs have the number, it is *missed*;
- an arm comes out if no number is missed, at least half of them are reached, and all lie
  within their bounds at once in one run of twenty at least: one run was published, and so
  it may lie at the edge of what many give, but some have to be like it in everything;
- the experiment comes out if its first arm does, which is the published set-up as far as it
  is known; if that does not, it comes out only under the condition of a variant that does,
  the first of several, as the one that assumes least stands first; otherwise it does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from trimtab.lab.outcomes.intervals import Summary, summary
from trimtab.lab.simulate.scenario_keys import Span

#: Of the runs, in which all numbers have to lie within their bounds at once.
_AT_ONCE_SHARE = 0.05


class Agreement(StrEnum):
    """How one number of an arm stands to what was published."""

    REACHED = "reached"
    WITHIN_RANGE = "within range"
    MISSED = "missed"


class Outcome(StrEnum):
    """What is said of an experiment."""

    COMES_OUT = "comes out"
    ONLY_IF = "comes out only if"
    DOES_NOT = "does not come out"


@dataclass(frozen=True, slots=True)
class NumberVerdict:
    """One number over the seeds of an arm."""

    summary: Summary
    agreement: Agreement
    #: Runs in which it lies within the bounds.
    n_within: int


@dataclass(frozen=True, slots=True)
class Arm:
    """The experiment as it stands, or one variant of it, over all seeds."""

    #: One of each published number, in order.
    numbers: tuple[NumberVerdict, ...]
    #: Runs that came to their end, and those in which every number lies within its bounds.
    n_runs: int
    n_at_once: int

    @property
    def comes_out(self) -> bool:
        """Return whether the arm shows what was published."""
        n_missed, n_reached = self.count(Agreement.MISSED), self.count(Agreement.REACHED)
        is_like = n_missed == 0 and 2 * n_reached >= len(self.numbers)
        return is_like and self.n_at_once >= max(1.0, _AT_ONCE_SHARE * self.n_runs)

    def count(self, agreement: Agreement) -> int:
        """Return how many numbers stand so to what was published."""
        return sum(each.agreement is agreement for each in self.numbers)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an experiment, and by which arm."""

    outcome: Outcome
    #: Position of the arm that it rests on; of one that does not come out, the nearest.
    arm: int
    #: Positions of all other arms that come out.
    also: tuple[int, ...]


def arm(values: Sequence[Sequence[float]], bounds: Sequence[Span]) -> Arm:
    """Return the runs of an arm held against what was published.

    Args:
        values: of each published number, one value a run, the runs in the same order; NaN
            where it could not be taken, infinite where it never came.
        bounds: of each published number.

    Properties:
        The order of the runs decides nothing.
    """
    n_runs = len(values[0])
    is_within = [
        [low <= value <= high for value in of]
        for of, (low, high) in zip(values, bounds, strict=True)
    ]
    numbers = tuple(
        NumberVerdict(summary(of), agreement(of, each), sum(within))
        for of, each, within in zip(values, bounds, is_within, strict=True)
    )
    return Arm(numbers, n_runs, sum(all(each) for each in zip(*is_within, strict=True)))


def agreement(values: Sequence[float], bounds: Span) -> Agreement:
    """Return how a number over many seeds stands to what was published.

    >>> agreement([3, 4, 9], (4, 12)), agreement([1, 1, 4], (4, 12)), agreement([], (4, 12))
    (<Agreement.REACHED: 'reached'>, <Agreement.MISSED: 'missed'>, <Agreement.MISSED: 'missed'>)
    """
    low, high = bounds
    summarized = summary(values)
    if not summarized.count or 2 * summarized.count < len(values):
        return Agreement.MISSED
    if low <= summarized.median <= high:
        return Agreement.REACHED
    touches = summarized.p10 <= high and summarized.p90 >= low
    return Agreement.WITHIN_RANGE if touches else Agreement.MISSED


def verdict(arms: Sequence[Arm]) -> Verdict:
    """Return whether an experiment comes out.

    Properties:
        More arms never make one that comes out into one that does not.
    """
    out = [place for place, each in enumerate(arms) if each.comes_out]
    if not out:
        return Verdict(Outcome.DOES_NOT, _nearest(arms), ())
    outcome = Outcome.ONLY_IF if out[0] else Outcome.COMES_OUT
    return Verdict(outcome, out[0], tuple(out[1:]))


def typical(values: Sequence[Sequence[float]]) -> int:
    """Return the run that lies nearest to the medians of all numbers, by ranks.

    Returns:
        Position of the run, the first of several.
    """
    n_runs = len(values[0])
    far = [0.0] * n_runs
    for of in values:
        for place, value in enumerate(of):
            below = sum(other < value for other in of)
            above = sum(other > value for other in of)
            far[place] += n_runs if math.isnan(value) else abs(below - above)
    return far.index(min(far))


def _nearest(arms: Sequence[Arm]) -> int:
    """Return the arm that misses fewest numbers, reaches most, and most often all at once."""

    def far(place: int) -> tuple[float, ...]:
        each = arms[place]
        at_once = each.n_at_once / max(1, each.n_runs)
        return each.count(Agreement.MISSED), -each.count(Agreement.REACHED), -at_once

    return min(range(len(arms)), key=far)
