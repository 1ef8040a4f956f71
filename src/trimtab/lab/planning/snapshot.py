"""A cluster at one time, as a plan goes out from it, and the columns that it is planned by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge, priced
from trimtab.lab.planning.columns import Column, by_share, learned_cpu, weighed
from trimtab.pulsar.model import Floats, Ints

#: In the order of all arrays of them.
RESOURCES = ("CPU", "memory", "direct memory", "network in", "network out")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Who uses what, who owns what; brokers and bundles are positions."""

    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    #: (n_brokers, 5) percent in use, columns RESOURCES; NaN where it is not known.
    usage: Floats
    #: (5,) how much each of them counts.
    weights: Floats
    #: (n_bundles,) position of the owner, -1 for nobody, and bytes/s in and out.
    owner: Ints
    traffic: Floats

    @property
    def is_known(self) -> bool:
        """Return whether any bundle is known to carry anything."""
        return bool((self.traffic > 0).any())


def is_learned(known: Knowledge | None) -> bool:
    """Return whether enough is known of costs to say what a move does."""
    return known is not None and priced(known).traffic.is_told


def columns(snapshot: Snapshot, known: Knowledge | None) -> tuple[Column, ...]:
    """Return what may be full of each broker: its CPU by what was learned, the rest by share.

    Args:
        snapshot: of the cluster.
        known: what was learned, with the names of the snapshot first and in its order; None
            if nothing was, so that the CPU goes by the share of traffic, too.
    """
    resources = [
        by_share(name, snapshot.usage[:, i], snapshot.traffic, snapshot.owner)
        for i, name in enumerate(RESOURCES)
    ]
    if known is not None:
        first = learned_cpu(known).part(len(snapshot.brokers), len(snapshot.bundles))
        unmeasured = np.isnan(snapshot.usage[:, 0])
        resources[0] = replace(first, usage=np.where(unmeasured, np.nan, first.usage))
    used = np.nan_to_num(snapshot.usage).max(axis=0, initial=0.0) > 0
    used[0] = True
    weights = np.where(used, snapshot.weights, 0.0)
    return weighed(resources, weights.tolist())
