"""Looks at a cluster of known costs, a minute after the other, for tests of what is learned."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs import Look
from trimtab.pulsar.model import Floats, Ints

#: Bundles, and who had them; -1 for nobody.
Moves = tuple[Ints, Ints]


class Owners:
    """Who owns which bundle, from the first minute on, in which nobody owned any."""

    def __init__(self, brokers: int, bundles: int) -> None:
        self.brokers, self.owner = brokers, np.arange(bundles) % brokers

    def moved(self, minute: int, bundles: tuple[int, ...], to: tuple[int, ...]) -> Moves:
        """Move bundles right before the end of a minute; return which, and who had them."""
        is_first = minute == 1
        who = np.arange(self.owner.size) if is_first else np.array(bundles, np.int64)
        source = np.full(who.size, -1) if is_first else self.owner[who]
        self.owner[list(bundles)] = to
        return who, source

    def look(self, minute: int, moves: Moves, krate: Floats, cpu: Floats) -> Look:
        """Return a look at the end of a minute.

        Args:
            minute: which; its moves are those of `moved`.
            moves: bundles, and who had them.
            krate: (n_bundles,) 1,000 messages/s in, of half a KB.
            cpu: (n_brokers,) percent.
        """
        n, (bundles, source), time_s = self.brokers, moves, 60.0 * minute
        counts = np.zeros((self.owner.size, 7))
        counts[:, 0], counts[:, 2], counts[:, 4] = 1000.0 * krate, 512.0e3 * krate, 1.0
        return Look(
            time_s=time_s,
            broker=np.arange(n),
            written_s=np.full(n, time_s),
            started_s=np.full(n, -7200.0),
            cpu=cpu,
            others=np.full(n, np.nan),
            cores=np.full(n, 16.0),
            report=self.owner.copy(),
            bundle=np.arange(self.owner.size),
            counts=counts,
            moved=bundles,
            moved_from=source,
            moved_to=self.owner[bundles],
            moved_s=np.full(bundles.size, -7200.0 if minute == 1 else time_s - 1.0),
        )
