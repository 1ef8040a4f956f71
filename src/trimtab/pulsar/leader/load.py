"""The leader's maps laid out as a round's load, in the order in which the leader walks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from trimtab.pulsar.leader.averages import LeaderAverages
from trimtab.pulsar.leader.layout import Walked
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.map_order import (
    concurrent_hash_map_walk,
    hash_map_walk,
)
from trimtab.pulsar.model import BundleTraffic, ClusterLoad, Flags, Ints


def broker_load(view: LeaderView) -> ClusterLoad:
    """Return the brokers' part of the view as arrays, without bundles."""
    nothing = np.empty(0, np.int64)
    return _load(view, nothing, nothing, ())


def usage_load(view: LeaderView) -> ClusterLoad:
    """Return what the brokers say of themselves alone, without averages of any bundle."""
    columns, nothing = view.broker_columns(), np.empty(0, np.int64)
    return ClusterLoad(
        brokers=view.order(),
        resource_usage=columns.usage,
        resource_limit=columns.limit,
        rate_in=columns.totals[:, 0],
        rate_out=columns.totals[:, 1],
        throughput_in=columns.totals[:, 2],
        throughput_out=columns.totals[:, 3],
        bundle_count=columns.bundles,
        bundles=(),
        bundle_broker=nothing,
        bundle_is_sheddable=np.empty(0, np.bool_),
        bundle_traffic=lambda: BundleTraffic(*np.empty((4, 0))),
    )


def cluster_load(view: LeaderView, is_system: Callable[[str], bool]) -> ClusterLoad:
    """Return the whole view as arrays, to be used before the view changes.

    Args:
        view: the leader's maps.
        is_system: tells heartbeat and SLA bundles, which no shedder touches; always the same
            for one view.
    """
    listed = view.listed()
    # Bundles come and go seldom, and every round asks for their order.
    key = (view.averages.bundles.version, listed)
    if view.walked is None or view.walked[0] != key[0] or view.walked[1] is not key[1]:
        view.walked = *key, _walked(view, is_system)
    walked = view.walked[2]
    return _load(view, walked.rows, walked.brokers, walked.names)


def _walked(view: LeaderView, is_system: Callable[[str], bool]) -> Walked:
    """Return the bundles that are reported and known in the order of a shedder's walk."""
    averages, listed = view.averages, view.listed()
    ranked = _pool(view, is_system)
    rank = np.full(len(averages.bundles.at), -1)
    rank[ranked] = np.arange(ranked.size)
    in_pool = rank[listed.rows] >= 0
    rows, brokers = listed.rows[in_pool], listed.brokers[in_pool]
    # They lie broker by broker: of two that list the same bundle the first stays the first.
    order = np.argsort(rank[rows], kind="stable")
    rows = rows[order]
    return Walked(rows, brokers[order], averages.bundles.named(rows))


def _pool(view: LeaderView, is_system: Callable[[str], bool]) -> Ints:
    """Return what is known as the copy of the leader's map is walked that shedders get."""
    averages = view.averages
    names = list(averages.bundles.known)
    rows = np.fromiter(averages.bundles.known.values(), np.int64, len(names))
    walked = rows[concurrent_hash_map_walk(names, averages.bundles.spread[rows])]
    pool = walked[~averages.bundles.are_system(is_system)[walked]]
    return pool[hash_map_walk(averages.bundles.named(pool), averages.bundles.spread[pool])]


def _load(view: LeaderView, rows: Ints, owners: Ints, names: tuple[str, ...]) -> ClusterLoad:
    averages = view.averages
    long_in, long_out = view.long_rates()
    return replace(
        usage_load(view),
        bundles=names,
        bundle_broker=owners,
        bundle_is_sheddable=_are_sheddable(view, rows),
        long_rate_in=long_in,
        long_rate_out=long_out,
        bundle_data=averages.bundle_data(),
        preallocations=view.preallocated.laid_out(view.rank()),
        bundle_traffic=partial(_traffic, averages, rows, averages.version),
        few_traffic=partial(_few_traffic, averages, rows, averages.version),
    )


def _traffic(averages: LeaderAverages, rows: Ints, version: int) -> BundleTraffic:
    """Return what bundles carry.

    Raises:
        RuntimeError: the averages have changed since the load was laid out.
    """
    if version != averages.version:
        raise RuntimeError("bundle_traffic was asked for when the averages had changed already")
    return BundleTraffic(*averages.short(rows).T)


def _few_traffic(
    averages: LeaderAverages, rows: Ints, version: int, bundles: Ints
) -> BundleTraffic:
    """Return what bundles at some positions carry, otherwise as `_traffic`."""
    return _traffic(averages, rows[bundles], version)


def _are_sheddable(view: LeaderView, rows: Ints) -> Flags:
    recent = np.zeros(len(view.averages.bundles.at), np.bool_)
    at = view.averages.bundles.at
    recent[[at[bundle] for bundle in view.recently_unloaded if bundle in at]] = True
    return ~recent[rows]
