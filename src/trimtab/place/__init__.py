"""Pulsar's placement strategies: which broker gets a bundle that has no owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trimtab.model import ClusterLoad, History, Ints, Placement
from trimtab.place.least_resource_usage_with_weight import least_resource_usage_with_weight
from trimtab.scores import forget
from trimtab.settings import least_resource_usage_with_weight_settings

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


class Placer(Protocol[Memory, Settings_contra]):
    """A placer names the brokers among which the owner of a bundle is drawn.

    - It must name candidates only, in candidate order, and none only if there are none.
    - It must return the same for the same arguments; the draw among the best is left to
      the caller, who holds the generator.
    - It may raise `UnreportedCandidateError` for a candidate without a load report.
    - It may not change its arguments, look at a clock, log, or remember anything but in
      the memory that it returns.
    """

    def __call__(
        self, load: ClusterLoad, candidates: Ints, memory: Memory, settings: Settings_contra, /
    ) -> tuple[Placement, Memory]:
        """Choose for one bundle."""
        ...


@dataclass(frozen=True, slots=True)
class PlacerEntry(Generic[Memory, Settings]):
    """A placer with what a caller needs to run it."""

    #: The strategy.
    place: Placer[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory]


#: (simple name of Pulsar's class, release line) → the placer.
PLACERS: Mapping[tuple[str, str], PlacerEntry[Any, Any]] = {
    ("LeastResourceUsageWithWeight", "4.0"): PlacerEntry(
        place=least_resource_usage_with_weight,
        settings=least_resource_usage_with_weight_settings,
        memory=History(),
        forget=forget,
    ),
}
