"""Which bundles the leader has heard of, a row each, and which of them it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.map_order import spreads
from trimtab.pulsar.model import Flags, Ints


@dataclass(frozen=True, slots=True)
class RowNames(Sequence[str]):
    """The names of some rows, each looked up when somebody asks for it: few of many are."""

    #: (n_all_rows,) bundle of each row.
    names: NDArray[np.object_]
    #: (n,) the rows.
    rows: Ints

    def __len__(self) -> int:
        """Return how many there are."""
        return self.rows.size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        """Return the name at a position, or those of some positions."""
        if isinstance(at, slice):
            return tuple(self.names.take(self.rows[at]).tolist())
        name: str = self.names[self.rows[at]]
        return name

    def __iter__(self) -> Iterator[str]:
        """Yield all of them."""
        return iter(self.names.take(self.rows).tolist())


@dataclass(slots=True)
class BundleRows:
    """Bundles, which have a row from when they are named first.

    The leader knows one from when its averages are made until they are forgotten; one that is
    forgotten and met again is another object.
    """

    #: Bundle → row.
    at: dict[str, int] = field(default_factory=dict)
    #: (n_rows,) bundle of each row.
    names: NDArray[np.object_] = field(default_factory=lambda: np.zeros(0, np.object_))
    #: Bundles that are known, in the order in which they were met → row.
    known: dict[str, int] = field(default_factory=dict)
    #: Grows whenever a bundle is met or forgotten.
    version: int = 0
    #: Objects made so far.
    made: int = 0
    #: (n_rows,) is known, which object it is, and the hash of the name as Java's maps spread it.
    is_known: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    spread: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    #: (n_rows,) which namespace it is of.
    _namespace: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _namespaces: dict[str, int] = field(default_factory=dict)
    _system: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def rows(self, bundles: Sequence[str]) -> Ints:
        """Return the rows of bundles; those not named before get new ones."""
        at = self.at
        rows = list(map(at.get, bundles))
        if None in rows:
            first = len(at)
            new = list(dict.fromkeys(bundle for bundle in bundles if bundle not in at))
            at.update(zip(new, range(first, first + len(new)), strict=True))
            self._make_room(len(at))
            self.names[first : len(at)] = new
            self.spread[first : len(at)] = spreads(new)
            for row, bundle in enumerate(new, first):
                number = len(self._namespaces)
                self._namespace[row] = self._namespaces.setdefault(namespace(bundle), number)
            rows = list(map(at.get, bundles))
        return np.array(rows, np.int64)

    def named(self, rows: Ints) -> tuple[str, ...]:
        """Return the bundles of some rows."""
        return tuple(self.names.take(rows).tolist())

    def of_namespace(self, name: str) -> Flags:
        """Return which rows are of a namespace, (n_rows,)."""
        return np.asarray(self._namespace[: len(self.at)] == self._namespaces.get(name, -1))

    def are_system(self, is_system: Callable[[str], bool]) -> Flags:
        """Return which rows are of Pulsar's own bundles, (n_rows,), asking once a row."""
        new = self.names[self._system.size : len(self.at)].tolist()
        if new:
            self._system = np.append(self._system, [is_system(bundle) for bundle in new])
        return self._system

    def know(self, rows: Ints) -> None:
        """Know bundles that are not known, each once, in this order."""
        if rows.size:
            self.known.update(zip(self.named(rows), rows.tolist(), strict=True))
            self.is_known[rows] = True
            self.numbers[rows] = self.made + 1 + np.arange(rows.size)
            self.made += rows.size
            self.version += 1

    def forget(self, rows: Ints) -> None:
        """Know bundles no more; those that are not known stay so."""
        for bundle in set(self.named(rows[self.is_known[rows]])):
            del self.known[bundle]
            self.version += 1
        self.is_known[rows] = False

    def forget_all(self) -> None:
        """Know nothing; what is met from now on are other objects."""
        self.known = {}
        self.is_known[:] = False
        self.version += 1

    def _make_room(self, count: int) -> None:
        size = self.names.size
        if count > size:
            more = max(count, 2 * size) - size
            self.names = np.pad(self.names, (0, more))
            self.is_known = np.pad(self.is_known, (0, more))
            self.numbers = np.pad(self.numbers, (0, more))
            self.spread = np.pad(self.spread, (0, more))
            self._namespace = np.pad(self._namespace, (0, more))
