"""Which bundles a broker of the extensible load manager publishes, and in which order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from trimtab.pulsar.releases import release_order
from trimtab.pulsar.tim_sort import tim_sorted

#: What counts as equal: bytes/s, messages/s, topics with their clients.
_THROUGHPUT, _RATE, _CLIENTS = 1e5, 100.0, 500
#: The oldest release seen that rounds before it compares.
_ROUNDS_SINCE = "4.0.8"


class BundleStats(NamedTuple):
    """What a broker counts of a bundle."""

    #: Position of the bundle, for whoever asks.
    bundle: int
    #: Bytes/s.
    throughput_in: float
    throughput_out: float
    #: Messages/s in and out.
    rate: float
    #: Topics, producers and consumers.
    clients: int


Compare = Callable[[BundleStats, BundleStats], int]


def top_bundles(
    stats: Sequence[BundleStats], count: int, release: str = _ROUNDS_SINCE
) -> list[BundleStats]:
    """Return the heaviest bundles from the lightest to the heaviest, as a broker publishes them.

    Args:
        stats: of all bundles that may be published, in the order of the broker's map.
        count: how many are published at most.
        release: of Pulsar, which decides what counts as equal.

    Quirks:
        Bundles are compared by what comes in first, then by what goes out, by messages and
        by clients, each with a coarse scale: what is within 100 kB/s and 100 messages/s of each
        other is equal, and where bundles are small all of them are.  Of equal ones those are
        published that a partition of the list happens to leave in front, not the heaviest.
        Until 4.0.0 close means a difference, so that equal to equal need not be equal.

    Source:
        TopKBundles.java partitionSort, update, NamespaceBundleStats.java compareTo, 4.0.0 and
        4.0.8; 4.0.8 checked against runs of the methods.
    """
    is_rounding = release_order(release) >= release_order(_ROUNDS_SINCE)
    compare = _compare_rounded if is_rounding else _compare_close
    partitioned, count = list(stats), min(count, len(stats))
    if count:
        partitioned = _partition_sorted(partitioned, count, compare)
    return partitioned[:count][::-1]


def _partition_sorted(arr: list[BundleStats], count: int, compare: Compare) -> list[BundleStats]:
    """Return the list with the heaviest in front, those from the heaviest on, in order."""
    start, end, target = 0, len(arr) - 1, count - 1
    while start < end:
        low, high, middle = start, end, start
        pivot = arr[high]
        while middle <= high:
            order = compare(pivot, arr[middle])
            if order < 0:
                arr[low], arr[middle] = arr[middle], arr[low]
                low, middle = low + 1, middle + 1
            elif order > 0:
                arr[middle], arr[high] = arr[high], arr[middle]
                high -= 1
            else:
                middle += 1
        if low <= target < middle:
            end = low
            break
        if target < low:
            end = low - 1
        else:
            start = middle
    return tim_sorted(arr[:end], lambda a, b: compare(b, a)) + arr[end:]


def _compare_rounded(one: BundleStats, other: BundleStats) -> int:
    mine, theirs = _scale(one), _scale(other)
    return (mine > theirs) - (mine < theirs)


def _scale(stats: BundleStats) -> tuple[int, int, int, int]:
    # Math.round rounds a half up.
    return (
        math.floor(stats.throughput_in / _THROUGHPUT + 0.5),
        math.floor(stats.throughput_out / _THROUGHPUT + 0.5),
        math.floor(stats.rate / _RATE + 0.5),
        stats.clients // _CLIENTS,
    )


def _compare_close(one: BundleStats, other: BundleStats) -> int:
    for mine, theirs, near in (
        (one.throughput_in, other.throughput_in, _THROUGHPUT),
        (one.throughput_out, other.throughput_out, _THROUGHPUT),
        (one.rate, other.rate, _RATE),
        (one.clients, other.clients, _CLIENTS),
    ):
        if abs(mine - theirs) > near:
            return (mine > theirs) - (mine < theirs)
    return 0
