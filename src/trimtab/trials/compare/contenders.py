"""A comparison as plain values, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure over the seeds: its median, and the interval that the page shows with it.

    Infinite is what never came about on most seeds; None is what could not be taken.
    """

    median: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Contender:
    """One strategy with its settings in one scenario, or on one recording."""

    scenario: str
    #: For a person: who sheds and who places.
    label: str
    #: A class of Pulsar's, or `none`.
    shedder: str
    placement: str
    release: str
    #: Keys of broker.conf beside those of the scenario.
    settings: Mapping[str, str]
    #: That came to their end.
    runs: int
    is_baseline: bool
    #: Nobody has less of the one measure of the picture without more of the other.
    is_on_frontier: bool
    #: By name; docs/outcomes.md has units and definitions.
    measures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, repr=False)
class Compared:
    """Strategies side by side, as `trimtab compare` has them."""

    #: Scenario by scenario, the baseline first.
    contenders: tuple[Contender, ...]
    #: Whether the replay of a recording reproduces what really happened, without which nothing
    #: is ranked; None where scenarios were compared.
    is_trusted: bool | None
    #: One HTML file that needs no network.
    page: Path
    #: comparison.json as it was written.
    document: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return how many were compared, and where the page is."""
        return f"<Compared: {len(self.contenders)} contenders, {self.page}>"


def contenders(scenario: str, strategies: Iterable[Mapping[str, Any]]) -> tuple[Contender, ...]:
    """Return the strategies of a document's scenario, or of its recording."""
    names = [
        field.name for field in fields(Contender) if field.name not in ("scenario", "measures")
    ]
    return tuple(
        Contender(
            scenario=scenario,
            measures={name: _estimate(**of["median"]) for name, of in each["measures"].items()},
            **{name: each[name] for name in names},
        )
        for each in strategies
    )


def _estimate(estimate: Any, low: Any, high: Any, count: int) -> Estimate:  # noqa: ANN401
    """Return an interval of a document, in which an infinite number is text."""
    del count
    numbers = (None if value is None else float(value) for value in (estimate, low, high))
    return Estimate(*numbers)
