"""The leader's maps as rounds change them, walked in the order in which the Java walks them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from trimtab.files.fields import Field
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.map_order import ConcurrentHashMapKeys, hash_map_order
from trimtab.pulsar.model import BundleData, BundleTraffic, ClusterLoad, Preallocations
from trimtab.pulsar.sequences.sequences import Averages, Report, Round

# Four metrics and the number of samples, as in a new object.
_NO_AVERAGE = (0.0,) * 5
# In the order of model.RESOURCES: five pairs of usage and limit.
_RESOURCES = (5, 2)


@dataclass(slots=True)
class _BundleData:
    """The averages of one bundle: an object that is changed in place and has an identity."""

    number: int
    #: It is one of Pulsar's own.
    is_system: bool
    short: tuple[float, ...] = _NO_AVERAGE
    long: tuple[float, ...] = _NO_AVERAGE

    def change(self, averages: Averages) -> None:
        """Take new averages; the number of samples stays if it is not given."""
        self.short = (*averages.short, *self.short[len(averages.short) :])
        if averages.long is not None:
            self.long = (*averages.long, *self.long[len(averages.long) :])


@dataclass(slots=True)
class _Broker:
    """What the leader knows of a broker."""

    report: Report
    #: The map of bundles on their way; it is emptied and never replaced.
    preallocated: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)
    #: The objects of these, in the order of the map.
    preallocated_data: tuple[_BundleData, ...] = ()


@dataclass(slots=True)
class LeaderMaps:
    """What the leader knows, round after round.

    Quirks:
        Maps are ConcurrentHashMaps, whose order depends on what they once held: a table
        that has grown stays large when brokers leave.  For shedding, the averages of all
        but Pulsar's own bundles are copied into a new HashMap, and it is that which is
        walked.

    Source:
        LoadData, BrokerData.preallocatedBundleData, LoadData.getBundleDataForLoadShedding,
        2.10.4 to 5.0.0-M1; every order checked against runs of the classes.
    """

    release: str
    _brokers: dict[str, _Broker] = field(default_factory=dict)
    _broker_keys: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)
    _bundles: dict[str, _BundleData] = field(default_factory=dict)
    _bundle_keys: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)
    #: How many objects of averages there have been.
    _made: int = 0
    _recent: frozenset[str] = frozenset()
    #: Orders that were given last.
    _given_brokers: tuple[str, ...] = ()
    _given_bundles: tuple[str, ...] = ()

    def update(self, round_: Round) -> None:
        """Change what a round round_.

        Raises:
            FieldError: the round names what is not there.
        """
        for name, report in round_.brokers.items():
            self._report(name, report)
        for name, averages in round_.bundle_data.items():
            self._average(name, averages)
        if round_.recently_unloaded is not None:
            self._recent = round_.recently_unloaded
        if round_.preallocated is not None:
            self._preallocate(round_, round_.preallocated)
        if round_.orders.brokers is not None:
            where = round_.orders.where.at("broker_order")
            self._given_brokers = same_names(where, round_.orders.brokers, self._brokers)
        if round_.orders.bundles is not None:
            self._given_bundles = round_.orders.bundles

    def knows(self, bundle: str) -> bool:
        """Return whether a bundle has averages."""
        return bundle in self._bundles

    def walked_bundles(self) -> tuple[str, ...]:
        """Return the bundles in the order of the copy that is made for shedding."""
        return hash_map_order(
            name for name in self._bundle_keys.walk() if not self._bundles[name].is_system
        )

    def walked_preallocations(self, broker: str) -> tuple[str, ...]:
        """Return the bundles on their way to a broker in the order of its map."""
        return self._brokers[broker].preallocated.walk()

    def load(self) -> ClusterLoad:
        """Return everything as arrays."""
        brokers = self._broker_order()
        reports = [self._brokers[name].report for name in brokers]
        listed = self._listed(reports)
        data = [self._bundles.get(name) for name, _ in listed]
        averages = np.array([_NO_AVERAGE[:4] if d is None else d.short[:4] for d in data])
        carried = averages.reshape(-1, 4).T
        rates = np.array([report.totals for report in reports]).reshape(-1, 4).T
        resources = np.array([report.resources for report in reports]).reshape(-1, *_RESOURCES)
        long_term = np.array([report.long_term for report in reports]).reshape(-1, 2).T
        return ClusterLoad(
            brokers=brokers,
            resource_usage=resources[:, :, 0],
            resource_limit=resources[:, :, 1],
            rate_in=rates[0],
            rate_out=rates[1],
            throughput_in=rates[2],
            throughput_out=rates[3],
            bundle_count=np.array([len(report.bundles) for report in reports], dtype=np.int64),
            bundles=tuple(name for name, _ in listed),
            bundle_broker=np.array([broker for _, broker in listed], dtype=np.int64),
            bundle_traffic=partial(BundleTraffic, *carried),
            bundle_is_sheddable=np.array([self._is_sheddable(n) for n, _ in listed], np.bool_),
            long_rate_in=long_term[0],
            long_rate_out=long_term[1],
            preallocations=self._preallocations(brokers),
            bundle_data=self._bundle_data(),
        )

    def _report(self, name: str, report: Report | None) -> None:
        if report is None:
            self._brokers.pop(name, None)
            self._broker_keys.remove(name)
        elif name in self._brokers:
            self._brokers[name].report = report
        else:
            self._brokers[name] = _Broker(report)
            self._broker_keys.put(name)

    def _average(self, name: str, averages: Averages | None) -> None:
        """Change an object in place, as the Java does, make it, or forget it."""
        if averages is None:
            self._bundles.pop(name, None)
            self._bundle_keys.remove(name)
            return
        if name not in self._bundles:
            self._made += 1
            is_system = is_system_bundle(name, self.release)
            self._bundles[name] = _BundleData(self._made, is_system)
            self._bundle_keys.put(name)
        self._bundles[name].change(averages)

    def _preallocate(self, round_: Round, preallocated: Mapping[str, tuple[str, ...]]) -> None:
        """Replace what is on its way to all brokers."""
        for broker in self._brokers.values():
            broker.preallocated.clear()
            broker.preallocated_data = ()
        for name, bundles in preallocated.items():
            if name not in self._brokers:
                raise round_.where.at("preallocated", value=name).wrong("a broker of the round")
            for i, bundle in enumerate(bundles):
                if bundle not in self._bundles:
                    where = round_.where.at("preallocated", name, i, value=bundle)
                    raise where.wrong("a bundle that has bundle_data")
                self._brokers[name].preallocated.put(bundle)
            walked = self.walked_preallocations(name)
            if name in round_.orders.preallocated:
                where = round_.orders.where.at("prealloc_order", name)
                walked = same_names(where, round_.orders.preallocated[name], walked)
            self._brokers[name].preallocated_data = tuple(self._bundles[b] for b in walked)

    def _broker_order(self) -> tuple[str, ...]:
        """Return the order that was given, as long as it is of these brokers."""
        if self._given_brokers and self._given_brokers_hold():
            return self._given_brokers
        return self._broker_keys.walk()

    def _given_brokers_hold(self) -> bool:
        return set(self._given_brokers) == self._brokers.keys()

    def _listed(self, reports: Sequence[Report]) -> list[tuple[str, int]]:
        """Return (bundle, broker) in the order of the copy that is made for shedding."""
        listed = [(name, i) for i, report in enumerate(reports) for name in report.bundles]
        order = self._given_bundles
        # An order is given for rounds in which it matters; in others bundles may have come.
        if not set(order).issuperset(name for name, _ in listed if self._is_sheddable(name)):
            order = (*order, *self.walked_bundles())
        rank: dict[str, int] = {}
        for i, name in enumerate(order):
            rank.setdefault(name, i)
        return sorted(listed, key=lambda entry: rank.get(entry[0], len(rank)))

    def _is_sheddable(self, name: str) -> bool:
        data = self._bundles.get(name)
        return data is not None and not data.is_system and name not in self._recent

    def _preallocations(self, brokers: Sequence[str]) -> Preallocations:
        ahead = [
            (i, *data.long[:2])
            for i, name in enumerate(brokers)
            for data in self._brokers[name].preallocated_data
        ]
        rows = np.array(ahead, dtype=np.float64).reshape(-1, 3)
        return Preallocations(rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2])

    def _bundle_data(self) -> BundleData:
        known = self._bundles.values()
        return BundleData(
            {name: row for row, name in enumerate(self._bundles)},
            np.array([data.number for data in known], dtype=np.int64),
            # Nobody says how many topics there are.
            np.array([(*data.short, *data.long, 0.0) for data in known]).reshape(-1, 11),
        )


def same_names(where: Field, order: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """Return an order that was given if it is one of these names.

    Raises:
        FieldError: it names others, or some twice, or not all.
    """
    if len(order) != len(names) or set(order) != set(names):
        raise where.at(value=list(order)).wrong(f"each of these once: {', '.join(names)}")
    return order
