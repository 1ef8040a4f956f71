"""What the simulator knows while it records, and no recording says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import BundleTraffic
from trimtab.trials.record.lines import Shed
from trimtab.trials.record.listener import Selection, Unloading, Write


@dataclass(frozen=True, slots=True)
class Decided:
    """A round that the shedder decided, by what it was given and what it remembered."""

    time_ms: int
    shed: Shed
    #: What each bundle carried, as the leader had it then.
    traffic: BundleTraffic


@dataclass(slots=True)
class Witness:
    """Notes what is decided and done."""

    #: Bundles' names, as the listener speaks of positions.
    bundles: tuple[str, ...]
    brokers: tuple[str, ...]
    rounds: list[Decided] = field(default_factory=list)
    #: Selections of a round, and its unloads, each with the position of its round.
    selections: list[tuple[int, Selection]] = field(default_factory=list)
    unloads: list[tuple[int, Unloading]] = field(default_factory=list)
    elections: list[tuple[int, int]] = field(default_factory=list)
    #: Who takes a bundle when: (ms, bundle, broker).
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    #: Broker → epoch ms of the reports that it wrote.
    writes: dict[int, list[int]] = field(default_factory=dict)
    memories: list[Any] = field(default_factory=list)

    def wrote(self, write: Write) -> None:
        """Note a report."""
        self.writes.setdefault(write.broker, []).append(write.time_ms)

    def left(self, time_ms: int, broker: int) -> None:
        """Let a broker go."""

    def elected(self, time_ms: int, broker: int) -> None:
        """Note who leads."""
        self.elections.append((time_ms, broker))

    def flushed(self, time_ms: int, view: LeaderView) -> None:
        """Let averages be stored."""

    def decided(self, time_ms: int, shed: Shed) -> None:
        """Note a round, with its bundles' averages before they change."""
        self.rounds.append(Decided(time_ms, shed, shed.load.bundle_traffic()))

    def selected(self, selection: Selection) -> None:
        """Note a selection of a round."""
        if not selection.is_lookup:
            self.selections.append((len(self.rounds) - 1, selection))

    def unloading(self, unloading: Unloading) -> None:
        """Note an unload."""
        self.unloads.append((len(self.rounds) - 1, unloading))

    def owned(self, time_ms: int, bundle: int, source: int, target: int) -> None:
        """Note a new owner."""
        del source
        self.taken.append((time_ms, bundle, target))

    def passed(self, time_s: float) -> None:
        """Let time pass."""
