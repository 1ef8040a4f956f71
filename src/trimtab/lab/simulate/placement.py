"""Who gets a bundle: candidates, the placement strategy, the draw, and a second chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.leader_protocol import LeaderProtocol
from trimtab.lab.simulate.strategies import Strategies
from trimtab.pulsar.model import ClusterLoad, Floats, Ints
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.scores import unweighted_usage, weighted_usage
from trimtab.pulsar.settings import LoadManagerSettings, ResourceWeights

# PIP-358.
_WEIGHED_SINCE = release_order("4.0.0-A")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The broker that a bundle is to go to."""

    broker: int
    #: Nobody was below the placer's bar, so that it drew among all.
    is_fallback: bool


@dataclass(slots=True)
class Placing:
    """Places bundles as the leader does (Pulsar: `selectBroker`).

    Quirks:
        Of the filters before placement only even distribution and the second chance are
        here: simulated namespaces have no policies and brokers are all of one release.

    Source:
        impl/ModularLoadManagerImpl.java selectBroker, selectBrokerForAssignment
    """

    leader: LeaderProtocol
    strategies: Strategies
    settings: LoadManagerSettings
    weights: ResourceWeights
    random: np.random.Generator
    #: The reports of which usage was worked out last, and what it was.
    _last_usage: tuple[Floats, Floats] | None = None

    def choose(self, load: ClusterLoad, bundle: int) -> Chosen | None:
        """Return the broker chosen for a bundle; None if there is nobody.

        Raises:
            UnreportedCandidateError, NoCandidatesError: the Java class throws.
        """
        is_even = self.settings.distributes_evenly
        everybody, candidates = self.leader.candidates(bundle, is_even)
        chosen = self._drawn(load, bundle, candidates)
        if chosen is not None and self._usage(load)[chosen[0]] > self.settings.overloaded_threshold:
            chosen = self._drawn(load, bundle, everybody) or chosen
        return None if chosen is None else Chosen(int(self.leader.order[chosen[0]]), chosen[1])

    def among(self, load: ClusterLoad, bundle: int) -> tuple[int, ...]:
        """Return the brokers among whom `choose` would draw first.

        Raises:
            UnreportedCandidateError, NoCandidatesError: the Java class throws.
        """
        name = self.leader.cluster.bundles.names[bundle]
        _, candidates = self.leader.candidates(bundle, self.settings.distributes_evenly)
        placement = self.strategies.place(load, name, candidates)
        return tuple(self.leader.order[placement.best].tolist())

    def _drawn(self, load: ClusterLoad, bundle: int, candidates: Ints) -> tuple[int, bool] | None:
        """Return who is drawn among those that the placer names; positions in the load."""
        name = self.leader.cluster.bundles.names[bundle]
        placement = self.strategies.place(load, name, candidates)
        if placement.best.size == 0:
            return None
        at = int(placement.best[self.random.integers(placement.best.size)])
        # Who was planned is remembered already.
        if placement.is_fallback:
            self.strategies.drawn(name, load.brokers[at])
        return at, placement.is_fallback

    def _usage(self, load: ClusterLoad) -> Floats:
        """Return the usage by which a broker is overloaded, fraction; weighed from 4.0 on."""
        if self._last_usage is None or self._last_usage[0] is not load.resource_usage:
            is_weighed = release_order(self.strategies.balancer.release) >= _WEIGHED_SINCE
            usage = weighted_usage(load, self.weights) if is_weighed else unweighted_usage(load)
            self._last_usage = load.resource_usage, usage
        return self._last_usage[1]
