"""The plain leader's maps as a round's load, laid out entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tests.plain_leader.load_manager import LoadManager
from tests.plain_leader.objects import DEFAULT_STATS, Report
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.map_order import concurrent_hash_map_order, hash_map_order
from trimtab.pulsar.model import BundleData, BundleTraffic, ClusterLoad, Floats, Preallocations


def broker_load(leader: LoadManager) -> ClusterLoad:
    """Return the brokers' part of the maps as arrays, without bundles."""
    return _load(leader, (), np.empty(0, np.int64), np.empty((0, 4)), np.empty(0, np.bool_))


def cluster_load(leader: LoadManager, is_system: Callable[[str], bool]) -> ClusterLoad:
    """Return all that the leader knows as arrays.

    Args:
        leader: its maps.
        is_system: whether a bundle is Pulsar's own, which no shedder touches.
    """
    brokers = leader.order()
    walked = concurrent_hash_map_order(leader.bundle_data)
    pool = hash_map_order(bundle for bundle in walked if not is_system(bundle))
    rank = {bundle: i for i, bundle in enumerate(pool)}
    pairs = sorted(
        (rank[bundle], bundle, i)
        for i, broker in enumerate(brokers)
        for bundle in leader.broker_data[broker].local_data.bundles
        if bundle in rank
    )
    names = tuple(bundle for _, bundle, _ in pairs)
    values = np.array([leader.bundle_data[bundle].short.values for bundle in names])
    recent = leader.recently_unloaded_bundles
    sheddable = np.array([bundle not in recent for bundle in names], np.bool_)
    owners = np.array([i for _, _, i in pairs], np.int64)
    return _load(leader, names, owners, values.reshape(-1, 4), sheddable)


def brokers_with_fewest(leader: LoadManager, wanted: str) -> tuple[str, ...]:
    """Return the brokers with the fewest bundles of a namespace, in set order.

    Source:
        impl/LoadManagerShared.java removeMostServicingBrokersForNamespace; 4.0.8
    """
    brokers = hash_map_order(leader.broker_data)
    counts = [
        sum(
            namespace(bundle) == wanted
            for bundle in {
                *leader.broker_data[broker].local_data.bundles,
                *leader.preallocated_bundle_data.get(broker, ()),
            }
        )
        for broker in brokers
    ]
    kept = fewest(np.arange(len(brokers)), np.array(counts, dtype=np.int64))
    return tuple(brokers[i] for i in kept.tolist())


def _load(
    leader: LoadManager,
    bundles: Sequence[str],
    owners: np.ndarray[tuple[int], np.dtype[np.int64]],
    averages: Floats,
    sheddable: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> ClusterLoad:
    brokers = leader.order()
    reports = [leader.broker_data[broker].local_data for broker in brokers]
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
        bundle_traffic=partial(BundleTraffic, *averages.T),
        bundle_is_sheddable=sheddable,
        long_rate_in=np.array([long_rate(leader, report, 0) for report in reports]),
        long_rate_out=np.array([long_rate(leader, report, 1) for report in reports]),
        bundle_data=_bundle_data(leader),
        preallocations=_preallocations(leader, brokers),
    )


def long_rate(leader: LoadManager, report: Report, metric: int) -> float:
    """Add up the long-term rates of a broker's bundles, as they are when all have been fed.

    The Java adds up in between (`LoadManager.reset_time_average`), which is something else
    for a bundle that two brokers list.
    """
    total = 0.0
    for bundle in report.stats:
        data = leader.bundle_data.get(bundle)
        total += DEFAULT_STATS[metric] if data is None else data.long.values[metric]
    return total


def _preallocations(leader: LoadManager, brokers: Sequence[str]) -> Preallocations:
    """Lay out what was given, in the order in which the leader's maps are walked."""
    found = [
        (i, *given[bundle].long.values[:2])
        for i, broker in enumerate(brokers)
        for given in [leader.preallocated_bundle_data.get(broker, {})]
        for bundle in concurrent_hash_map_order(given)
    ]
    rows = np.array(found, np.float64).reshape(-1, 3)
    return Preallocations(rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2])


def _bundle_data(leader: LoadManager) -> BundleData:
    known = leader.bundle_data.values()
    return BundleData(
        rows={bundle: i for i, bundle in enumerate(leader.bundle_data)},
        numbers=np.array([data.number for data in known], np.int64),
        values=np.array([data.contents() for data in known]).reshape(-1, 11),
    )
