"""What a simulation asks of its leader."""

from __future__ import annotations

from typing import Protocol

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.reports import Writes
from trimtab.lab.simulate.windows import Counted
from trimtab.pulsar.model import ClusterLoad, Flags, Ints


class LeaderProtocol(Protocol):
    """What a leader learns, and the loads that it shows; bundles and brokers are positions."""

    cluster: Cluster
    #: Positions of the brokers that it knows, in the order of its map.
    order: Ints

    def take(self, writes: Writes, was_behind: Flags, counted: Counted) -> None:
        """Take what brokers measured and wrote in a stretch; each write is a recomputation."""

    def join(self, broker: int) -> None:
        """Add a broker that has joined the cluster."""

    def drop(self, broker: int) -> None:
        """Remove a broker that has left, with its reports."""

    def forget(self, bundle: int) -> None:
        """Forget a bundle that is no more."""

    def recompute(self, times: int) -> None:
        """Feed every average so many samples more."""

    def move(self, bundle: int, source: int, target: int) -> None:
        """Note a change of owner."""

    def preallocate(self, bundle: int, broker: int) -> None:
        """Give a bundle to a broker that does not report it yet."""

    def meet(self, bundle: int) -> None:
        """Make averages of a bundle that is to be placed and is not known."""

    def unloaded(self, bundle: int, time_s: float) -> None:
        """Remember when a bundle was unloaded, for the grace period."""

    def start_anew(self) -> None:
        """Become another broker: reports and averages are in the store, the rest is lost."""

    def known(self) -> tuple[str, ...]:
        """Return the brokers that it knows, in the order of its map."""
        ...

    def load(self, unloaded_before_s: float) -> ClusterLoad:
        """Return what it knows; bundles unloaded at this time or later are left alone."""
        ...

    def load_for_placement(self) -> ClusterLoad:
        """Return the same for a placer, which does not ask what may be shed."""
        ...

    def candidates(self, bundle: int, distributes_evenly: bool) -> tuple[Ints, Ints]:
        """Return everybody, and whom even distribution leaves; positions in the load."""
        ...
