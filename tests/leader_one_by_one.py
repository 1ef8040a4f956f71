"""The leader's maps again, plainly: one bundle after the other, one sample at a time.

What `trimtab.diagnose.replay.leader_view` does with arrays is held against this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.leader.bundle_averages import (
    DEFAULT_STATS,
    LONG_SAMPLES,
    SHORT_SAMPLES,
    averaged,
)
from trimtab.pulsar.map_order import concurrent_hash_map_order, hash_map_order
from trimtab.pulsar.model import BundleData, ClusterLoad, Floats, Preallocations

#: The four numbers averaged for each bundle.
METRICS = ("rate_in", "rate_out", "throughput_in", "throughput_out")


@dataclass(frozen=True, slots=True)
class Report:
    """One broker's load report."""

    broker: str
    #: (5,) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (4,) METRICS of the broker.
    totals: Floats
    bundles: tuple[str, ...]
    #: Bundle → (5,) METRICS and topics.
    stats: Mapping[str, Floats]


@dataclass(slots=True)
class Average:
    """A bundle's averages (Pulsar: `BundleData`)."""

    short_samples: int
    #: (4,) METRICS.
    short: Floats
    long_samples: int
    #: (4,) METRICS.
    long: Floats
    topics: float
    #: Which object it is: a bundle forgotten and met again has another.
    number: int = 0


@dataclass(slots=True)
class LeaderView:
    """The leader's maps, as far as strategies read them.

    Quirks:
        Every notification below `/loadbalance/brokers` feeds each bundle's average one
        more sample, whether its numbers are new or not: one for a write, two when a
        broker's node comes or goes, since the parent is notified too.  So ten samples are
        ten notifications, not ten minutes.

    Source:
        impl/ModularLoadManagerImpl.java updateAll, updateBundleData; 4.0.8
    """

    reports: dict[str, Report] = field(default_factory=dict)
    averages: dict[str, Average] = field(default_factory=dict)
    stored: dict[str, Average] = field(default_factory=dict)
    #: Objects made so far.
    made: int = 0
    recently_unloaded: dict[str, float] = field(default_factory=dict)
    #: Broker → bundles given to it at lookups since, with their averages (Pulsar:
    #: `BrokerData.preallocatedBundleData`).
    given: dict[str, dict[str, Average]] = field(default_factory=dict)
    #: Bundles that the leader itself owns.
    own: set[str] = field(default_factory=set)

    def take(self, report: Report) -> None:
        """Take a broker's write."""
        self.look([report])

    def drop(self, broker: str) -> None:
        """Take the news that a broker has gone."""
        self.look([broker])

    def look(self, writes: Sequence[Report | str]) -> None:
        """Take all that was written since the last look."""
        notifications = 0
        for write in writes:
            if isinstance(write, str):
                self.given.pop(write, None)
                notifications += 2 * (self.reports.pop(write, None) is not None)
            else:
                notifications += 1 if write.broker in self.reports else 2
                self.reports[write.broker] = write
        for _ in range(notifications):
            self.recompute()

    def recompute(self) -> None:
        """Feed every reported bundle's average one sample; forget bundles nobody reports.

        What was given at lookups is forgotten too, unless the leader itself owns it and
        does not report it yet.
        """
        active: set[str] = set()
        for broker in self.order():
            for bundle, sample in self.reports[broker].stats.items():
                active.add(bundle)
                self._feed(bundle, sample)
        for bundle in self.averages.keys() - active:
            del self.averages[bundle]
        for broker, bundles in self.given.items():
            reported = self.reports[broker].bundles if broker in self.reports else ()
            for bundle in bundles.keys() - (self.own - set(reported)):
                del bundles[bundle]

    def store(self, bundle: str, average: Average) -> None:
        """Set a bundle's averages to what the leader itself wrote to the metadata store."""
        self.stored[bundle] = average
        known = self.averages.get(bundle)
        if known is None:
            self.averages[bundle] = replace(average, number=self._next())
            return
        # The leader wrote an object that it goes on with: whoever was given it has it still.
        known.short_samples, known.short = average.short_samples, average.short
        known.long_samples, known.long = average.long_samples, average.long
        known.topics = average.topics

    def meet(self, bundle: str) -> Average:
        """Return a bundle's averages; one not known begins with Pulsar's defaults."""
        average = self.averages.get(bundle)
        if average is None:
            short, long = np.array(DEFAULT_STATS), np.array(DEFAULT_STATS)
            average = self.averages[bundle] = Average(0, short, 0, long, 0.0, self._next())
        return average

    def start(self) -> None:
        """Begin as the leader's process did: with the averages that were in the store."""
        self.averages = {
            bundle: replace(average, number=self._next()) for bundle, average in self.stored.items()
        }
        self.recompute()

    def order(self) -> tuple[str, ...]:
        """Return the brokers in the order in which the leader's map walks them."""
        return concurrent_hash_map_order(self.reports)

    def forget_unloads_before(self, time_s: float) -> None:
        """Drop the unloads whose grace period is over; one exactly over stays, as in the Java."""
        self.recently_unloaded = {b: t for b, t in self.recently_unloaded.items() if t >= time_s}

    def give(self, bundle: str, broker: str) -> None:
        """Take the news that a lookup gave a bundle to a broker."""
        self.given.setdefault(broker, {})[bundle] = self.meet(bundle)

    def brokers_with_fewest(self, wanted: str) -> tuple[str, ...]:
        """Return the brokers with the fewest bundles of a namespace, in set order.

        Bundles count that a broker reports, and those that it was given since.

        Source:
            impl/LoadManagerShared.java removeMostServicingBrokersForNamespace; 4.0.8
        """
        brokers = hash_map_order(self.reports)
        counts = [
            sum(namespace(bundle) == wanted for bundle in self._served(broker))
            for broker in brokers
        ]
        kept = fewest(np.arange(len(brokers)), np.array(counts, dtype=np.int64))
        return tuple(brokers[i] for i in kept.tolist())

    def _served(self, broker: str) -> set[str]:
        return {*self.reports[broker].bundles, *self.given.get(broker, ())}

    def _feed(self, bundle: str, sample: Floats) -> None:
        average = self.meet(bundle)
        average.short_samples = min(average.short_samples + 1, SHORT_SAMPLES)
        average.short = averaged(average.short, average.short_samples, sample[:4])
        average.long_samples = min(average.long_samples + 1, LONG_SAMPLES)
        average.long = averaged(average.long, average.long_samples, sample[:4])
        average.topics = float(sample[4])

    def _next(self) -> int:
        self.made += 1
        return self.made


