"""Bundle names: the namespace they belong to, and which ones are Pulsar's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from trimtab.pulsar.releases import release_line

# pulsar/c1/broker-1:8080, pulsar/broker-1:8080: the heartbeat of a broker, in both forms.
# sla-monitor/c1/broker-1:8080: what service monitors look up.
_SYSTEM_UP_TO_4 = re.compile(r"pulsar/[^:]+:\d+|sla-monitor/[^/]+/[^:]+:\d+", re.ASCII)
# pulsar/broker-1:8080, sla-monitor/broker-1:8080: namespaces have lost their cluster.
_SYSTEM_FROM_5 = re.compile(r"(?:pulsar|sla-monitor)/[^/:]+:\d+", re.ASCII)

#: The only release known to leave the bundles of `pulsar/system` alone.
_SHIELDS_SYSTEM_NAMESPACE = "3.0.0"


def namespace(bundle: str) -> str:
    """Return a bundle name up to its last slash: `t/n/0x00000000_0x40000000` is of `t/n`."""
    return bundle.rpartition("/")[0]


def bundle_range(bundle: str) -> tuple[int, int]:
    """Return the first hash of a bundle's range, and the end of the range.

    >>> bundle_range("t/n/0x40000000_0x80000000")
    (1073741824, 2147483648)
    """
    low, _, high = bundle.rpartition("/")[2].partition("_")
    return int(low, 16), int(high, 16)


def bundles_over(bundle: str, boundaries: Sequence[str]) -> tuple[str, ...]:
    """Return the bundles that have the hashes of a bundle once its namespace is cut differently.

    Args:
        bundle: full name.
        boundaries: of the namespace's bundles, rising, such as `0x00000000`.

    Properties:
        A bundle of the namespace is given back alone.

    >>> bundles_over("t/n/0x00000000_0x80000000", ["0x00000000", "0x40000000", "0x80000000"])
    ('t/n/0x00000000_0x40000000', 't/n/0x40000000_0x80000000')
    """
    first, end = bundle_range(bundle)
    return tuple(
        f"{namespace(bundle)}/{low}_{high}"
        for low, high in pairwise(boundaries)
        if int(low, 16) < end and int(high, 16) > first
    )


def is_system_bundle(bundle: str, release: str) -> bool:
    """Return whether the leader hides a bundle from its shedders.

    Args:
        bundle: full name, such as `pulsar/broker-1:8080/0x00000000_0xffffffff`.
        release: a Pulsar release or a release line.

    Quirks:
        Bundles of `pulsar/system` may be shed in every release but 3.0.0.
        `sla-monitor/broker-1:8080`, without a cluster, is an ordinary namespace up to
        4.x.  From 5.0 it is the other way round: names with a cluster are ordinary.

    Source:
        LoadData.getBundleDataForLoadShedding and the patterns of NamespaceService,
        run in 2.10.4, 3.0.0, 3.0.7, 3.3.5, 4.0.0, 4.0.8 and 5.0.0-M1.
    """
    return _is_system_namespace(namespace(bundle), release)


# Of a cluster's namespaces, which are few beside its bundles, the same is asked again and again.
@lru_cache(1 << 14)
def _is_system_namespace(name: str, release: str) -> bool:
    """Return whether the leader hides the bundles of a namespace from its shedders."""
    if release == _SHIELDS_SYSTEM_NAMESPACE and name == "pulsar/system":
        return True
    pattern = _SYSTEM_FROM_5 if release_line(release) == "5.0" else _SYSTEM_UP_TO_4
    return pattern.fullmatch(name) is not None
