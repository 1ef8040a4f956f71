"""Needs of many seeds → how many brokers, how sure, and the curve of brokers against risk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.lab.outcomes.intervals import share_bounds
from trimtab.lab.sizing.need import Need, share_needs
from trimtab.trials.sweep.task import Row, Status

#: How sure it is that the number that is called sure is not too few.
SURE = 0.99
#: Ends of the range of nine seeds in ten.
_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class Needs:
    """How many brokers each seed's night needs, over at least one seed."""

    values: tuple[Need, ...]

    @property
    def usual(self) -> float:
        """Return the number from which on all will do on half of the nights."""
        return self.at(0.5)

    @property
    def sure(self) -> float:
        """Return a number from which on all will do, as sure as `SURE`.

        By the largest need of the seeds where they are too few for the quantile itself.
        """
        return self.at(SURE)

    def at(self, share: float) -> float:
        """Return the number from which on all will do on so large a share of the seeds."""
        return share_needs(self.values, share)

    def document(self) -> dict[str, Any]:
        """Return it as plain values; None where no number will do."""
        ends = {
            "usual": self.usual,
            "low": self.at(_LOW),
            "high": self.at(_HIGH),
            "sure": self.sure,
        }
        numbers = {name: whole(end) for name, end in ends.items()}
        return {**numbers, "seeds": len(self.values)}

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the needs that some number meets."""
        return tuple(int(each.least) for each in self.values if math.isfinite(each.least))

    @property
    def nights(self) -> tuple[int, ...]:
        """Return which recorded nights they are of."""
        return tuple(sorted({each.night for each in self.values}))

    def of(self, night: int) -> Needs:
        """Return those of one recorded night."""
        return Needs(tuple(each for each in self.values if each.night == night))

    def without(self, night: int) -> Needs:
        """Return those of all other recorded nights."""
        return Needs(tuple(each for each in self.values if each.night != night))


def whole(number: float) -> int | None:
    """Return a number of brokers as plain values have it; None for infinity."""
    return int(number) if math.isfinite(number) else None


def needs_of(rows: Sequence[Row], growth: float) -> Needs | None:
    """Return what the seeds of one growth need; None if no run came to its end."""
    values = [
        Need.of(dict(row["numbers"]))
        for row in rows
        if row["scenario"] == f"{growth:g}" and row["status"] == Status.OK
    ]
    return Needs(tuple(values)) if values else None


def curve(needs: Needs, counts: Iterable[int]) -> list[dict[str, float]]:
    """Return the risk of each number of brokers: nights like these that break the bar on it.

    Returns:
        The share of the seeds, with the interval that holds that of all nights in nine cases
        of ten (Clopper-Pearson).
    """
    count, points = len(needs.values), []
    for brokers in counts:
        broken = sum(not each.keeps(brokers) for each in needs.values)
        low, high = share_bounds(broken, count, _LOW)
        points.append({"brokers": brokers, "risk": broken / count, "low": low, "high": high})
    return points
