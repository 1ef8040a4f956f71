"""What the leader knows, and the load that it shows to the strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trimtab.bundles import is_system_bundle, namespace
from trimtab.map_order import (
    ConcurrentHashMapKeys,
    concurrent_hash_map_order,
    hash_map_order,
    hash_map_size,
    string_hash,
)
from trimtab.model import BundleData, ClusterLoad, Flags, Floats, Ints, Preallocations
from trimtab.simulate.averages import Averages, throughput
from trimtab.simulate.cluster import Cluster
from trimtab.simulate.listings import Listings, first_writes
from trimtab.simulate.parameters import Measuring
from trimtab.simulate.reports import Reports, Writes
from trimtab.simulate.windows import Counted


@dataclass(slots=True)
class Leader:
    """The maps of the leader; all brokers have the same reports and averages.

    Quirks:
        A bundle that two reports list at a time gets one sample a recomputation here, of
        the newer report, where Pulsar takes one of each.
    """

    cluster: Cluster
    reports: Reports
    measuring: Measuring
    release: str
    #: The strategies ask for the averages of all bundles.
    shows_averages: bool
    averages: Averages = field(init=False)
    listings: Listings = field(init=False)
    #: (n_bundles,) s at which it was unloaded last.
    unloaded_s: Floats = field(init=False)
    #: (bundle, broker) on their way, in the order of preallocation.
    ahead: dict[int, int] = field(default_factory=dict)
    #: Bundles that were placed without being known.
    _guests: list[int] = field(default_factory=list)
    _broker_keys: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)
    #: Positions of the brokers that it knows, in the order of its map and of its set.
    order: Ints = field(init=False)
    set_order: Ints = field(init=False)
    _set_size: int = 0
    _is_system: Flags = field(init=False)
    _ranks: dict[int, tuple[Ints, tuple[str, ...]]] = field(default_factory=dict)
    #: Known bundles, as the strategies were given them last.
    _rows: dict[str, int] = field(default_factory=dict)
    _names: NDArray[np.object_] = field(init=False)
    #: What was laid out last, and the bundles in it, as long as nothing has changed.
    _shown: tuple[ClusterLoad, Ints] | None = None

    def __post_init__(self) -> None:
        """Begin with the brokers that are up, which have written empty reports."""
        names = self.cluster.bundles.names
        self.averages = Averages(len(names))
        self.listings = Listings(len(names), self.averages)
        self.unloaded_s = np.full(len(names), -np.inf)
        self._names = np.array(names, dtype=np.object_)
        self._is_system = _are_system(names, self.release)
        for broker in np.flatnonzero(self.cluster.is_registered).tolist():
            self._broker_keys.put(self.cluster.machines.names[broker])
        self._members_changed()

    # -------------------------------------------------------------- what it hears

    def take(self, writes: Writes, was_behind: Flags, counted: Counted) -> None:
        """Take what brokers measured and wrote in a stretch; each write is a recomputation."""
        owner, count = self.cluster.owner, self.cluster.nobody
        if writes.tick.size:
            self._recomputes()
        stale = first_writes(writes, self.averages.clock, False, count)
        stale[:-1] *= was_behind
        if stale.any():
            self.listings.write(owner, stale)
        self.listings.count(counted)
        fresh = first_writes(writes, self.averages.clock, True, count)
        if fresh.any():
            self.listings.write(owner, fresh)
        self.averages.clock += writes.tick.size
        self._shown = None if writes.tick.size else self._shown

    def join(self, broker: int) -> None:
        """Meet a broker: its node and its parent's change."""
        self._broker_keys.put(self.cluster.machines.names[broker])
        self._members_changed()
        self.recompute(2)

    def drop(self, broker: int) -> None:
        """Lose a broker, with all that it said."""
        self._broker_keys.remove(self.cluster.machines.names[broker])
        self.averages.up_to_date()
        self.listings.drop(broker, self.cluster.owned(broker))
        self._members_changed()
        self.recompute(2)

    def forget(self, bundle: int) -> None:
        """Forget a bundle that is no more, with all that anybody said of it."""
        listings = self.listings
        listings.is_listed[bundle] = listings.is_written[bundle] = False
        listings.formers = [f for f in listings.formers if f.bundle != bundle]
        self.averages.forget(np.array([bundle]))
        self._shown = None

    def recompute(self, times: int) -> None:
        """Feed every average so many samples more."""
        self._recomputes()
        self.averages.clock += times
        self._shown = None

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note a change of owner, of which nothing is known until somebody reports it."""
        self.listings.move(bundle, source, target)
        self._shown = None

    def preallocate(self, bundle: int, broker: int) -> None:
        """Give a bundle to a broker that does not report it yet."""
        self.meet(bundle)
        self.ahead[bundle] = broker
        self._shown = None

    def meet(self, bundle: int) -> None:
        """Make averages of a bundle that is to be placed and is not known."""
        if not self.averages.is_known[bundle]:
            self.averages.meet(np.array([bundle]), self.averages.clock)
            self._guests.append(bundle)
            self._shown = None

    def unloaded(self, bundle: int, time_s: float) -> None:
        """Remember when a bundle was unloaded, for the grace period."""
        self.unloaded_s[bundle] = time_s
        self._shown = None

    def start_anew(self) -> None:
        """Be another broker: reports and averages are everywhere, the rest is lost."""
        self.unloaded_s[:] = -np.inf
        self.ahead.clear()
        self._set_size = 0
        self._members_changed()

    def _recomputes(self) -> None:
        """Clear what a recomputation clears: preallocations, and bundles of nobody's report."""
        # Pulsar keeps those of the leader itself, of which it can see that it owns them.
        self.ahead.clear()
        if self._guests:
            guests, self._guests = np.array(self._guests), []
            self.listings.forget_unreported(guests)

    def _members_changed(self) -> None:
        names = self.cluster.machines.names
        position = {name: i for i, name in enumerate(names)}
        walked = self._broker_keys.walk()
        self.order = np.array([position[name] for name in walked], np.int64)
        self._set_size = hash_map_size(len(walked), self._set_size)
        in_set = hash_map_order(walked, self._set_size)
        self.set_order = np.array([position[name] for name in in_set], np.int64)
        self._shown = None

    # -------------------------------------------------------------- what it shows

    def known(self) -> tuple[str, ...]:
        """Name the brokers that it knows, in the order of its map."""
        return tuple(self.cluster.machines.names[i] for i in self.order.tolist())

    def load(self, unloaded_before_s: float) -> ClusterLoad:
        """Lay out what it knows.

        Args:
            unloaded_before_s: bundles unloaded at this time or later are left alone.
        """
        if self._shown is None:
            self._shown = self._laid_out()
        load, bundles = self._shown
        can_go = self.averages.is_known & ~self._is_system & (self.unloaded_s < unloaded_before_s)
        return replace(load, bundle_is_sheddable=can_go[bundles])

    def _laid_out(self) -> tuple[ClusterLoad, Ints]:
        averages, order, reports = self.averages, self.order, self.reports
        averages.up_to_date()
        bundles, owner, names = self._entries()
        place = np.full(self.cluster.nobody, -1)
        place[order] = np.arange(order.size)
        short, long = averages.short, averages.long
        size = self.cluster.bundles.message_bytes
        rates = [rate[bundles] for rate in (short.rate_in, short.rate_out)]
        samples, bytes_ = short.samples[bundles], size[bundles]
        at = place[owner]
        totals = reports.written_totals[order].T
        load = ClusterLoad(
            brokers=self.known(),
            resource_usage=self._resources(order),
            resource_limit=np.full((order.size, 5), 100.0),
            rate_in=totals[0],
            rate_out=totals[1],
            throughput_in=totals[2],
            throughput_out=totals[3],
            bundle_count=reports.written_bundles[order],
            bundles=names,
            bundle_broker=at,
            bundle_rate_in=rates[0],
            bundle_rate_out=rates[1],
            bundle_throughput_in=throughput(rates[0], samples, bytes_),
            bundle_throughput_out=throughput(rates[1], samples, bytes_),
            bundle_is_sheddable=np.zeros(bundles.size, np.bool_),
            long_rate_in=_by_broker(at, long.rate_in[bundles], order.size),
            long_rate_out=_by_broker(at, long.rate_out[bundles], order.size),
            preallocations=self._preallocations(place),
            bundle_data=self._bundle_data() if self.shows_averages else None,
        )
        return load, bundles

    def _entries(self) -> tuple[Ints, Ints, tuple[str, ...]]:
        """List (bundle, broker) of all reports in the order in which the leader walks them."""
        listings, owner = self.listings, self.cluster.owner
        ranked, names = self._ranked()
        formers = [f for f in listings.formers if f.is_written]
        if listings.is_written.all() and not formers:
            return ranked, owner[ranked], names
        bundles = ranked[listings.is_written[ranked]]
        brokers = owner[bundles]
        if formers:
            rank = np.empty(ranked.size, np.int64)
            rank[ranked] = np.arange(ranked.size)
            bundles = np.append(bundles, [f.bundle for f in formers]).astype(np.int64)
            brokers = np.append(brokers, [f.broker for f in formers]).astype(np.int64)
            by_rank = np.argsort(rank[bundles], kind="stable")
            bundles, brokers = bundles[by_rank], brokers[by_rank]
        return bundles, brokers, tuple(self._names[bundles].tolist())

    def _ranked(self) -> tuple[Ints, tuple[str, ...]]:
        """Order all bundles as the copy of the leader's map is walked that shedders get."""
        known = int(np.count_nonzero(self.averages.is_known & ~self._is_system))
        size = hash_map_size(known)
        if size not in self._ranks:
            names = concurrent_hash_map_order(self.cluster.bundles.names)
            walked = hash_map_order(names, size)
            if hash_map_size(len(names)) > size:
                # The table is as large as what is known makes it, not as all there is would.
                walked = tuple(sorted(names, key=lambda name: _bin(name, size)))
            position = {name: i for i, name in enumerate(self.cluster.bundles.names)}
            self._ranks[size] = np.array([position[name] for name in walked], np.int64), walked
        return self._ranks[size]

    def _resources(self, order: Ints) -> Floats:
        usage = self.reports.written_usage[order]
        resources = np.empty((order.size, 5))
        resources[:, 0] = usage[:, 0]
        resources[:, 1] = self.measuring.memory_percent
        resources[:, 2] = self.measuring.direct_memory_percent
        resources[:, 3:] = usage[:, 1:]
        return resources

    def _preallocations(self, place: Ints) -> Preallocations:
        ahead = [(b, place[broker]) for b, broker in self.ahead.items() if place[broker] >= 0]
        bundles = np.array([bundle for bundle, _ in ahead], np.int64)
        brokers = np.array([broker for _, broker in ahead], np.int64)
        long = self.averages.long
        return Preallocations(brokers, long.rate_in[bundles], long.rate_out[bundles])

    def _bundle_data(self) -> BundleData:
        averages, bundles = self.averages, self.cluster.bundles
        if averages.changed:
            # Whoever has been given the rows before may still hold them.
            self._rows = self._rows.copy()
            for bundle in averages.changed:
                if averages.is_known[bundle]:
                    self._rows[bundles.names[bundle]] = bundle
                else:
                    self._rows.pop(bundles.names[bundle], None)
            averages.changed.clear()
        values = averages.contents(bundles.message_bytes, bundles.topics)
        return BundleData(self._rows, averages.numbers.copy(), values)


def _are_system(names: Sequence[str], release: str) -> Flags:
    """Tell which bundles are Pulsar's own, asking once a namespace."""
    answers: dict[str, bool] = {}
    for name in names:
        owner = namespace(name)
        if owner not in answers:
            answers[owner] = is_system_bundle(name, release)
    return np.array([answers[namespace(name)] for name in names], np.bool_)


def _by_broker(broker: Ints, values: Floats, count: int) -> Floats:
    """Add values up by broker."""
    return np.bincount(broker, values, count).astype(np.float64, copy=False)


def _bin(name: str, table_size: int) -> int:
    """Say in which bin of a HashMap a key is."""
    value = string_hash(name)
    return (value ^ (value >> 16)) & (table_size - 1)
