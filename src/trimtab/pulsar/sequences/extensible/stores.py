"""What brokers publish as rounds change it, walked in the order in which the leader walks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.map_order import ConcurrentHashMapKeys
from trimtab.pulsar.model import ExtensibleLoad
from trimtab.pulsar.scores import blended, busiest_resource
from trimtab.pulsar.sequences.extensible.rounds import ExtensibleRound, Published, TopBundle
from trimtab.pulsar.settings import BrokerLoadSettings


@dataclass(frozen=True, slots=True)
class _LoadData:
    """A broker's load as it stands in the leader's store."""

    #: Usage and throughput, smoothed.
    smoothed: tuple[float, ...]
    #: Bytes/s in and out.
    throughput: tuple[float, ...]
    updated_at_ms: int


_NOTHING = _LoadData((0.0, 0.0), (0.0, 0.0), 0)


@dataclass(slots=True)
class LoadStores:
    """What the leader has before it, round after round.

    Quirks:
        A store is a view of a topic, kept in a ConcurrentHashMap, whose order depends on
        what it once held.
        A broker smooths what it publishes; the first time, and after its restart, it
        publishes what it has measured.

    Source:
        TableViewLoadDataStoreImpl, BrokerLoadData.update, 3.0.0 to 5.0.0-M1; every number
        and order checked against runs of the classes.
    """

    settings: BrokerLoadSettings
    _load_data: dict[str, _LoadData] = field(default_factory=dict)
    _keys: ConcurrentHashMapKeys = field(default_factory=ConcurrentHashMapKeys)
    _top_bundles: dict[str, tuple[TopBundle, ...]] = field(default_factory=dict)
    _now_ms: int = 0
    #: None: whoever publishes load data.
    _available: tuple[str, ...] | None = None
    _recent_bundles: frozenset[str] = frozenset()
    _recent_brokers: dict[str, int] = field(default_factory=dict)
    _owners: Mapping[str, str] = field(default_factory=dict)
    _restricted: frozenset[str] = frozenset()
    _filtered: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def update(self, round_: ExtensibleRound) -> None:
        """Change what a round round_."""
        self._now_ms = self._now_ms if round_.now_ms is None else round_.now_ms
        for name, published in round_.load_data.items():
            self._publish(name, published)
        for name, bundles in round_.top_bundles.items():
            if bundles is None:
                self._top_bundles.pop(name, None)
            else:
                self._top_bundles[name] = bundles
        if round_.available is not None:
            self._available = round_.available
        if round_.recent_bundles is not None:
            self._recent_bundles = round_.recent_bundles
        if round_.recent_brokers is not None:
            self._recent_brokers = dict(round_.recent_brokers)
        if round_.owners is not None:
            self._owners = round_.owners
        if round_.restricted is not None:
            self._restricted = round_.restricted
        if round_.filtered is not None:
            self._filtered = round_.filtered

    def rest(self, brokers: Iterable[str]) -> None:
        """Take brokers off the list of those unloaded just now."""
        for name in brokers:
            self._recent_brokers.pop(name, None)

    def smoothed(self, broker: str) -> tuple[float, ...]:
        """Return a broker's usage and throughput as they are smoothed now."""
        return self._load_data[broker].smoothed

    def load(self, others: Iterable[str] = ()) -> ExtensibleLoad:
        """Return everything as arrays.

        Args:
            others: brokers to be among them though nothing is known of them.
        """
        walked = self._keys.walk()
        available = walked if self._available is None else self._available
        brokers = tuple(dict.fromkeys((*walked, *available, *others)))
        data = [self._load_data.get(name, _NOTHING) for name in brokers]
        smoothed = np.array([d.smoothed for d in data]).reshape(-1, 2).T
        throughput = np.array([d.throughput for d in data]).reshape(-1, 2).T
        listed = [(i, b) for i, name in enumerate(brokers) for b in self._top_bundles.get(name, ())]
        traffic = np.array([bundle.throughput for _, bundle in listed]).reshape(-1, 2).T
        is_sheddable = [self._is_sheddable(brokers[i], bundle.name) for i, bundle in listed]
        has_policy = [bundle.name.rpartition("/")[0] in self._restricted for _, bundle in listed]
        is_registered = frozenset(available)
        return ExtensibleLoad(
            brokers=brokers,
            has_load_data=np.array([name in self._load_data for name in brokers], np.bool_),
            is_available=np.array([name in is_registered for name in brokers], np.bool_),
            usage=smoothed[0],
            throughput_smoothed=smoothed[1],
            throughput_in=throughput[0],
            throughput_out=throughput[1],
            updated_at_ms=np.array([d.updated_at_ms for d in data], np.int64),
            now_ms=self._now_ms,
            bundles=tuple(bundle.name for _, bundle in listed),
            bundle_broker=np.array([i for i, _ in listed], np.int64),
            bundle_throughput_in=traffic[0],
            bundle_throughput_out=traffic[1],
            bundle_is_sheddable=np.array(is_sheddable, np.bool_),
            bundle_has_policy=np.array(has_policy, np.bool_),
            filtered=self._filtered,
            unloaded_at_ms=dict(self._recent_brokers),
        )

    def _publish(self, name: str, published: Published | None) -> None:
        if published is None:
            self._load_data.pop(name, None)
            self._keys.remove(name)
            return
        smoothed = published.smoothed or self._smooth(name, published)
        self._load_data[name] = _LoadData(smoothed, published.throughput, published.updated_at_ms)
        self._keys.put(name)

    def _smooth(self, name: str, published: Published) -> tuple[float, ...]:
        """Return what a broker publishes, from what it measures."""
        resources = np.array(published.resources)
        usage = busiest_resource(
            resources[None, :, 0], resources[None, :, 1], self.settings.weights
        )
        now = np.array([float(usage[0]), published.throughput[0] + published.throughput[1]])
        if name in self._load_data:
            before = np.array(self._load_data[name].smoothed)
            now = blended(before, now, self.settings.history_share)
        return tuple(now.tolist())

    def _is_sheddable(self, broker: str, bundle: str) -> bool:
        is_owner = self._owners.get(bundle, broker) == broker
        return is_owner and bundle not in self._recent_bundles
