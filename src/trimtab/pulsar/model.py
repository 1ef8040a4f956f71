"""The nouns: what a round of load is, and what a strategy answers.

Shapes and units stand here, at the field, and nowhere else.  No functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.units import MEBIBYTE as MEBIBYTE  # noqa: PLC0414  # mypy takes it for meant so
from trimtab.pulsar.units import MINUTE_S as MINUTE_S  # noqa: PLC0414  # mypy takes it for meant so

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
    HIT_COUNT = "HitCount"
    OUTDATED_DATA = "OutDatedData"
    NO_LOAD_DATA = "NoLoadData"
    NO_BROKERS = "NoBrokers"
    UNKNOWN = "Unknown"


#: Reasons of brokers that did not pass the bar.
WITHIN_BAR = frozenset({Reason.BALANCED, Reason.UNDERLOADED, Reason.UNKNOWN})


class Contents(Protocol):
    """What bundles hold: an array, or what gives out rows of one that is not laid out."""

    def __getitem__(self, rows: Any, /) -> Any:  # noqa: ANN401  # as of an array
        """Return (n, 11) of (n,) rows."""


@dataclass(frozen=True, slots=True)
class BundleData:
    """The leader's averages of all bundles it knows, whether a broker reports them or not.

    Pulsar has an object of that name for each bundle; AvgShedder uses it as a key.
    """

    #: Bundle → its position in the arrays; there may be bundles that the leader does not know.
    rows: Mapping[str, int]
    #: (n,) which object it is: a bundle forgotten and met again has another number.  -1: it
    #: is not known.
    numbers: Ints
    #: (n, 11) all that makes two of them equal: short-term rates in and out, throughput
    #: in and out, number of samples; the same long-term; topics.
    values: Contents


@dataclass(frozen=True, slots=True)
class Preallocations:
    """Bundles that a broker has been given and does not report yet.

    They stand in the order in which the leader walks each broker's map of them.
    """

    #: (n_preallocated,) position in `ClusterLoad.brokers`.
    broker: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    #: (n_preallocated,) long-term average, messages/s.
    rate_in: Floats = field(default_factory=lambda: np.empty(0))
    rate_out: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class BundleTraffic:
    """What bundles carry by their short-term averages; all arrays are (n_bundles,)."""

    #: Messages/s published and dispatched.
    rate_in: Floats
    rate_out: Floats
    #: Bytes/s published and dispatched.
    throughput_in: Floats
    throughput_out: Floats

    def part(self, bundles: Ints) -> BundleTraffic:
        """Return what some of them carry."""
        return BundleTraffic(
            self.rate_in[bundles],
            self.rate_out[bundles],
            self.throughput_in[bundles],
            self.throughput_out[bundles],
        )


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
    bundles: Sequence[str]
    #: (n_bundles,) position in `brokers` of the broker that reports the bundle.
    bundle_broker: Ints
    #: Returns what the bundles carry.  It is worked out when somebody asks: a look has thousands
    #: of averages fed, and in most rounds nobody sheds.
    bundle_traffic: Callable[[], BundleTraffic]
    #: (n_bundles,) may be shed: has load data, is no heartbeat or SLA bundle, not recently
    #: unloaded.
    bundle_is_sheddable: Flags
    #: (n_brokers,) long-term averages of the broker's bundles added up, messages/s; None if
    #: not known.
    long_rate_in: Floats | None = None
    long_rate_out: Floats | None = None
    #: Bundles on their way.
    preallocations: Preallocations = field(default_factory=Preallocations)
    #: Averages of all bundles; None if not known.
    bundle_data: BundleData | None = None
    #: Returns what bundles at some positions carry, where that is less work than all; else None.
    few_traffic: Callable[[Ints], BundleTraffic] | None = field(default=None, compare=False)

    def traffic_of(self, bundles: Ints) -> BundleTraffic:
        """Return what bundles at some positions carry."""
        if self.few_traffic is None:
            return self.bundle_traffic().part(bundles)
        return self.few_traffic(bundles)


@dataclass(frozen=True, slots=True)
class History:
    """Each broker's smoothed usage after the last round; a broker not named has none."""

    #: Broker ids.
    brokers: tuple[str, ...] = ()
    #: (n_brokers,) fraction.
    usage: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class Plan:
    """Where one bundle is to go: an entry of a Java hash map whose key goes on changing."""

    #: The bundle whose `BundleData` is the key, and the number of that object.
    bundle: str
    number: int
    #: What the key held when the leader forgot it; None while it holds what the averages say.
    content: bytes | None
    is_forgotten: bool
    #: The destination.
    broker: str


