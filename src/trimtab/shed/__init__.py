"""Pulsar's shedding strategies: which bundles each broker gives up in a round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trimtab.model import ClusterLoad, Decision, History
from trimtab.scores import forget
from trimtab.settings import threshold_shedder_settings
from trimtab.shed.threshold_shedder import threshold_shedder

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


class Shedder(Protocol[Memory, Settings_contra]):
    """A shedder decides which bundles each broker gives up.

    - It must give a reason, a score and an offload for every broker of the load, and
      name only bundles of the load that may be shed, each at most once a broker.
    - It must return the same for the same arguments: time comes in as a number, chance
      as a generator, both in its memory.
    - It may name a destination (`Unload.target`), and it may keep anything in memory.
    - It may not change its arguments, look at a clock, log, or remember anything but in
      the memory that it returns.
    """

    def __call__(
        self, load: ClusterLoad, memory: Memory, settings: Settings_contra, /
    ) -> tuple[Decision, Memory]:
        """Decide one round."""
        ...


@dataclass(frozen=True, slots=True)
class ShedderEntry(Generic[Memory, Settings]):
    """A shedder with what a caller needs to run it."""

    #: The strategy.
    shed: Shedder[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory]


#: (simple name of Pulsar's class, release line) → the shedder.
SHEDDERS: Mapping[tuple[str, str], ShedderEntry[Any, Any]] = {
    ("ThresholdShedder", "4.0"): ShedderEntry(
        shed=threshold_shedder,
        settings=threshold_shedder_settings,
        memory=History(),
        forget=forget,
    ),
}
