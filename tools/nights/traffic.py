"""What the clients of each bundle send, second for second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: From the second of the night and the rates of all bundles to the rates that there are.
Shape: TypeAlias = Callable[[float, Floats], Floats]

#: Seconds before the end of a minute at which it is looked at for its mean.
_LOOKS_S = (52.5, 37.5, 22.5, 7.5)


@dataclass(slots=True)
class Traffic:
    """All bundles of a cluster; arrays are (n_bundles,)."""

    names: list[str]
    #: Messages/s published, before shapes.
    rate: Floats
    #: Bytes a message.
    size: Floats
    #: Messages dispatched for each that is published.
    fan_out: Floats
    #: Points of CPU, on a broker of strength 1, for a message/s published.
    cost: Floats
    topics: Ints
    #: Slow waves: share of the rate, seconds, radians.
    swing: Floats
    period_s: Floats
    phase: Floats
    shapes: list[Shape] = field(default_factory=list)

    def at(self, second: float) -> Floats:
        """Return messages/s published of every bundle at a second."""
        wave = np.sin(2 * np.pi * second / self.period_s + self.phase)
        rate = self.rate * (1.0 + self.swing * wave)
        for shape in self.shapes:
            rate = shape(second, rate)
        return rate

    def over_minute(self, second: float) -> Floats:
        """Return the same as a mean over the minute that ends there."""
        mean: Floats = np.mean([self.at(second - look) for look in _LOOKS_S], axis=0)
        return mean

    def carried(self, rate: Floats) -> Floats:
        """Return (n_bundles, 4): messages/s in and out and bytes/s in and out."""
        out = rate * self.fan_out
        return np.stack([rate, out, rate * self.size, out * self.size], axis=1)


def drawn_traffic(rng: np.random.Generator, names: list[str], spread: float) -> Traffic:
    """Return traffic of bundles that differ by a spread, in units of the mean bundle."""
    count = len(names)
    rate = rng.lognormal(0.0, spread, count)
    return Traffic(
        names=names,
        rate=rate / rate.mean(),
        size=np.full(count, float(rng.choice([300, 1024, 4096]))),
        fan_out=np.full(count, float(rng.choice([1.0, 1.0, 2.0]))),
        cost=np.ones(count),
        topics=rng.integers(2, 9, count),
        swing=rng.uniform(0.0, 0.02, count),
        period_s=rng.uniform(600, 2400, count),
        phase=rng.uniform(0, 2 * np.pi, count),
    )
