"""What a simulation asks of a strategy of trimtab's own that steers it."""

from __future__ import annotations

from typing import Protocol

from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import RoundRecord
from trimtab.lab.simulate.reports import Measured


class Steers(Protocol):
    """Runs its rounds, and answers lookups."""

    def round(self, time_s: float) -> RoundRecord:
        """Run a round."""
        ...

    def place(self, time_s: float, bundle: int) -> Chosen | None:
        """Return who gets a bundle; None if there is nobody."""
        ...


class Listens(Protocol):
    """Takes part in what brokers measure, as time passes."""

    def passed(self, measured: Measured, first: int, end: int) -> None:
        """Take what brokers measured in a stretch of ticks."""
