"""The nouns: what a round of load is, and what a strategy answers.

Shapes and units stand here, at the field, and nowhere else.  No functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

#: The five resources of a load report, in the order of every array with a resource axis.
RESOURCES = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")


class Reason(StrEnum):
    """Why a broker sheds or does not; Pulsar's own words."""

    OVERLOADED = "Overloaded"
    UNDERLOADED = "Underloaded"
    BALANCED = "Balanced"
    NO_BUNDLES = "NoBundles"
    SOLE_BUNDLE = "SoleBundle"
    LOW_THROUGHPUT = "LowThroughput"
    COOL_DOWN = "CoolDown"
    OUTDATED_DATA = "OutDatedData"
    NO_LOAD_DATA = "NoLoadData"
    NO_BROKERS = "NoBrokers"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """One round's load as the leader has it: brokers and bundles are positions in arrays.

    The order of `brokers` and of `bundles` is the order in which the leader walks its
    maps: sums are taken in it and ties are broken by it.
    """

    #: Broker ids, `host:port`.
    brokers: tuple[str, ...]
    #: (n_brokers, 5) usage as reported, in the unit of its limit; columns are RESOURCES.
    resource_usage: Floats
    #: (n_brokers, 5) limit as reported; 0 or less is "unknown" and counts as no usage.
    resource_limit: Floats
    #: (n_brokers,) messages/s published, of the latest report.
    rate_in: Floats
    #: (n_brokers,) messages/s dispatched, of the latest report.
    rate_out: Floats
    #: (n_brokers,) bytes/s published, of the latest report.
    throughput_in: Floats
    #: (n_brokers,) bytes/s dispatched, of the latest report.
    throughput_out: Floats
    #: (n_brokers,) bundles that the report lists, system bundles and recent ones included.
    bundle_count: Ints
    #: Bundle names; a name stands twice while two reports list it (source and target of a move).
    bundles: tuple[str, ...]
    #: (n_bundles,) position in `brokers` of the broker that reports the bundle.
    bundle_broker: Ints
    #: (n_bundles,) short-term averages, messages/s and bytes/s.
    bundle_rate_in: Floats
    bundle_rate_out: Floats
    bundle_throughput_in: Floats
    bundle_throughput_out: Floats
    #: (n_bundles,) may be shed: has load data, is no heartbeat or SLA bundle, not recently
    #: unloaded.
    bundle_is_sheddable: Flags


@dataclass(frozen=True, slots=True)
class History:
    """Each broker's smoothed usage after the last round; a broker not named has none."""

    #: Broker ids.
    brokers: tuple[str, ...] = ()
    #: (n_brokers,) fraction.
    usage: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class Unload:
    """One bundle given up by one broker."""

    source: str
    bundle: str
    #: The destination, where the strategy plans one (Pulsar: `destBroker`).
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a shedder decided in one round, and why, broker by broker."""

    #: Per broker in the order of selection.
    unloads: tuple[Unload, ...]
    #: (n_brokers,) why each broker sheds or not, aligned with `ClusterLoad.brokers`.
    reasons: tuple[Reason, ...]
    #: (n_brokers,) the number by which brokers were ranked; higher is more loaded.
    scores: Floats
    #: Mean of the scores, summed in the leader's order.
    average: float
    #: (n_brokers,) bytes/s that the broker was to lose; NaN where nothing was asked of it.
    offload: Floats


@dataclass(frozen=True, slots=True)
class Placement:
    """The brokers among which a placer draws, and the numbers that led there."""

    #: Positions in `ClusterLoad.brokers`, in candidate order; all are equally likely.
    best: Ints
    #: (n_candidates,) the placer's score of each candidate, in candidate order.
    scores: Floats
    #: Mean of the scores, summed in candidate order.
    average: float
    #: No candidate passed the bar, so the draw is among all of them.
    is_fallback: bool


class UnreportedCandidateError(ValueError):
    """A placer met a candidate without a load report; the Java throws a null error there."""

    def __init__(self, index: int, candidate: int, memory: object) -> None:
        """Keep what the placer remembers after having failed."""
        super().__init__(
            f"candidate {index} is broker {candidate}, which has no load report: "
            "expected a position in ClusterLoad.brokers"
        )
        #: What the placer remembers after having failed.
        self.memory = memory