def broker_load(view: LeaderView) -> ClusterLoad:
    """Return the brokers' part of the view as arrays, without bundles."""
    return _load(view, (), np.empty(0, np.int64), np.empty((0, 4)), np.empty(0, np.bool_))


def cluster_load(view: LeaderView, is_system: Callable[[str], bool]) -> ClusterLoad:
    """Return the whole view as arrays.

    Args:
        view: the leader's maps.
        is_system: tells heartbeat and SLA bundles, which no shedder touches.
    """
    brokers = view.order()
    walked = concurrent_hash_map_order(view.averages)
    pool = hash_map_order(bundle for bundle in walked if not is_system(bundle))
    rank = {bundle: i for i, bundle in enumerate(pool)}
    pairs = sorted(
        (rank[bundle], bundle, i)
        for i, broker in enumerate(brokers)
        for bundle in view.reports[broker].bundles
        if bundle in rank
    )
    names = tuple(bundle for _, bundle, _ in pairs)
    values = np.array([view.averages[bundle].short for bundle in names]).reshape(-1, 4)
    sheddable = np.array([bundle not in view.recently_unloaded for bundle in names], np.bool_)
    owners = np.array([i for _, _, i in pairs], np.int64)
    return _load(view, names, owners, values, sheddable)


def _load(
    view: LeaderView,
    bundles: Sequence[str],
    owners: np.ndarray[tuple[int], np.dtype[np.int64]],
    averages: Floats,
    sheddable: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> ClusterLoad:
    brokers = view.order()
    reports = [view.reports[broker] for broker in brokers]
    totals = np.array([report.totals for report in reports]).reshape(-1, 4)
    return ClusterLoad(
        brokers=brokers,
        resource_usage=np.array([report.usage for report in reports]).reshape(-1, 5),
        resource_limit=np.array([report.limit for report in reports]).reshape(-1, 5),
        rate_in=totals[:, 0],
        rate_out=totals[:, 1],
        throughput_in=totals[:, 2],
        throughput_out=totals[:, 3],
        bundle_count=np.array([len(report.bundles) for report in reports], np.int64),
        bundles=tuple(bundles),
        bundle_broker=owners,
        bundle_rate_in=averages[:, 0],
        bundle_rate_out=averages[:, 1],
        bundle_throughput_in=averages[:, 2],
        bundle_throughput_out=averages[:, 3],
        bundle_is_sheddable=sheddable,
        long_rate_in=np.array([_long_rate(view, report, 0) for report in reports]),
        long_rate_out=np.array([_long_rate(view, report, 1) for report in reports]),
        bundle_data=_bundle_data(view),
        preallocations=_preallocations(view, brokers),
    )


def _long_rate(view: LeaderView, report: Report, metric: int) -> float:
    """Add up the long-term rates of a broker's bundles (Pulsar: `TimeAverageBrokerData`)."""
    total = 0.0
    for bundle in report.stats:
        average = view.averages.get(bundle)
        total += DEFAULT_STATS[metric] if average is None else float(average.long[metric])
    return total


def _preallocations(view: LeaderView, brokers: Sequence[str]) -> Preallocations:
    """Lay out what was given, in the order in which the leader's maps are walked."""
    found = []
    for i, broker in enumerate(brokers):
        given = view.given.get(broker, {})
        for bundle in concurrent_hash_map_order(given):
            now = view.averages.get(bundle)
            # An object that the leader has forgotten keeps the numbers that it had last.
            average = now if now and now.number == given[bundle].number else given[bundle]
            found.append((i, *average.long[:2]))
    rows = np.array(found, np.float64).reshape(-1, 3)
    return Preallocations(rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2])


def _bundle_data(view: LeaderView) -> BundleData:
    known = view.averages.values()
    return BundleData(
        rows={bundle: i for i, bundle in enumerate(view.averages)},
        numbers=np.array([average.number for average in known], np.int64),
        values=np.array([_contents(average) for average in known]).reshape(-1, 11),
    )


def _contents(average: Average) -> list[float]:
    """Return all that makes two objects of averages equal, in the order of `BundleData`."""
    short, long = average.short.tolist(), average.long.tolist()
    return [*short, average.short_samples, *long, average.long_samples, average.topics]
