"""Which bundles of which namespace are on a broker (Pulsar: `BundleRangeCache`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Flags, Ints


@dataclass(frozen=True, slots=True)
class ServedBundles:
    """Bundles by broker, each pair once: reported ones, and those on their way.

    Quirks:
        Renewed for each broker at each look at the reports; what is given to a broker
        between two looks is added at once.  What is chosen while shedding is not.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        updateBundleData, preallocateBundle; read.
    """

    #: (n_pairs,) position of the broker and of the bundle.
    broker: Ints
    bundle: Ints


def served_bundles(broker: Ints, bundle: Ints) -> ServedBundles:
    """Gather pairs of broker and bundle, of which some may stand twice."""
    if broker.size == 0:
        return ServedBundles(broker, bundle)
    pairs = np.unique(np.stack((broker, bundle)), axis=1)
    return ServedBundles(pairs[0], pairs[1])


def namespace_bundles(
    served: ServedBundles, namespace_of: Ints, namespace: int, broker_count: int
) -> Ints:
    """Count each broker's bundles of a namespace, as even distribution goes by.

    Args:
        served: which bundles are where.
        namespace_of: (n_bundles,) number of the bundle's namespace.
        namespace: number of the namespace that is asked for.
        broker_count: how many brokers there are.

    Source:
        apache/pulsar 4.0.8, impl/BundleRangeCache.java getBundleRangeCount; checked against
        runs of the class.
    """
    return _count(served.broker[namespace_of[served.bundle] == namespace], broker_count)


def group_namespaces(
    served: ServedBundles, namespace_of: Ints, is_in_group: Flags, broker_count: int
) -> Ints:
    """Count each broker's namespaces of an anti-affinity group.

    Args:
        served: which bundles are where.
        namespace_of: (n_bundles,) number of the bundle's namespace.
        is_in_group: (n_namespaces,) the namespace is in the group.
        broker_count: how many brokers there are.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/LoadManagerShared.java
        getAntiAffinityNamespaceOwnedBrokers; read.
    """
    namespaces = namespace_of[served.bundle]
    mine = is_in_group[namespaces]
    return _count(served_bundles(served.broker[mine], namespaces[mine]).broker, broker_count)


def group_bundles(
    served: ServedBundles, namespace_of: Ints, is_in_group: Flags, broker_count: int
) -> Ints:
    """Count each broker's bundles of an anti-affinity group, as the extensible one does.

    Args:
        served: which bundles are owned by whom.
        namespace_of: (n_bundles,) number of the bundle's namespace.
        is_in_group: (n_namespaces,) the namespace is in the group.
        broker_count: how many brokers there are.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/LoadManagerShared.java
        getAntiAffinityNamespaceOwnedBrokers (of ownership data); read.
    """
    return _count(served.broker[is_in_group[namespace_of[served.bundle]]], broker_count)


def _count(brokers: Ints, broker_count: int) -> Ints:
    return np.bincount(brokers, minlength=broker_count).astype(np.int64)
