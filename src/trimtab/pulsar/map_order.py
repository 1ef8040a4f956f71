"""The order in which Java's maps walk their keys, which decides sums and ties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_MASK = 0xFFFFFFFF
_TABLE_MIN = 16
# A bin that gets one key more than this makes a small table grow, a larger one build a tree.
_BIN_MAX = 8
_TABLE_OF_TREES_MIN = 64
# Keys that are hashed all at once, if there are so many, and the last character of one unit.
_MANY = 64
_UNIT_MAX = 0xFFFF


def string_hash(text: str) -> int:
    """Return a string's hash as in Java: 31·h + unit over UTF-16 units, in 32 bits.

    Source:
        java.lang.String.hashCode, JDK 17
    """
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + (units[i] << 8 | units[i + 1])) & _MASK
    return value


@dataclass(slots=True)
class HashMapKeys:
    """Keys of a HashMap or HashSet, whose table grows and never shrinks.

    Quirks:
        Bins of nine keys or more become trees in tables of 64 and above; that they are
        walked in the order of insertion all the same is assumed and not so in Java.  It
        takes names made for it: of a thousand namespaces with 64 bundles each no more than
        six share a bin.

    Source:
        java.util.HashMap.putVal, resize, treeifyBin, clear, JDK 17
    """

    #: Slots of the table.
    table_size: int = _TABLE_MIN
    _keys: dict[str, None] = field(default_factory=dict)

    def put(self, key: str) -> None:
        """Put a key in; one that is there stays where it is."""
        if key in self._keys:
            return
        self._keys[key] = None
        if self.table_size < _TABLE_OF_TREES_MIN and len(self._keys) > _BIN_MAX:
            bin_ = self._bin(key)
            if sum(self._bin(other) == bin_ for other in self._keys) > _BIN_MAX:
                self.table_size *= 2
        if len(self._keys) > self.table_size * 3 // 4:
            self.table_size *= 2

    def clear(self) -> None:
        """Take all keys out; the table stays as large as it was."""
        self._keys.clear()

    def walk(self) -> tuple[str, ...]:
        """Return the keys in the order in which Java walks them."""
        return tuple(sorted(self._keys, key=self._bin))

    def _bin(self, key: str) -> int:
        return spread(key) & (self.table_size - 1)


@dataclass(slots=True)
class ConcurrentHashMapKeys:
    """Keys of a ConcurrentHashMap, whose table grows and never shrinks.

    Quirks:
        The table doubles as soon as it holds three quarters, one key earlier than a
        HashMap; when a bin is split, all but its longest tail that goes one way is reversed.
        The ninth key of a bin makes a small table eight times as large.
        Trees as for a HashMap.

    Source:
        java.util.concurrent.ConcurrentHashMap.putVal, addCount, treeifyBin, tryPresize,
        transfer, clear, JDK 17
    """

    _bins: list[list[str]] = field(default_factory=lambda: [[] for _ in range(_TABLE_MIN)])
    _keys: set[str] = field(default_factory=set)

    @property
    def table_size(self) -> int:
        """Return the number of slots of the table."""
        return len(self._bins)

    def put(self, key: str) -> None:
        """Put a key in; one that is there stays where it is."""
        if key in self._keys:
            return
        chain = self._bin(key)
        chain.append(key)
        if len(chain) > _BIN_MAX and len(self._bins) < _TABLE_OF_TREES_MIN:
            # As tryPresize does, to which twice the table is what it is to hold.
            wanted = _power_of_two(3 * len(self._bins) + 1)
            while wanted > len(self._bins) * 3 // 4:
                self._bins = _doubled(self._bins)
        self._keys.add(key)
        while len(self._keys) >= len(self._bins) * 3 // 4:
            self._bins = _doubled(self._bins)

    def remove(self, key: str) -> None:
        """Take a key out, if it is there."""
        if key in self._keys:
            self._keys.remove(key)
            self._bin(key).remove(key)

    def clear(self) -> None:
        """Take all keys out; the table stays as large as it was."""
        self._keys.clear()
        for chain in self._bins:
            chain.clear()

    def walk(self) -> tuple[str, ...]:
        """Return the keys in the order in which Java walks them."""
        return tuple(key for chain in self._bins for key in chain)

    def _bin(self, key: str) -> list[str]:
        return self._bins[spread(key) & (len(self._bins) - 1)]


def hash_map_order(keys: Iterable[str], table_size: int = 0) -> tuple[str, ...]:
    """Return keys in the order in which a HashMap or HashSet walks them.

    Args:
        keys: distinct keys in the order of insertion.
        table_size: of a map that held more keys before it was cleared; 0 for a new one.

    Source:
        java.util.HashMap, JDK 17; see `HashMapKeys`
    """
    filled = HashMapKeys(max(table_size, _TABLE_MIN))
    for key in keys:
        filled.put(key)
    return filled.walk()


def hash_map_size(count: int, table_size: int = 0) -> int:
    """Return the size of a HashMap's table after so many keys have been put in.

    Args:
        count: of the keys.
        table_size: before, which clearing the map leaves as it was; 0 for a new one.

    Quirks:
        Nine keys in one bin of a small table, which double it, are left out of account.

    Source:
        java.util.HashMap.putVal, resize, clear, JDK 17
    """
    size = max(table_size, _TABLE_MIN)
    while count > size * 3 // 4:
        size *= 2
    return size


def concurrent_hash_map_order(keys: Iterable[str]) -> tuple[str, ...]:
    """Return keys in the order in which a new ConcurrentHashMap walks them.

    Args:
        keys: distinct keys in the order of insertion.

    Source:
        java.util.concurrent.ConcurrentHashMap, JDK 17; see `ConcurrentHashMapKeys`
    """
    filled = ConcurrentHashMapKeys()
    for key in keys:
        filled.put(key)
    return filled.walk()


def spreads(keys: Sequence[str]) -> NDArray[np.int64]:
    """Return hashes of keys as in Java's maps, of which the low bits name the bin."""
    units = np.array(keys, np.str_).reshape(-1, 1).view(np.uint32)
    if len(keys) < _MANY or units.max() > _UNIT_MAX:
        return np.fromiter((spread(key) for key in keys), np.int64, len(keys))
    # As in `string_hash`, a character of all keys after the other.
    length = np.fromiter(map(len, keys), np.int64, len(keys))
    value = np.zeros(len(keys), np.uint32)
    for i, unit in enumerate(units.T):
        np.add(value * np.uint32(31), unit, out=value, where=i < length)
    return (value ^ (value >> np.uint32(16))).astype(np.int64)


