"""How many seeds keep to the bar → safe, not safe, or not decidable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from trimtab.lab.outcomes.intervals import share_bounds

#: Share of the nights in which the bar has to hold for an event to be called safe.
WANTED = 0.85
#: How sure that must be, to either side.
CONFIDENCE = 0.95


class Verdict(StrEnum):
    """What is said of a planned event."""

    SAFE = "safe"
    NOT_SAFE = "not safe"
    NOT_DECIDABLE = "not decidable"


@dataclass(frozen=True, slots=True)
class Holding:
    """Of so many seeds so many kept to the bar."""

    kept: int
    count: int

    @property
    def low(self) -> float:
        """Return the least share of all nights that may hold, one-sided (Clopper-Pearson)."""
        return share_bounds(self.kept, self.count, 1 - CONFIDENCE)[0]

    @property
    def high(self) -> float:
        """Return the largest share of all nights that may hold, one-sided."""
        return share_bounds(self.kept, self.count, 1 - CONFIDENCE)[1]

    @property
    def verdict(self) -> Verdict:
        """Return what may be said.

        Properties:
            More seeds that hold never make it less safe.
            Safe only if the least share that may hold is the wanted one.
        """
        if self.count and self.low >= WANTED:
            return Verdict.SAFE
        if self.count and self.high < WANTED:
            return Verdict.NOT_SAFE
        return Verdict.NOT_DECIDABLE

    @property
    def seeds_to_decide(self) -> int:
        """Return how many seeds would decide it if as many of them held as now do, about.

        By the normal approximation; a share at the wanted one itself no number would decide,
        and 10,000 is what is said then.
        """
        share = (self.kept + 1) / (self.count + 2)
        apart = abs(share - WANTED)
        wanted = 10_000.0 if apart == 0 else 1.645**2 * share * (1 - share) / apart**2
        return int(min(10_000, max(2 * self.count, math.ceil(wanted / 10) * 10)))
