"""Pulsar's placement strategies: which broker gets a bundle that has no owner."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from trimtab.pulsar.model import (
    AvgShedderMemory,
    ClusterLoad,
    ExtensibleLoad,
    History,
    Ints,
    Placement,
    RoundRobinMemory,
)
from trimtab.pulsar.place.avg_shedder import (
    avg_shedder,
    avg_shedder_3_0,
    avg_shedder_5_0,
    drawn,
    drawn_3_0,
    planned_by_identity,
    planned_by_name,
    planned_by_value,
)
from trimtab.pulsar.place.extensions_least_resource_usage_with_weight import (
    extensions_least_resource_usage_with_weight,
    extensions_least_resource_usage_with_weight_bar,
    extensions_least_resource_usage_with_weight_rules,
)
from trimtab.pulsar.place.least_long_term_message_rate import (
    least_long_term_message_rate,
    least_long_term_message_rate_2_10,
    least_long_term_message_rate_rules,
)
from trimtab.pulsar.place.least_resource_usage_with_weight import (
    least_resource_usage_with_weight,
    least_resource_usage_with_weight_bar,
    least_resource_usage_with_weight_rules,
)
from trimtab.pulsar.place.round_robin_broker_selector import (
    round_robin_broker_selector,
    round_robin_broker_selector_rules,
    round_robin_broker_selector_state,
)
from trimtab.pulsar.releases import newest_entry
from trimtab.pulsar.scores import forget, keep, no_state, smoothed_state
from trimtab.pulsar.settings import (
    ExtensionsLeastResourceUsageWithWeightSettings,
    avg_shedder_settings,
    extensions_least_resource_usage_with_weight_settings,
    least_long_term_message_rate_settings,
    least_resource_usage_with_weight_settings,
)

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


class Placer(Protocol[Memory, Settings_contra]):
    """A placer names the brokers among which the owner of a bundle is drawn.

    - It must name candidates only, in candidate order; none if there are none, or where
      the Java names nobody.
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
    """Return a memory in which nothing of a draw is remembered."""
    del bundle, broker
    return memory


def _no_settings(conf: Mapping[str, str], release: str) -> None:
    """Return no settings: the class has none."""
    del conf, release


def _no_bar(placement: Placement, settings: object) -> float:
    """Return no bar: no score decides alone."""
    del placement, settings
    return math.nan


