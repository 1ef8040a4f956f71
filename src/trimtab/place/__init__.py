"""Pulsar's placement strategies: which broker gets a bundle that has no owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trimtab.model import (
    AvgShedderMemory,
    ClusterLoad,
    History,
    Ints,
    Placement,
    RoundRobinMemory,
)
from trimtab.place.avg_shedder import avg_shedder, avg_shedder_3_0, drawn, drawn_3_0
from trimtab.place.least_long_term_message_rate import (
    least_long_term_message_rate,
    least_long_term_message_rate_2_10,
)
from trimtab.place.least_resource_usage_with_weight import least_resource_usage_with_weight
from trimtab.place.round_robin_broker_selector import round_robin_broker_selector
from trimtab.releases import newest_entry
from trimtab.scores import forget, keep
from trimtab.settings import (
    avg_shedder_settings,
    least_long_term_message_rate_settings,
    least_resource_usage_with_weight_settings,
    round_robin_broker_selector_settings,
)

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


class Placer(Protocol[Memory, Settings_contra]):
    """A placer names the brokers among which the owner of a bundle is drawn.

    - It must name candidates only, in candidate order, and none only if there are none.
    - It must return the same for the same arguments; the draw among the best is left to
      the caller, who holds the generator, and who tells `PlacerEntry.drawn` what came of it.
    - It may raise `UnreportedCandidateError` for a candidate without a load report, and
      `NoCandidatesError` where the Java throws for want of them.
    - It may not change its arguments, look at a clock, log, or remember anything but in
      the memory that it returns.
    """

    def __call__(
        self,
        load: ClusterLoad,
        bundle: str,
        candidates: Ints,
        memory: Memory,
        settings: Settings_contra,
        /,
    ) -> tuple[Placement, Memory]:
        """Choose for one bundle."""
        ...


def _unremembered(memory: Memory, bundle: str, broker: str) -> Memory:
    """Remember nothing of a draw."""
    del bundle, broker
    return memory


@dataclass(frozen=True, slots=True)
class PlacerEntry(Generic[Memory, Settings]):
    """A placer with what a caller needs to run it."""

    #: The strategy.
    place: Placer[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.  A class that sheds too has
    #: one memory for both: the placer is given what the shedder returned, and back.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory]
    #: Remembers who was drawn among the best for a bundle; to be told after each placement.
    drawn: Callable[[Memory, str, str], Memory] = _unremembered


#: (simple name of Pulsar's class, release from which on) → the placer.  Releases are those
#: in which a behaviour was first seen, where Pulsar's notes name none.
PLACERS: Mapping[tuple[str, str], PlacerEntry[Any, Any]] = {
    ("LeastLongTermMessageRate", "2.10.0"): PlacerEntry(
        place=least_long_term_message_rate_2_10,
        settings=least_long_term_message_rate_settings,
        memory=None,
        forget=keep,
    ),
    ("LeastLongTermMessageRate", "4.0.0"): PlacerEntry(
        place=least_long_term_message_rate,
        settings=least_long_term_message_rate_settings,
        memory=None,
        forget=keep,
    ),
    ("LeastResourceUsageWithWeight", "3.0.0"): PlacerEntry(
        place=least_resource_usage_with_weight,
        settings=least_resource_usage_with_weight_settings,
        memory=History(),
        forget=forget,
    ),
    ("RoundRobinBrokerSelector", "3.0.0"): PlacerEntry(
        place=round_robin_broker_selector,
        settings=round_robin_broker_selector_settings,
        memory=RoundRobinMemory(),
        forget=keep,
    ),
    ("AvgShedder", "3.0.7"): PlacerEntry(
        place=avg_shedder_3_0,
        settings=avg_shedder_settings,
        memory=AvgShedderMemory(),
        forget=keep,
        drawn=drawn_3_0,
    ),
    ("AvgShedder", "4.0.0"): PlacerEntry(
        place=avg_shedder,
        settings=avg_shedder_settings,
        memory=AvgShedderMemory(),
        forget=keep,
        drawn=drawn,
    ),
}


def placer(name: str, release: str) -> PlacerEntry[Any, Any] | None:
    """Look up the placer that a class was in a release; None if it is not known.

    Args:
        name: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(PLACERS, name, release)
