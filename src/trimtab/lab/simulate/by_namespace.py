"""How many bundles of a namespace each broker has, by what it reports and what it was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.simulate.ahead import Ahead
from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.listings import Listings
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.leader.bundle_rows import BundleRows
from trimtab.pulsar.model import Ints


@dataclass(slots=True)
class ByNamespace:
    """Counts bundles of the namespaces that somebody asks for, and keeps count as they move.

    A namespace is counted once for each state of the reports, however many of its bundles
    are placed meanwhile.
    """

    cluster: Cluster
    bundles: BundleRows
    listings: Listings
    ahead: Ahead
    #: Namespace → its bundles, once somebody has asked.
    _members: dict[str, Ints] = field(default_factory=dict)
    _sets: dict[str, frozenset[int]] = field(default_factory=dict)
    #: Namespace → (n_brokers,) its bundles on each.
    _counts: dict[str, Ints] = field(default_factory=dict)

    def beside(self, bundle: int) -> Ints:
        """Return how many bundles of a bundle's namespace each broker has, (n_brokers,)."""
        name = self._namespace(bundle)
        if name not in self._counts:
            self._counts[name] = self._counted(name)
        return self._counts[name]

    def clear(self) -> None:
        """Count anew: there are other reports."""
        self._counts = {}

    def add(self, bundle: int, owner: int, times: int) -> None:
        """Leave a bundle out (-1) that is about to change, or count it (1) that has changed.

        Its owner is whose it is as far as its report is concerned.
        """
        if self._counts and (counts := self._counts.get(self._namespace(bundle))) is not None:
            for broker in self._brokers(bundle, owner):
                counts[broker] += times

    def _namespace(self, bundle: int) -> str:
        return namespace(self.cluster.bundles.names[bundle])

    def _brokers(self, bundle: int, owner: int) -> Iterator[int]:
        """Yield the brokers on which a bundle counts."""
        is_written = bool(self.listings.is_written[bundle])
        if is_written:
            yield owner
        for former in self.listings.formers.get(bundle, ()):
            if former.is_written:
                yield former.broker
        coming = int(self.ahead.broker[bundle])
        if coming >= 0 and not (is_written and coming == owner):
            yield coming

    def _counted(self, name: str) -> Ints:
        """Return a namespace's count on each broker."""
        if (members := self._members.get(name)) is None:
            members = self._members[name] = np.flatnonzero(self.bundles.of_namespace(name))
            self._sets[name] = frozenset(members.tolist())
        cluster = self.cluster
        is_written, owner = self.listings.is_written[members], cluster.owner[members]
        coming = self.ahead.broker[members]
        is_new = (coming >= 0) & ~(is_written & (coming == owner))
        brokers = np.append(owner[is_written], coming[is_new])
        counts = np.bincount(brokers, minlength=cluster.nobody)
        formers = self.listings.formers
        for bundle in formers.keys() & self._sets[name]:
            for former in formers[bundle]:
                counts[former.broker] += former.is_written
        return counts
