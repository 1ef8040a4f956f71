"""What moving a bundle does to usage, as if the last minute had always been so."""

from __future__ import annotations

import numpy as np

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import Demand, loaded
from trimtab.lab.simulate.traffic import Rows
from trimtab.pulsar.model import Floats, Ints


class LastMinute:
    """The mean of the last minute, with bundles where they are to be."""

    def __init__(
        self, cluster: Cluster, rows: Rows, steps: Floats, background: Floats, physics: Physics
    ) -> None:
        """Work out the usage of all brokers; whoever is moved changes two.

        Args:
            cluster: who owns what now.
            rows: traffic of the last minute, and perhaps of some time around it.
            steps: (n_steps,) how much each of the rows counts; they add up to 1.
            background: (n_brokers,) percent that other processes take.
            physics: what traffic costs.
        """
        #: (n_bundles,) points of work, bytes/s in and out.
        self.bundles = [steps @ array for array in (rows.work, rows.bytes_in, rows.bytes_out)]
        owner = np.where(cluster.owner >= 0, cluster.owner, cluster.nobody)
        sums = [np.bincount(owner, values, cluster.nobody + 1) for values in self.bundles]
        #: (n_brokers,) the same, added up.
        self.brokers = [each[:-1].astype(np.float64) for each in sums]
        self.background, self.physics = background, physics
        #: (2, n_brokers) capacity and NIC.
        self.machines: Floats = np.array((cluster.capacity, cluster.machines.nic))
        #: Bytes/s of the whole cluster, in and out.
        self.all_bytes = float(self.bundles[1].sum() + self.bundles[2].sum())
        #: (n_brokers,) percent of the busiest resource.
        self.usage: Floats = self._usage(np.arange(background.size))

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
            (self.machines[0, brokers], self.machines[1, brokers]),
            self.physics,
        )
        return load.usage()

    def share(self, bundle: int) -> float:
        """Return a bundle's share of the cluster's bytes."""
        _, bytes_in, bytes_out = self.bundles
        mine = float(bytes_in[bundle] + bytes_out[bundle])
        return mine / self.all_bytes if self.all_bytes > 0 else 0.0
