"""The strategies of a balancer with what they remember."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.model import (
    ClusterLoad,
    Decision,
    Ints,
    LostRoundError,
    NoCandidatesError,
    Placement,
    UnreportedCandidateError,
)
from trimtab.pulsar.place import PlacerEntry, placer
from trimtab.pulsar.shed import ShedderEntry, shedder


class Strategies:
    """A shedder and a placer; a class that is both has one memory.

    Raises:
        LookupError: a class is not in the release.
        SettingError: a setting cannot be read.
    """

    def __init__(self, balancer: Balancer) -> None:
        """Make the strategy objects."""
        self.balancer = balancer
        self.shedder: ShedderEntry[Any, Any] | None = None
        if balancer.shedder is not None:
            self.shedder = shedder(balancer.shedder, balancer.release)
            if self.shedder is None:
                raise LookupError(f"{balancer.shedder} is not in {balancer.release}")
            self._shedder_settings = self.shedder.settings(balancer.conf, balancer.release)
        entry = placer(balancer.placer, balancer.release)
        if entry is None:
            raise LookupError(f"{balancer.placer} is not in {balancer.release}")
        self.placer: PlacerEntry[Any, Any] = entry
        self._placer_settings = entry.settings(balancer.conf, balancer.release)
        #: Shedder and placer are one class, and so one object.
        self.is_one = balancer.shedder == balancer.placer
        #: One of them asks for the averages of all bundles.
        self.needs_averages = "AvgShedder" in (balancer.shedder, balancer.placer)
        self.reset()

    def reset(self) -> None:
        """Remember nothing, as in a broker that has just become leader."""
        self._placer_memory: Any = self.placer.memory
        self._shedder_memory: Any = None if self.shedder is None else self.shedder.memory

    def forget(self, active: Collection[str]) -> None:
        """Hear which brokers are there."""
        self._placer_memory = self.placer.forget(self._placer_memory, active)
        if self.shedder is not None:
            self._shedder_memory = self.shedder.forget(self._shedder_memory, active)

    def shed(self, load: ClusterLoad) -> Decision:
        """Decide one round.

        Raises:
            LostRoundError: the Java class throws.
        """
        assert self.shedder is not None
        try:
            decision, memory = self.shedder.shed(load, self._shedder_memory, self._shedder_settings)
        except LostRoundError as lost:
            self._remember_shed(lost.memory)
            raise
        self._remember_shed(memory)
        return decision

    def completed(self) -> None:
        """Hear that the leader has gone through all that was shed."""
        if self.shedder is not None:
            self._remember_shed(self.shedder.completed(self._shedder_memory))

    def place(self, load: ClusterLoad, bundle: str, candidates: Ints) -> Placement:
        """Return the brokers among which one is drawn for a bundle.

        Raises:
            UnreportedCandidateError, NoCandidatesError: the Java class throws.
        """
        try:
            placement, memory = self.placer.place(
                load, bundle, candidates, self._placer_memory, self._placer_settings
            )
        except (UnreportedCandidateError, NoCandidatesError) as error:
            self._remember_placed(error.memory)
            raise
        self._remember_placed(memory)
        return placement

    def drawn(self, bundle: str, broker: str) -> None:
        """Tell the placer who was drawn."""
        self._remember_placed(self.placer.drawn(self._placer_memory, bundle, broker))

    def _remember_shed(self, memory: object) -> None:
        self._shedder_memory = memory
        if self.is_one:
            self._placer_memory = memory

    def _remember_placed(self, memory: object) -> None:
        self._placer_memory = memory
        if self.is_one:
            self._shedder_memory = memory
