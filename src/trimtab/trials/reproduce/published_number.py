"""A number that was published, and how far from it a reproduction may lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.lab.simulate import scenario_keys
from trimtab.lab.simulate.scenario_keys import (
    FLAG,
    TEXT,
    Kind,
    Span,
    bounds,
    key,
    maybe,
    one_of,
    span,
)
from trimtab.trials.reproduce.numbers import MEANINGS


@dataclass(frozen=True, slots=True)
class Rule:
    """How far from a published number a reproduction may lie."""

    #: Share of the number, and what is allowed at least.
    share: float
    least: float
    #: As a person would say it.
    says: str


#: The name of something that is taken of a run; there are too many to be listed.
NUMBER_NAME: Kind[str] = Kind(one_of(MEANINGS).take, "the name of an outcome, or of a number")
#: Under another name, as `number` is a key.
_NUMBER = scenario_keys.number()
_PERCENT = Rule(0.0, 7.5, "7.5 points more or less: half of the spread that counts as balanced")
#: Unit → rule.
RULES: Mapping[str, Rule] = {
    "": Rule(0.5, 1.0, "half as many more or less, and one at least"),
    "1/h": Rule(0.5, 1.0, "half as many more or less, and one at least"),
    "min": Rule(0.5, 2.0, "half as long more or less, and two minutes at least"),
    "%": _PERCENT,
    "points": _PERCENT,
    "times": Rule(0.2, 0.0, "a fifth more or less"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """`[[published]]`: one number of the published experiment."""

    number: str = key(NUMBER_NAME, "what of a run it is held against")
    value: Span = key(span(_NUMBER), "what was published")
    or_more: bool = key(FLAG, "that much or more was published", False)
    says: str = key(TEXT, "how it was said")
    accepted: Span | None = key(
        maybe(bounds(_NUMBER)), "what counts as reached; what the rule for its unit says", None
    )
    because: str = key(TEXT, "why that counts, where it is given", "")

    def limits(self) -> Span:
        """Return between what a reproduction has reached the number.

        Properties:
            The published number lies within, unless the definition says otherwise.
        """
        if self.accepted is not None:
            return self.accepted
        low, high = tolerated(MEANINGS[self.number].unit, self.value)
        return low, math.inf if self.or_more else high


def tolerated(unit: str, value: Span) -> Span:
    """Return a published number, or range of numbers, widened by the rule for its unit.

    >>> tolerated("", (8.0, 8.0)), tolerated("min", (2.5, 2.5)), tolerated("%", (56.0, 60.0))
    ((4.0, 12.0), (0.5, 4.5), (48.5, 67.5))
    """
    rule = RULES.get(unit, RULES[""])
    low, high = value
    return low - max(rule.least, rule.share * low), high + max(rule.least, rule.share * high)
