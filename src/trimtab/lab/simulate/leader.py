"""What the leader knows, and the load that it shows to the strategies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trimtab.lab.simulate.ahead import Ahead
from trimtab.lab.simulate.averages import Averages, Snapshot
from trimtab.lab.simulate.by_namespace import ByNamespace
from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.listings import Listings, first_writes
from trimtab.lab.simulate.parameters import Measuring
from trimtab.lab.simulate.reports import Reports, Writes
from trimtab.lab.simulate.standing import Listed
from trimtab.lab.simulate.strategies import Strategies
from trimtab.lab.simulate.windows import Counted
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.leader.bundle_rows import BundleRows, RowNames
from trimtab.pulsar.map_order import (
    ConcurrentHashMapKeys,
    concurrent_hash_map_walk,
    hash_map_copy_walk,
    hash_map_order,
    hash_map_size,
)
from trimtab.pulsar.model import BundleData, BundleTraffic, ClusterLoad, Flags, Floats, Ints


@dataclass(slots=True)
class Layout:
    """A load that holds until there are other reports or averages; only bundles may come."""

    #: Without what is on its way, and with nothing that may be shed.
    load: ClusterLoad
    #: (n_bundles,) the bundles in it, by position in the cluster.
    bundles: Ints
    #: The averages of all that there are.
    averages: Snapshot
    #: Bundles that the leader knows, without Pulsar's own.
    known: int
    #: Bundles have been added.
    _has_guests: bool = False

    def add(self, row: int, number: int) -> None:
        """Add the averages of a bundle that has been met; the load must have averages.

        Its row is where those of a bundle stand that nobody knows.
        """
        averages = self.load.bundle_data
        assert averages is not None
        if not self._has_guests:
            # Whoever has been given them before may still hold them; values may be shared,
            # since nobody looks at those of a bundle that is not known.
            averages = BundleData(averages.rows, averages.numbers.copy(), averages.values)
            self.load, self._has_guests = replace(self.load, bundle_data=averages), True
        averages.numbers[row] = number
        self.averages.reset(row)


@dataclass(frozen=True, slots=True)
class Ranked:
    """All bundles in the order in which a map of them is walked; both are (n_bundles,)."""

    bundles: Ints
    #: Where in that order a bundle stands.
    rank: Ints


class Leader:
    """The maps of the leader; all brokers have the same reports and averages.

    Quirks:
        A bundle that two reports list at a time gets one sample a recomputation here, of
        the newer report, where Pulsar takes one of each.
    """

    def __init__(
        self, cluster: Cluster, reports: Reports, measuring: Measuring, strategies: Strategies
    ) -> None:
        """Begin with the brokers that are up, which have written empty reports."""
        self.cluster, self.reports, self.measuring = cluster, reports, measuring
        self.shows_averages = strategies.needs_averages
        self.shows_long_rates = strategies.needs_long_rates
        names, release = cluster.bundles.names, strategies.balancer.release
        #: Those that there are; their rows are their positions.
        self.bundles = BundleRows()
        self.bundles.rows(names)
        self._is_system = self.bundles.are_system(lambda name: is_system_bundle(name, release))
        self.averages = Averages(self.bundles)
        self.listings = Listings(self.averages)
        self.ahead = Ahead(len(names))
        self.by_namespace = ByNamespace(cluster, self.bundles, self.listings, self.ahead)
        #: (n_bundles,) s at which it was unloaded last.
        self.unloaded_s: Floats = np.full(len(names), -np.inf)
        #: Bundles that were placed without being known.
        self._guests: list[int] = []
        #: All bundles in the order of a map of them, and in that of its copies by their size.
        self._in_map: Ints = np.empty(0, np.int64)
        self._ranks: dict[int, Ranked] = {}
        #: What was laid out last, as long as no report has changed.
        self._layout: Layout | None = None
        #: The same with what is on its way now.
        self._shown: ClusterLoad | None = None
        self._broker_keys, self._set_size = ConcurrentHashMapKeys(), 0
        for broker in np.flatnonzero(cluster.is_registered).tolist():
            self._broker_keys.put(cluster.machines.names[broker])
        self._members_changed()

    # -------------------------------------------------------------- what it hears

    def take(self, writes: Writes, was_behind: Flags, counted: Counted) -> None:
        """Take what brokers measured and wrote in a stretch; each write is a recomputation."""
        if not writes.tick.size:
            self.listings.count(counted)
            return
        owner, count = self.cluster.owner, self.cluster.nobody
        self._recomputes()
        stale = first_writes(writes, self.averages.clock, False, count)
        stale[:-1] *= was_behind
        fresh = first_writes(writes, self.averages.clock, True, count)
        if stale.any():
            self.listings.vanish_first(owner, stale, fresh)
            self.listings.write(owner, stale)
        self.listings.count(counted)
        if fresh.any():
            self.listings.write(owner, fresh)
        self.averages.clock += writes.tick.size
        self._anew()

    def resume(self, listed: Listed) -> None:
        """Begin with what brokers have written before, and with the averages of then."""
        self.listings.resume(self.cluster.owner, listed)
        self._anew()

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
        listings.formers.pop(bundle, None)
        self.bundles.forget(np.array([bundle]))
        self._anew()

    def recompute(self, times: int) -> None:
        """Feed every average so many samples more."""
        self._recomputes()
        self.averages.clock += times
        self._anew()

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note a change of owner, of which nothing is known until somebody reports it."""
        if bundle in self.listings.formers:
            # Two reports list it, perhaps, and are walked in another order from now on.
            self._layout = self._shown = None
        self.by_namespace.add(bundle, source, -1)
        self.listings.move(bundle, source, target)
        self.by_namespace.add(bundle, target, 1)

    def preallocate(self, bundle: int, broker: int) -> None:
        """Give a bundle to a broker that does not report it yet."""
        self.meet(bundle)
        owner, long = int(self.cluster.owner[bundle]), self.averages.long
        rates = float(long.rate_in[bundle]), float(long.rate_out[bundle])
        self.by_namespace.add(bundle, owner, -1)
        self.ahead.put(bundle, broker, int(self._place[broker]), rates)
        self.by_namespace.add(bundle, owner, 1)
        self._shown = None

    def meet(self, bundle: int) -> None:
        """Make averages of a bundle that is to be placed and is not known."""
        if not self.bundles.is_known[bundle]:
            self.averages.meet(np.array([bundle]), self.averages.clock)
            self._guests.append(bundle)
            if self._layout is not None:
                self._add(self._layout, bundle)

    def unloaded(self, bundle: int, time_s: float) -> None:
        """Remember when a bundle was unloaded, for the grace period."""
        self.unloaded_s[bundle] = time_s

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
        self._known = walked
        #: Positions of the brokers that it knows, in the order of its map.
        self.order: Ints = np.array([position[name] for name in walked], np.int64)
        #: (n_brokers,) positions in `order`, -1 for a broker that it does not know.
        self._place: Ints = np.full(self.cluster.nobody, -1)
        self._place[self.order] = np.arange(self.order.size)
        self._set_size = hash_map_size(len(walked), self._set_size)
        in_set = hash_map_order(walked, self._set_size)
        #: Positions in `order`, in the order of its set.
        self.in_set: Ints = self._place[np.array([position[name] for name in in_set], np.int64)]
        self._anew()

    def _anew(self) -> None:
        """Lay everything out anew when somebody looks: reports have changed, or averages."""
        self._layout = self._shown = None
        self.by_namespace.clear()

    # -------------------------------------------------------------- what it shows

    def known(self) -> tuple[str, ...]:
        """Return the brokers that it knows, in the order of its map."""
        return self._known

    def load(self, unloaded_before_s: float) -> ClusterLoad:
        """Return what it knows; bundles unloaded at this time or later are left alone."""
        can_go = self.bundles.is_known & self.is_sheddable(unloaded_before_s)
        load = self.load_for_placement()
        return replace(load, bundle_is_sheddable=can_go.take(self._laid_out().bundles))

    def is_sheddable(self, unloaded_before_s: float) -> Flags:
        """Return which bundles are not Pulsar's own and not just unloaded, (n_bundles,)."""
        return np.asarray(~self._is_system & (self.unloaded_s < unloaded_before_s))

    def load_for_placement(self) -> ClusterLoad:
        """Return the same for a placer, which does not ask what may be shed.

        For placements one after the other it is laid out once: a bundle that has been
        placed is on its way, and changes nothing else.
        """
        if self._shown is None:
            load = self._laid_out().load
            self._shown = replace(load, preallocations=self.ahead.preallocations())
        return self._shown

    def candidates(self, bundle: int, distributes_evenly: bool) -> tuple[Ints, Ints]:
        """Return everybody, and whom even distribution leaves; positions in the load."""
        if not distributes_evenly:
            return self.in_set, self.in_set
        return self.in_set, fewest(self.in_set, self.by_namespace.beside(bundle)[self.order])

    def _laid_out(self) -> Layout:
        if self._layout is None:
            self._layout = self._layout_of_now()
        return self._layout

    def _layout_of_now(self) -> Layout:
        averages, order, reports = self.averages, self.order, self.reports
        averages.up_to_date()
        known = int(np.count_nonzero(self.bundles.is_known & ~self._is_system))
        bundles, owner = self._entries(hash_map_size(known))
        held = averages.snapshot(self.cluster.message_bytes, self.cluster.bundles.topics)
        at = self._place.take(owner)
        totals = reports.written_totals[order].T
        into, out = self._long_rates(bundles, at) if self.shows_long_rates else (None, None)
        load = ClusterLoad(
            brokers=self.known(),
            resource_usage=_constant(self._resources(order)),
            resource_limit=_constant(np.full((order.size, 5), 100.0)),
            rate_in=totals[0],
            rate_out=totals[1],
            throughput_in=totals[2],
            throughput_out=totals[3],
            bundle_count=reports.written_bundles[order],
            bundles=RowNames(self.bundles.names, bundles),
            bundle_broker=at,
            bundle_traffic=partial(held.traffic, bundles),
            few_traffic=partial(_few_traffic, held, bundles),
            bundle_is_sheddable=np.zeros(bundles.size, np.bool_),
            long_rate_in=into,
            long_rate_out=out,
            bundle_data=self._bundle_data(held) if self.shows_averages else None,
        )
        return Layout(load, bundles, held, known)

    def _add(self, layout: Layout, guest: int) -> None:
        """Add a bundle that nobody reports to what has been laid out."""
        table_size = hash_map_size(layout.known)
        layout.known += not self._is_system[guest]
        self._shown = None
        if hash_map_size(layout.known) != table_size:
            # The leader's map grows, and all bundles are walked in another order.
            self._layout = None
        elif self.shows_averages:
            layout.add(guest, int(self.bundles.numbers[guest]))

    def _entries(self, table_size: int) -> tuple[Ints, Ints]:
        """Return (bundle, broker) of all reports in the order in which the leader walks them."""
        listings, owner = self.listings, self.cluster.owner
        ranked = self._ranked(table_size)
        formers = [f for f in listings.all_formers() if f.is_written]
        left_out = np.sort(ranked.rank[~listings.is_written])
        if not (left_out.size or formers):
            return ranked.bundles, owner.take(ranked.bundles)
        # Former owners' come right behind that of the owner, in the order of their unloads.
        again = np.array([(f.bundle, f.broker) for f in formers], np.int64).reshape(-1, 2).T
        rank, bundles = ranked.rank[again[0]], np.delete(ranked.bundles, left_out)
        at = rank + 1 - np.searchsorted(left_out, rank, side="right")
        return np.insert(bundles, at, again[0]), np.insert(owner.take(bundles), at, again[1])

    def _ranked(self, table_size: int) -> Ranked:
        """Return all bundles as the copy of the leader's map is walked that shedders get.

        Args:
            table_size: of the copy, which is as large as what is known makes it, and not as
                all that there is would.
        """
        if table_size not in self._ranks:
            names, spread = self.cluster.bundles.names, self.bundles.spread
            if not self._in_map.size:
                self._in_map = concurrent_hash_map_walk(names, spread)
            bundles = hash_map_copy_walk(self._in_map, names, spread, table_size)
            rank = np.empty_like(bundles)
            rank[bundles] = np.arange(bundles.size)
            self._ranks[table_size] = Ranked(bundles, rank)
        return self._ranks[table_size]

    def _long_rates(self, bundles: Ints, broker: Ints) -> tuple[Floats, Floats]:
        """Return long-term averages of some bundles, added up by their brokers' places."""
        long, count = self.averages.long, self.order.size
        into, out = long.rate_in.take(bundles), long.rate_out.take(bundles)
        return _by_broker(broker, into, count), _by_broker(broker, out, count)

    def _resources(self, order: Ints) -> Floats:
        usage = self.reports.written_usage[order]
        resources = np.empty((order.size, 5))
        resources[:, 0] = usage[:, 0]
        resources[:, 1] = self.measuring.memory_percent
        resources[:, 2] = self.measuring.direct_memory_percent
        resources[:, 3:] = usage[:, 1:]
        return resources

    def _bundle_data(self, held: Snapshot) -> BundleData:
        bundles = self.bundles
        return BundleData(bundles.at, np.where(bundles.is_known, bundles.numbers, -1), held)


def _few_traffic(held: Snapshot, bundles: Ints, at: Ints) -> BundleTraffic:
    """Return what those at some of these positions carry."""
    return held.traffic(bundles[at])


def _constant(values: Floats) -> Floats:
    """Return an array that cannot be written to, so that what comes of it is worked out once."""
    values.flags.writeable = False
    return values


def _by_broker(broker: Ints, values: Floats, count: int) -> Floats:
    """Return the sums of values by broker."""
    return np.bincount(broker, values, count).astype(np.float64, copy=False)