@dataclass(frozen=True, slots=True)
class Plans:
    """AvgShedder's destinations (Pulsar: `bundleBrokerMap`)."""

    #: What the key held when it was put in, which is where it is looked for ever after →
    #: entries in the order of insertion.
    entries: Mapping[bytes, tuple[Plan, ...]] = field(default_factory=dict)
    #: The averages by which the keys were last brought up to date.
    averages: BundleData | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AvgShedderMemory:
    """What AvgShedder remembers; shedder and placer are one object and share it."""

    #: Broker → rounds in a row in a pair beyond the low threshold; a 0 is Pulsar's too.
    hits_low: Mapping[str, int] = field(default_factory=dict)
    #: Broker → rounds in a row in a pair beyond the high threshold.
    hits_high: Mapping[str, int] = field(default_factory=dict)
    #: Size of the hash table of the scores, which never shrinks and decides ties.
    table_size: int = 0
    #: Destinations, up to 5.0.0-M1.
    plans: Plans = field(default_factory=Plans)
    #: Bundle → the broker that gives it up and its destination, from 5.0.1 on (Pulsar:
    #: `pendingBundleToUnload`).
    pending: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoundRobinMemory:
    """What RoundRobinBrokerSelector remembers."""

    #: Selections so far.
    count: int = 0
    #: The candidates as they were when the list was last renewed.
    brokers: tuple[str, ...] = ()


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
    #: (n_brokers,) bytes/s that the broker was to lose, or messages/s if its shedder counted
    #: these; NaN where nothing was asked of it.
    offload: Floats
    #: (n_brokers,) what it was to lose is messages/s; None if all is bytes/s.
    offload_is_rate: Flags | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """The brokers among which a placer draws, and the numbers that led there."""

    #: Positions in `ClusterLoad.brokers`, in candidate order; all are equally likely.
    best: Ints
    #: (n_candidates,) the placer's score of each candidate, in candidate order; NaN for a
    #: placer that has none.
    scores: Floats
    #: Mean of the scores, summed in candidate order.
    average: float
    #: No candidate passed the bar, or none was planned, so the draw is among all of them.
    is_fallback: bool


@dataclass(frozen=True, slots=True)
class ExtensibleLoad:
    """One round's load as the leader of the extensible load manager has it.

    Brokers with load data come first, in the order in which the leader walks its store of
    them: sums are taken in it and ties are broken by it.
    """

    #: Broker ids, `host:port`.
    brokers: tuple[str, ...]
    #: (n_brokers,) has published load data; the numbers of one that has not are 0.
    has_load_data: Flags
    #: (n_brokers,) is registered, so that bundles may go to it.
    is_available: Flags
    #: (n_brokers,) usage, fraction, as the broker itself has smoothed it (`weightedMaxEMA`).
    usage: Floats
    #: (n_brokers,) bytes/s in and out together, smoothed likewise (`msgThroughputEMA`).
    throughput_smoothed: Floats
    #: (n_brokers,) bytes/s published and dispatched, as they are.
    throughput_in: Floats
    throughput_out: Floats
    #: (n_brokers,) by the broker's clock, when it computed them.
    updated_at_ms: Ints
    #: What the leader's clock shows.
    now_ms: int
    #: Each broker's heaviest bundles, in the order in which it published them, which is
    #: from the lightest to the heaviest, where those that are close count as equal.
    bundles: tuple[str, ...]
    #: (n_bundles,) position in `brokers` of the broker that published it.
    bundle_broker: Ints
    #: (n_bundles,) bytes/s.
    bundle_throughput_in: Floats
    bundle_throughput_out: Floats
    #: (n_bundles,) the broker that published it owns it, and it was not unloaded just now.
    bundle_is_sheddable: Flags
    #: (n_bundles,) its namespace has an isolation policy or an anti-affinity group.
    bundle_has_policy: Flags
    #: Bundle → the brokers that the filters leave it; one that is not named may go to any.
    filtered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Broker → when the leader last unloaded something from it, by its clock.
    unloaded_at_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transfer:
    """What TransferShedder does to a pair of brokers, the most and the least loaded left."""

    #: Positions in `ExtensibleLoad.brokers`.
    source: int
    target: int
    #: Why the pair is looked at: `Overloaded` or `Underloaded`.
    cause: Reason
    #: Why nothing moves that counts; None if something does.
    refusal: Reason | None
    #: In the order of selection; those from the target to the source are given in exchange.
    unloads: tuple[Unload, ...]
    #: Bytes/s that the source was to lose.
    offload: float
    #: Bytes/s that it loses, and that it is counted to gain in exchange.
    lost: float
    gained: float
    #: Standard deviation of usage as it is expected afterwards.
    deviation: float


@dataclass(frozen=True, slots=True)
class TransferDecision:
    """What TransferShedder decided in one round, and why."""

    #: Pairs in the order in which they were looked at.
    transfers: tuple[Transfer, ...]
    #: Why nothing is unloaded; None if something is.
    skipped: Reason | None
    #: Mean of the brokers' usage, summed in the leader's order; 0 if it was not reached.
    average: float
    #: Standard deviation of it, likewise.
    deviation: float
    #: Brokers that no longer count as just unloaded, and that the leader drops from its list.
    rested: tuple[str, ...]


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


class NoCandidatesError(ValueError):
    """A placer that must name a broker had none to choose from; the Java divides by zero."""

    def __init__(self, bundle: str, memory: object) -> None:
        """Keep what the placer remembers after having failed."""
        super().__init__(f"no candidates for {bundle}: expected at least one")
        #: What the placer remembers after having failed.
        self.memory = memory


class LostRoundError(ValueError):
    """The Java class throws, and the round of shedding is lost."""

    def __init__(self, why: str, memory: object, throws: str) -> None:
        """Keep what the shedder remembers after having failed, and what the Java throws."""
        super().__init__(f"the round is lost: {why}")
        #: Name of the Java exception.
        self.throws = throws
        #: What the shedder remembers after having failed.
        self.memory = memory
