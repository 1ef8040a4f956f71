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
        #: One of them asks for the averages of all bundles.
        self.needs_averages = "AvgShedder" in (balancer.shedder, balancer.placer)
        #: One of them asks for the long-term rates of all brokers.
        self.needs_long_rates = "LeastLongTermMessageRate" in (balancer.shedder, balancer.placer)
        self.reset()

    def reset(self) -> None:
        """Remember nothing, as in a broker that has just become leader."""
        #: Class → what it remembers: one that sheds and places is one object.
        self._memory: dict[str | None, Any] = {self.balancer.placer: self.placer.memory}
        if self.shedder is not None:
            self._memory[self.balancer.shedder] = self.shedder.memory

    def forget(self, active: Collection[str]) -> None:
        """Hear which brokers are there."""
        placer, shedder = self.balancer.placer, self.balancer.shedder
        self._memory[placer] = self.placer.forget(self._memory[placer], active)
        if self.shedder is not None:
            self._memory[shedder] = self.shedder.forget(self._memory[shedder], active)

    @property
    def memory(self) -> Any:  # noqa: ANN401  # each class has its own
        """Return what the shedder remembers; None if there is none, or it does not."""
        return None if self.shedder is None else self._memory[self.balancer.shedder]

    def remember(self, memory: Any) -> None:  # noqa: ANN401  # each class has its own
        """Let the shedder remember something else."""
        self._memory[self.balancer.shedder] = memory

    def would(
        self,
        load: ClusterLoad,
        memory: Any,  # noqa: ANN401  # each class has its own
    ) -> tuple[Decision, Any]:
        """Return what the shedder decides if it remembers this, and remembers then.

        Raises:
            LostRoundError: the Java class throws.
        """
        assert self.shedder is not None
        return self.shedder.shed(load, memory, self._shedder_settings)

    def shed(self, load: ClusterLoad) -> Decision:
        """Decide one round.

        Raises:
            LostRoundError: the Java class throws.
        """
        assert self.shedder is not None
        name = self.balancer.shedder
        try:
            decision, memory = self.shedder.shed(load, self._memory[name], self._shedder_settings)
        except LostRoundError as lost:
            self._memory[name] = lost.memory
            raise
        self._memory[name] = memory
        return decision

    def completed(self) -> None:
        """Hear that the leader has gone through all that was shed."""
        if self.shedder is not None:
            name = self.balancer.shedder
            self._memory[name] = self.shedder.completed(self._memory[name])

    def place(self, load: ClusterLoad, bundle: str, candidates: Ints) -> Placement:
        """Return the brokers among which one is drawn for a bundle.

        Raises:
            UnreportedCandidateError, NoCandidatesError: the Java class throws.
        """
        name = self.balancer.placer
        try:
            placement, memory = self.placer.place(
                load, bundle, candidates, self._memory[name], self._placer_settings
            )
        except (UnreportedCandidateError, NoCandidatesError) as error:
            self._memory[name] = error.memory
            raise
        self._memory[name] = memory
        return placement

    def drawn(self, bundle: str, broker: str) -> None:
        """Tell the placer who was drawn."""
        name = self.balancer.placer
        self._memory[name] = self.placer.drawn(self._memory[name], bundle, broker)
