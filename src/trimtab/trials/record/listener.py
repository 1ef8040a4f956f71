"""What a simulation tells while it goes on, and whoever listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView
from trimtab.trials.record.lines import Shed


@dataclass(frozen=True, slots=True)
class Write:
    """A load report, written."""

    time_ms: int
    broker: int
    report: Report


@dataclass(frozen=True, slots=True)
class Selection:
    """A broker was selected for a bundle."""

    time_ms: int
    bundle: int
    #: For each time the placer drew: among how many, and whether these were all.
    draws: tuple[tuple[int, bool], ...]
    #: None if nobody was there.
    broker: int | None
    is_lookup: bool
    #: Broker → the placer's score, of the candidates that it was asked about last.
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Unloading:
    """The leader begins to unload a bundle."""

    time_ms: int
    bundle: int
    source: int
    #: None for a release that leaves the choice to the next lookup.
    target: int | None
    took_s: float


class Listener(Protocol):
    """Whoever writes it down."""

    def wrote(self, write: Write) -> None:
        """Take a report."""

    def left(self, time_ms: int, broker: int) -> None:
        """Take that a broker's node is gone."""

    def elected(self, time_ms: int, broker: int) -> None:
        """Take that a broker leads."""

    def flushed(self, time_ms: int, view: LeaderView) -> None:
        """Take that the leader stores its averages."""

    def decided(self, time_ms: int, shed: Shed) -> None:
        """Take what a shedder decides."""

    def selected(self, selection: Selection) -> None:
        """Take a placement."""

    def unloading(self, unloading: Unloading) -> None:
        """Take that an unload begins."""

    def owned(self, time_ms: int, bundle: int, source: int, target: int) -> None:
        """Take that a bundle changes hands; -1 is nobody."""

    def passed(self, time_s: float) -> None:
        """Take that time has passed, and how far."""
