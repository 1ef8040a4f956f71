"""Who is up, who owns what, and who serves it."""

from __future__ import annotations

import numpy as np

from trimtab.lab.simulate.world import Bundles, Machines
from trimtab.pulsar.model import Flags, Floats, Ints


class Cluster:
    """The true state, which nobody in the cluster knows as a whole.

    Properties:
        Each bundle has at most one owner, and is served by its owner or by nobody.
    """

    def __init__(self, machines: Machines, bundles: Bundles) -> None:
        """Begin as the world does."""
        self.machines, self.bundles = machines, bundles
        #: (n_brokers,) its process runs.
        self.is_up: Flags = machines.is_up.copy()
        #: (n_brokers,) it is in the registry: up, or its session has not ended yet.
        self.is_registered: Flags = self.is_up.copy()
        #: (n_brokers,) tick at which its process began.
        self.started: Ints = np.zeros(self.is_up.size, np.int64)
        #: (n_brokers,) as it is now.
        self.capacity: Floats = machines.capacity.astype(np.float64)
        #: (n_brokers,) percent of CPU that other processes take beyond the machine's own.
        self.extra: Floats = np.zeros(self.is_up.size)
        #: (n_bundles,) broker that owns it; -1 for nobody.
        self.owner: Ints = bundles.owner.astype(np.int64)
        #: (n_bundles,) broker that serves it: its owner, or `n_brokers` for nobody.
        self.server: Ints = np.full(self.owner.size, self.is_up.size)
        has_server = (self.owner >= 0) & self.is_up[self.owner]
        self.server[has_server] = self.owner[has_server]
        #: (n_bundles,) s from which its owner serves it.
        self.serve_from_s: Floats = np.full(self.owner.size, -np.inf)
        #: (n_bundles,) bytes a message, as it is now.
        self.message_bytes = bundles.message_bytes
        #: Bundles that have changed hands lately, the latest last; a bundle may stand twice.
        self.moved: list[int] = []
        #: The same with owners before and after and the s from which the latter serves, for
        #: whoever steers and takes them away; None if nobody does.
        self.handovers: list[tuple[int, int, int, float]] | None = None
        #: Grows when anybody begins or ends to serve.
        self.version = 0

    @property
    def nobody(self) -> int:
        """Return the position that stands for no broker in `server`."""
        return self.is_up.size

    @property
    def reports(self) -> Flags:
        """Return which brokers report, (n_brokers,): they run, and are not about to leave."""
        return self.is_up & self.is_registered

    def give(self, bundle: int, broker: int, serve_from_s: float) -> None:
        """Make a broker the owner of a bundle, or nobody (-1)."""
        if self.handovers is not None:
            self.handovers.append((bundle, int(self.owner[bundle]), broker, serve_from_s))
        self.owner[bundle] = broker
        serves = broker >= 0 and bool(self.is_up[broker])
        self.server[bundle] = broker if serves else self.nobody
        self.serve_from_s[bundle] = serve_from_s
        self.moved.append(bundle)
        self.version += 1

    def start(self, broker: int, tick: int) -> None:
        """Start a broker's process; it owns nothing."""
        self.is_up[broker] = self.is_registered[broker] = True
        self.started[broker] = tick
        self.version += 1

    def stop(self, broker: int) -> None:
        """End a broker's process; what it owns stays its own and is served by nobody."""
        self.is_up[broker] = False
        self.server[self.server == broker] = self.nobody
        self.version += 1

    def owned(self, broker: int) -> Ints:
        """Return the bundles that a broker owns."""
        return np.flatnonzero(self.owner == broker)

    def forget_moves_before(self, time_s: float) -> None:
        """Drop from `moved` the bundles that are served since before some time."""
        if self.moved:
            late = [i for i in dict.fromkeys(self.moved) if self.serve_from_s[i] > time_s]
            self.moved = late
