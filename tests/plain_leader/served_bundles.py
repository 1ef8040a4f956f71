"""Which bundles of which namespace are on a broker (Pulsar: `BundleRangeCache`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from trimtab.pulsar.bundles import namespace


def namespace_bundles(served: Mapping[str, Collection[str]], wanted: str) -> dict[str, int]:
    """Count each broker's bundles of a namespace, as even distribution goes by.

    Args:
        served: broker → bundles that it reports, and those on their way to it.
        wanted: the namespace.

    Quirks:
        What is served is renewed for each broker at each look at the reports; what is given to
        a broker between two looks is added at once.  What is chosen while shedding is not.

    Source:
        apache/pulsar 4.0.8, impl/BundleRangeCache.java getBundleRangeCount; checked against
        runs of the class.  2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        updateBundleData, preallocateBundle; read.
    """
    return {
        broker: sum(namespace(bundle) == wanted for bundle in set(bundles))
        for broker, bundles in served.items()
    }


def group_namespaces(
    served: Mapping[str, Collection[str]], group: Collection[str]
) -> dict[str, int]:
    """Count each broker's namespaces of an anti-affinity group.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/LoadManagerShared.java
        getAntiAffinityNamespaceOwnedBrokers; read.
    """
    return {
        broker: len(set(map(namespace, bundles)) & set(group)) for broker, bundles in served.items()
    }


def group_bundles(served: Mapping[str, Collection[str]], group: Collection[str]) -> dict[str, int]:
    """Count each broker's bundles of an anti-affinity group, as the extensible one does.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/LoadManagerShared.java
        getAntiAffinityNamespaceOwnedBrokers (of ownership data); read.
    """
    return {
        broker: sum(namespace(bundle) in group for bundle in set(bundles))
        for broker, bundles in served.items()
    }
