"""Destinations that were asked for: the next lookup of the bundle goes there."""

from __future__ import annotations

from collections.abc import Mapping

#: What the leader remembers (Pulsar: `bundleBrokerAffinityMap`): key of a bundle → broker.
Affinity = Mapping[str, str]


def affinity_key(bundle: str) -> str:
    """Name a bundle by its full name.

    Source:
        apache/pulsar 5.0.0-M1 and 5.0.1, impl/ModularLoadManagerWrapper.java getLeastLoaded
        (#25518); read.
    """
    return bundle


def affinity_key_3_0(bundle: str) -> str:
    """Name a bundle by its range alone.

    Quirks:
        Bundles of other namespaces have the same ranges: whichever is looked up first goes
        to the destination that was asked for, and the other goes anywhere.

    Source:
        apache/pulsar 3.0.0 to 4.0.8, impl/ModularLoadManagerWrapper.java getLeastLoaded;
        read.
    """
    return bundle.rpartition("/")[2]


def ask_for(affinity: Affinity, key: str, broker: str) -> Affinity:
    """Remember where a bundle is to go; a blank name is none.

    Quirks:
        Nothing forgets it but the next lookup.  If nobody looks the bundle up, it waits
        for ever, and so it does for a bundle that has no owner.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        setNamespaceBundleAffinity; read.
    """
    if not broker.strip():
        return take(affinity, key)[1]
    return {**affinity, key: broker}


def take(affinity: Affinity, key: str) -> tuple[str | None, Affinity]:
    """Look up where a bundle is to go, and forget it.

    Returns:
        The broker, if one was asked for, and what is remembered from then on.

    Quirks:
        Two lookups at once: the first goes where it was asked for, the second is placed
        like any other, and whichever broker is faster gets the bundle.
        Whether the broker is still there is not checked, and the bundle is not counted as
        on its way to it.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/ModularLoadManagerWrapper.java getLeastLoaded;
        read.
    """
    left = {other: broker for other, broker in affinity.items() if other != key}
    return affinity.get(key), left
