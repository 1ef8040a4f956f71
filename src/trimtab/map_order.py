"""The order in which Java's maps walk their keys, which decides sums and ties."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = 0xFFFFFFFF
_TABLE_MIN = 16


def string_hash(text: str) -> int:
    """Hash a string as Java does: 31·h + unit over UTF-16 units, in 32 bits.

    Source:
        java.lang.String.hashCode, JDK 17
    """
    units = text.encode("utf-16-be")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + (units[i] << 8 | units[i + 1])) & _MASK
    return value


def hash_map_order(keys: Iterable[str]) -> tuple[str, ...]:
    """Return keys in the order in which a HashMap or HashSet walks them.

    Args:
        keys: distinct keys in the order of insertion.

    Quirks:
        Bins of eight or more keys become trees in Java; that they are walked in the order
        of insertion all the same holds for the keys seen here and is not checked.

    Source:
        java.util.HashMap.resize, newNode, JDK 17
    """
    ordered = list(dict.fromkeys(keys))
    size = _TABLE_MIN
    while len(ordered) > size * 3 // 4:
        size *= 2
    return tuple(sorted(ordered, key=lambda key: _spread(key) & (size - 1)))


def concurrent_hash_map_order(keys: Iterable[str]) -> tuple[str, ...]:
    """Return keys in the order in which a ConcurrentHashMap walks them.

    Args:
        keys: distinct keys in the order of insertion.

    Quirks:
        The table doubles as soon as it holds three quarters, one key earlier than a
        HashMap; when a bin is split, all but its longest tail that goes one way is reversed.

    Source:
        java.util.concurrent.ConcurrentHashMap.transfer, addCount, JDK 17
    """
    bins: list[list[str]] = [[] for _ in range(_TABLE_MIN)]
    for count, key in enumerate(dict.fromkeys(keys), 1):
        bins[_spread(key) & (len(bins) - 1)].append(key)
        while count >= len(bins) * 3 // 4:
            bins = _doubled(bins)
    return tuple(key for chain in bins for key in chain)


def _spread(key: str) -> int:
    value = string_hash(key)
    return value ^ (value >> 16)


def _doubled(bins: list[list[str]]) -> list[list[str]]:
    """Split every bin in two as ConcurrentHashMap.transfer does."""
    size = len(bins)
    table: list[list[str]] = [[] for _ in range(2 * size)]
    for i, chain in enumerate(bins):
        if not chain:
            continue
        sides = [_spread(key) & size for key in chain]
        tail = len(chain) - 1
        while tail > 0 and sides[tail - 1] == sides[tail]:
            tail -= 1
        table[i + sides[tail]] = chain[tail:]
        for key, side in zip(chain[:tail], sides[:tail], strict=True):
            table[i + side].insert(0, key)
    return table
