"""Bundles that brokers have been given and do not report yet."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import Floats, Ints, Preallocations

# Bundles for which there is room at first.
_ROOM = 16


class Ahead:
    """Where bundles are on their way to, in the order in which they were given.

    One more costs as much as any other, however many there are.

    Source:
        BrokerData.preallocatedBundleData, LoadData; impl/ModularLoadManagerImpl.java
        preallocateBundle; read.
    """

    def __init__(self, n_bundles: int) -> None:
        """Begin with nothing on its way."""
        #: (n_bundles,) position of the broker in the cluster; -1 for none.
        self.broker: Ints = np.full(n_bundles, -1)
        #: Bundle → where it stands.
        self._at: dict[int, int] = {}
        #: What is shown of them, and room for more behind it.
        self._place: Ints = np.empty(_ROOM, np.int64)
        self._rates: Floats = np.empty((2, _ROOM))

    def put(self, bundle: int, broker: int, place: int, rates: tuple[float, float]) -> None:
        """Give a bundle to a broker; one that is on its way already goes there instead.

        Its place is the position among the brokers that the leader knows.
        """
        count = len(self._at)
        at = self._at.setdefault(bundle, count)
        if at == self._place.size or at < count:
            # Whoever has been shown the arrays before may still hold them.
            room = max(self._place.size, 2 * count)
            self._place = np.resize(self._place, room)
            self._rates = np.stack([np.resize(rate, room) for rate in self._rates])
        self.broker[bundle] = broker
        self._place[at] = place
        self._rates[:, at] = rates

    def clear(self) -> None:
        """Let nothing be on its way."""
        if self._at:
            self.broker[list(self._at)] = -1
            self._at = {}
            self._place, self._rates = np.empty(_ROOM, np.int64), np.empty((2, _ROOM))

    def preallocations(self) -> Preallocations:
        """Return them as strategies are given them."""
        count = len(self._at)
        return Preallocations(self._place[:count], self._rates[0, :count], self._rates[1, :count])
