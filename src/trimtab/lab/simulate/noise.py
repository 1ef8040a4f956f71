"""Everything random: a generator for each purpose, and noise that lasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator of random numbers for one purpose.

    What is drawn for one purpose does not depend on how much is drawn for another: the
    traffic is the same whatever a balancer does.
    """
    seeds = np.random.SeedSequence((seed, *purpose.encode()))
    return np.random.Generator(np.random.PCG64DXSM(seeds))


class Noise:
    """Normal noise of mean 0 and deviation 1 that forgets itself (Ornstein and Uhlenbeck).

    Properties:
        Rows are the same however they are divided into blocks.
    """

    def __init__(self, random: np.random.Generator, size: int, kept: float) -> None:
        """Begin in the long run's state; of each value of a row `kept` is left in the next."""
        self.random, self.size, self.kept = random, size, kept
        #: The last row.
        self._now: NDArray[np.float32] = random.standard_normal(size, dtype=np.float32)

    def rows(self, count: int) -> NDArray[np.float32]:
        """Return the next rows, (count, size)."""
        drawn = self.random.standard_normal((count, self.size), dtype=np.float32)
        kept = np.float32(self.kept)
        drawn *= np.sqrt(np.float32(1) - kept * kept)
        before, left = self._now, np.empty_like(self._now)
        for row in drawn:
            np.multiply(before, kept, left)
            np.add(row, left, row)
            before = row
        self._now = before.copy()
        return drawn