def hash_map_walk(keys: Sequence[str], spread: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of many keys in the order in which a new HashMap walks them.

    Args:
        keys: distinct keys in the order of insertion.
        spread: (n_keys,) their `spreads`, which need not be asked for again.

    Properties:
        The same order as that of `hash_map_order`, a hundred times as quickly.

    Source:
        java.util.HashMap, JDK 17; see `HashMapKeys`
    """
    if len(keys) <= _TABLE_OF_TREES_MIN * 3 // 4:
        position = {key: i for i, key in enumerate(keys)}
        return np.array([position[key] for key in hash_map_order(keys)], np.int64)
    # From here on no bin makes the table grow, only the number of keys does.
    bins = spread & (hash_map_size(len(keys)) - 1)
    return np.argsort(bins, kind="stable")


def hash_map_copy_walk(
    walked: NDArray[np.int64], keys: Sequence[str], spread: NDArray[np.int64], table_size: int
) -> NDArray[np.int64]:
    """Return the positions of keys in the order in which a HashMap of a size walks them.

    Args:
        walked: their positions in the order of insertion.
        keys: distinct keys.
        spread: their `spreads`.
        table_size: of the map; if it is too small for all of them, it is that of some of them.
    """
    if table_size < _TABLE_OF_TREES_MIN and hash_map_size(walked.size) <= table_size:
        position = {key: i for i, key in enumerate(keys)}
        in_map = hash_map_order([keys[i] for i in walked.tolist()], table_size)
        return np.array([position[key] for key in in_map], np.int64)
    return walked[np.argsort(spread[walked] & (table_size - 1), kind="stable")]


def concurrent_hash_map_walk(keys: Sequence[str], spread: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of many keys in the order in which a new ConcurrentHashMap walks them.

    Args:
        keys: distinct keys in the order of insertion.
        spread: (n_keys,) their `spreads`, which need not be asked for again.

    Properties:
        The same order as that of `concurrent_hash_map_order`, many times as quickly.

    Source:
        java.util.concurrent.ConcurrentHashMap, JDK 17; see `ConcurrentHashMapKeys`
    """
    first, count = ConcurrentHashMapKeys(), 0
    while count < len(keys) and first.table_size < _TABLE_OF_TREES_MIN:
        first.put(keys[count])
        count += 1
    position = {key: i for i, key in enumerate(keys[:count])}
    walked = np.array([position[key] for key in first.walk()], np.int64)
    size = first.table_size
    while count < len(keys):
        until = min(len(keys), size * 3 // 4)
        walked = np.append(walked, np.arange(count, until))
        walked = walked[np.argsort(spread[walked] & (size - 1), kind="stable")]
        count = until
        if count == size * 3 // 4:
            walked = _walked_doubled(walked, spread, size)
            size *= 2
    return walked


def _walked_doubled(
    walked: NDArray[np.int64], spread: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Return every bin split in two as `_doubled` does, all at once."""
    bins, side = spread[walked] & (size - 1), spread[walked] & size
    goes_on = np.append(bins[:-1] == bins[1:], False)
    changes = np.cumsum(goes_on & np.append(side[:-1] != side[1:], False))
    ends = np.flatnonzero(~goes_on)
    end = np.repeat(ends, np.diff(ends, prepend=-1))
    before = np.append(0, changes[:-1])
    is_tail = changes[end] == before
    place = np.arange(walked.size)
    order = np.lexsort((np.where(is_tail, place, -place), is_tail, bins + side))
    return walked[order]


@lru_cache(maxsize=1 << 17)
def spread(key: str) -> int:
    """Return a key's hash as in both maps, of which a table of n slots takes the remainder by n.

    Done once, though a key is put into one map after the other.

    Source:
        java.util.HashMap.hash, java.util.concurrent.ConcurrentHashMap.spread, JDK 17
    """
    value = string_hash(key)
    return value ^ (value >> 16)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _doubled(bins: list[list[str]]) -> list[list[str]]:
    """Return every bin split in two as ConcurrentHashMap.transfer does."""
    size = len(bins)
    table: list[list[str]] = [[] for _ in range(2 * size)]
    for i, chain in enumerate(bins):
        if not chain:
            continue
        sides = [spread(key) & size for key in chain]
        tail = len(chain) - 1
        while tail > 0 and sides[tail - 1] == sides[tail]:
            tail -= 1
        table[i + sides[tail]] = chain[tail:]
        for key, side in zip(chain[:tail], sides[:tail], strict=True):
            table[i + side].insert(0, key)
    return table
