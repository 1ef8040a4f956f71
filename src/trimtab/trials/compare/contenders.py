"""A comparison as plain values, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    return tuple(
        Contender(
            scenario=scenario,
            label=each["label"],
            shedder=each["shedder"],
            placement=each["placement"],
            release=each["release"],
            settings=each["settings"],
            runs=each["runs"],
            is_baseline=each["is_baseline"],
            is_on_frontier=each["is_on_frontier"],
            measures={name: _estimate(measure) for name, measure in each["measures"].items()},
        )
        for each in strategies
    )


def _estimate(measure: Mapping[str, Any]) -> Estimate:
    median = measure["median"]
    return Estimate(*(_number(median[name]) for name in ("estimate", "low", "high")))


def _number(value: float | str | None) -> float | None:
    """Return a number of a document, in which an infinite one is text."""
    return None if value is None else float(value)
