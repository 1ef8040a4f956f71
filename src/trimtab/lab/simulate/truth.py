"""What moving a bundle does to usage, as if the last minute had always been so."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import Demand, loaded
from trimtab.lab.simulate.traffic import Rows
from trimtab.pulsar.model import Floats, Ints


@dataclass(slots=True)
class LastMinute:
    """The mean of the last minute, with bundles where they are to be."""

    #: (n_bundles,) points of work, bytes/s in and out.
    bundles: tuple[Floats, Floats, Floats]
    #: (n_brokers,) the same, added up.
    brokers: tuple[Floats, Floats, Floats]
    #: (n_brokers,) percent that other processes take.
    background: Floats
    #: (2, n_brokers) capacity and NIC.
    machines: Floats
    physics: Physics
    #: (n_brokers,) percent of the busiest resource.
    usage: Floats = field(init=False)
    #: Bytes/s of the whole cluster, in and out.
    all_bytes: float = field(init=False)

    def __post_init__(self) -> None:
        """Work out the usage of all brokers; whoever is moved changes two."""
        _, bytes_in, bytes_out = self.bundles
        self.all_bytes = float(bytes_in.sum() + bytes_out.sum())
        self.usage = self._usage(np.arange(self.background.size))

    def move(self, bundle: int, source: int, target: int) -> None:
        """Let a bundle's traffic go from one broker to another; -1 is nobody."""
        for sums, values in zip(self.brokers, self.bundles, strict=True):
            if source >= 0:
                sums[source] = max(0.0, sums[source] - values[bundle])
            if target >= 0:
                sums[target] += values[bundle]
        changed = np.array([broker for broker in (source, target) if broker >= 0], np.int64)
        self.usage[changed] = self._usage(changed)

    def _usage(self, brokers: Ints) -> Floats:
        load = loaded(
            Demand(*(array[brokers] for array in self.brokers)),
            self.background[brokers],
            self.machines[:, brokers],
            self.physics,
        )
        return load.usage()

    def share(self, bundle: int) -> float:
        """Return a bundle's share of the cluster's bytes."""
        _, bytes_in, bytes_out = self.bundles
        mine = float(bytes_in[bundle] + bytes_out[bundle])
        return mine / self.all_bytes if self.all_bytes > 0 else 0.0


def last_minute(
    cluster: Cluster, rows: Rows, steps: Floats, background: Floats, physics: Physics
) -> LastMinute:
    """Return means over the last minute.

    Args:
        cluster: who owns what now.
        rows: traffic of the last minute, and perhaps of some time around it.
        steps: (n_steps,) how much each of the rows counts; they add up to 1.
        background: (n_brokers,) percent, mean of the last minute.
        physics: what traffic costs.
    """
    arrays = (rows.work, rows.bytes_in, rows.bytes_out)
    work, into, out = (steps @ array for array in arrays)
    owner = np.where(cluster.owner >= 0, cluster.owner, cluster.nobody)
    bins = cluster.nobody + 1
    sums = [np.bincount(owner, v, bins)[:-1].astype(np.float64) for v in (work, into, out)]
    machines = np.array((cluster.capacity, cluster.machines.nic))
    return LastMinute((work, into, out), (sums[0], sums[1], sums[2]), background, machines, physics)
