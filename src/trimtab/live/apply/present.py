"""A live cluster → what its brokers use and own now, and who may not take what."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.lab.costs import Knowledge, Look, Windows, learned, nothing_known
from trimtab.lab.costs.arrays import among
from trimtab.lab.costs.knowledge import with_brokers
from trimtab.lab.planning.snapshot import Snapshot
from trimtab.live.apply.drain import left_on
from trimtab.live.apply.live import each_of
from trimtab.live.apply.run import ConnectedCluster
from trimtab.live.apply.usage import (
    PlainUsage,
    of_metrics,
    of_whole_report,
    silence_s_max,
    weights_of,
)
from trimtab.live.gather.calls import CallError
from trimtab.live.gather.cluster import has_no_report
from trimtab.pulsar.model import Flags, Floats, Ints

# s before now from which on owners are taken to be as they are.
_LONG_S = 3600.0


@dataclass(frozen=True, slots=True)
class Present:
    """A cluster as it is now."""

    snapshot: Snapshot
    time_s: float
    #: (n_brokers,) cores of each host, and when its process began, s.
    cores: Floats
    started_s: Floats
    #: (n_bundles, 7) columns COUNTS.
    counts: Floats
    is_draining: Flags
    #: Its usage is older than a broker may be silent.
    is_stale: Flags


def present(cluster: ConnectedCluster) -> Present:
    """Return a cluster as it is now, but for the brokers' own bundles.

    Raises:
        GatherError: a broker does not answer.
    """
    time_s = time.time()
    admin = cluster.admin
    names, settings = admin.brokers(), admin.settings()
    weights = weights_of(settings, admin.release)
    usages = each_of(names, lambda name: _usage(cluster, name))
    owned = each_of(names, lambda name: left_on(cluster, name))
    stale_s = silence_s_max(settings)
    told = [usages[name] for name in names]
    is_stale = np.array([time_s - each.published_s > stale_s for each in told], np.bool_)
    usage = np.array([each.percent for each in told])
    usage[is_stale] = np.nan
    bundles = tuple(sorted({bundle for each in owned.values() for bundle in each}))
    place = {bundle: i for i, bundle in enumerate(bundles)}
    owner = np.full(len(bundles), -1)
    for i, name in enumerate(names):
        owner[[place[bundle] for bundle in owned[name]]] = i
    counts = _counts(bundles, owner, told)
    snapshot = Snapshot(
        brokers=names,
        bundles=bundles,
        usage=usage,
        weights=np.array([weight or 0.0 for weight in weights.by_resource()]),
        owner=owner,
        traffic=counts[:, 2] + counts[:, 3],
    )
    return Present(
        snapshot=snapshot,
        time_s=time_s,
        cores=np.array([each.cores for each in told]),
        started_s=np.array([each.started_s for each in told]),
        counts=counts,
        is_draining=np.array([name in cluster.lock_state.draining for name in names], np.bool_),
        is_stale=is_stale,
    )


def known_now(known: Knowledge | None, now: Present) -> Knowledge:
    """Return what was learned of costs, with the levels and the traffic of now.

    The names of the cluster come first, in its order.
    """
    snapshot = now.snapshot
    known = among(known or nothing_known((), ()), snapshot.brokers, snapshot.bundles)
    # Levels of another day are none.
    nothing = np.full(len(known.broker_names), np.nan)
    known = with_brokers(known, level=nothing)
    return learned(known, _look(known, now), Windows())


def _look(known: Knowledge, now: Present) -> Look:
    owner = now.snapshot.owner
    before = known.bundles.owner[: owner.size]
    moved = np.flatnonzero(owner != before)
    measured = np.flatnonzero(~np.isnan(now.snapshot.usage[:, 0]))
    place = np.full(len(now.snapshot.brokers), -1)
    place[measured] = np.arange(measured.size)
    listed = np.flatnonzero((owner >= 0) & (place[np.maximum(owner, 0)] >= 0))
    return Look(
        time_s=now.time_s,
        broker=measured,
        written_s=np.full(measured.size, now.time_s),
        started_s=now.started_s[measured],
        cpu=now.snapshot.usage[measured, 0],
        others=np.full(measured.size, np.nan),
        cores=now.cores[measured],
        report=place[owner[listed]],
        bundle=listed,
        counts=now.counts[listed],
        moved=moved,
        moved_from=before[moved],
        moved_to=owner[moved],
        moved_s=np.full(moved.size, now.time_s - _LONG_S),
    )


def _usage(cluster: ConnectedCluster, name: str) -> PlainUsage:
    try:
        return of_whole_report(cluster.admin.report(name))
    except CallError as error:
        if not has_no_report(error):
            raise
        return of_metrics(cluster.admin.metrics(name))


def _counts(bundles: Sequence[str], owner: Ints, told: Sequence[PlainUsage]) -> Floats:
    """Return what owners count of their bundles; nothing of those that they do not list."""
    nothing: Mapping[str, Any] = {}
    counts = np.zeros((len(bundles), 7))
    for i, bundle in enumerate(bundles):
        of_owner = told[owner[i]].counts if owner[i] >= 0 else nothing
        counts[i] = of_owner.get(bundle, 0.0)
    return counts