@dataclass(frozen=True, slots=True)
class PlacerEntry(Generic[Memory, Settings]):
    """A placer with what a caller needs to run it, and to tell what it did."""

    #: The strategy.
    place: Placer[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.  A class that sheds too has
    #: one memory for both: the placer is given what the shedder returned, and back.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory] = keep
    #: Remembers who was drawn among the best for a bundle; to be told if it is a fallback.
    drawn: Callable[[Memory, str, str], Memory] = _unremembered
    #: Lays out what it remembers in the words of the recorded decisions.
    state: Callable[[ClusterLoad, Memory, Settings], Mapping[str, Any]] = no_state
    #: Tells what it goes by, a line each; None: the first line of its docstring will do.
    rules: Callable[[Settings], Iterator[str]] | None = None
    #: Says down to which score a candidate passes; NaN if no score decides alone.
    bar: Callable[[Placement, Settings], float] = _no_bar
    #: It knows brokers by name and needs no report of them.
    is_by_name: bool = False
    #: Says where a bundle is planned to go; None if the class plans nothing.
    planned: Callable[[ClusterLoad, str, Memory], str | None] | None = None
    #: It looks at long-term averages: `long_rate_in`, `long_rate_out`, `bundle_data` or
    #: `preallocations` of a load; if not, a load may be without.
    reads_long: bool = True

    @property
    def remembers_draws(self) -> bool:
        """Return whether what comes next hangs on who was drawn."""
        return self.drawn is not _unremembered


_LEAST_LONG_TERM_MESSAGE_RATE = PlacerEntry(
    place=least_long_term_message_rate,
    settings=least_long_term_message_rate_settings,
    memory=None,
    rules=least_long_term_message_rate_rules,
)
_AVG_SHEDDER = PlacerEntry(
    place=avg_shedder,
    settings=avg_shedder_settings,
    memory=AvgShedderMemory(),
    drawn=drawn,
    is_by_name=True,
    planned=planned_by_value,
)
#: (simple name of Pulsar's class, release from which on) → the placer.  Releases are those
#: in which a behaviour was first seen, where Pulsar's notes name none.
PLACERS: Mapping[tuple[str, str], PlacerEntry[Any, Any]] = {
    ("LeastLongTermMessageRate", "2.10.0"): replace(
        _LEAST_LONG_TERM_MESSAGE_RATE, place=least_long_term_message_rate_2_10
    ),
    ("LeastLongTermMessageRate", "4.0.0"): _LEAST_LONG_TERM_MESSAGE_RATE,
    ("LeastResourceUsageWithWeight", "3.0.0"): PlacerEntry(
        place=least_resource_usage_with_weight,
        settings=least_resource_usage_with_weight_settings,
        memory=History(),
        forget=forget,
        state=smoothed_state,
        rules=least_resource_usage_with_weight_rules,
        bar=least_resource_usage_with_weight_bar,
        reads_long=False,
    ),
    ("RoundRobinBrokerSelector", "3.0.0"): PlacerEntry(
        place=round_robin_broker_selector,
        settings=_no_settings,
        memory=RoundRobinMemory(),
        state=round_robin_broker_selector_state,
        rules=round_robin_broker_selector_rules,
        is_by_name=True,
        reads_long=False,
    ),
    ("AvgShedder", "3.0.6"): replace(
        _AVG_SHEDDER, place=avg_shedder_3_0, drawn=drawn_3_0, planned=planned_by_identity
    ),
    ("AvgShedder", "4.0.0"): _AVG_SHEDDER,
    ("AvgShedder", "5.0.1"): replace(
        _AVG_SHEDDER, place=avg_shedder_5_0, drawn=_unremembered, planned=planned_by_name
    ),
}


def placer(name: str, release: str) -> PlacerEntry[Any, Any] | None:
    """Return the placer that a class was in a release; None if it is not known.

    Args:
        name: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(PLACERS, name, release)


class ExtensiblePlacer(Protocol):
    """A placer of the extensible load manager, which remembers nothing.

    Of what a `Placer` promises it keeps the rest, for `ExtensibleLoad`.
    """

    def __call__(
        self,
        load: ExtensibleLoad,
        candidates: Ints,
        settings: ExtensionsLeastResourceUsageWithWeightSettings,
        /,
    ) -> Placement:
        """Choose for any bundle."""
        ...


@dataclass(frozen=True, slots=True)
class ExtensiblePlacerEntry:
    """A placer of the extensible load manager with what a caller needs to run it."""

    #: The strategy.
    place: ExtensiblePlacer
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], ExtensionsLeastResourceUsageWithWeightSettings]
    #: Tells what it goes by, a line each.
    rules: Callable[[ExtensionsLeastResourceUsageWithWeightSettings], Iterator[str]]
    #: Says down to which score a candidate passes.
    bar: Callable[[Placement, ExtensionsLeastResourceUsageWithWeightSettings], float]


#: As PLACERS, and apart from them, since neither load manager can run the other's.  The
#: name is that of the class behind its package, since the modular one has the name alone.
EXTENSIBLE_PLACERS: Mapping[tuple[str, str], ExtensiblePlacerEntry] = {
    ("ExtensionsLeastResourceUsageWithWeight", "3.0.0"): ExtensiblePlacerEntry(
        place=extensions_least_resource_usage_with_weight,
        settings=extensions_least_resource_usage_with_weight_settings,
        rules=extensions_least_resource_usage_with_weight_rules,
        bar=extensions_least_resource_usage_with_weight_bar,
    ),
}


def extensible_placer(name: str, release: str) -> ExtensiblePlacerEntry | None:
    """Return the extensible load manager's placer of a name; None if it is not known.

    Args:
        name: as in EXTENSIBLE_PLACERS.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(EXTENSIBLE_PLACERS, name, release)
