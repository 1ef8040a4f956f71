"""How usage went: of the cluster over the whole watch, of each broker of late; never grows."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

#: Points of the cluster's course; when there are more, every other goes.
_POINTS_MAX = 480
#: Between two of them at first, s.
_EVERY_S = 5.0
#: Of each broker so much is kept, s, in so many parts.
RECENT_S = 900.0
_PARTS = 30
#: Percentiles of the brokers' usage at each point.
PERCENTILES = (0.0, 5.0, 50.0, 95.0, 100.0)


@dataclass(slots=True)
class _Parts:
    """Between what a broker's usage was in each part of the last minutes."""

    begun_s: float = -math.inf
    # Numbers alone: whoever collects garbage passes them over.
    low: deque[float] = field(default_factory=lambda: deque(maxlen=_PARTS))
    high: deque[float] = field(default_factory=lambda: deque(maxlen=_PARTS))

    def add(self, time_s: float, usage: float) -> None:
        if time_s < self.begun_s + RECENT_S / _PARTS:
            self.low[-1], self.high[-1] = min(self.low[-1], usage), max(self.high[-1], usage)
        else:
            self.begun_s = time_s
            self.low.append(usage)
            self.high.append(usage)


@dataclass(slots=True)
class Course:
    """What was seen of usage, in percent; times are s since 1970."""

    every_s: float = _EVERY_S
    #: Time, then PERCENTILES and the mean.
    points: list[tuple[float, ...]] = field(default_factory=list)
    _recent: dict[str, _Parts] = field(default_factory=dict)

    def take(self, time_s: float, usages: Mapping[str, float]) -> None:
        """Take how brokers stand; those that are not named any more are forgotten."""
        for gone in self._recent.keys() - usages.keys():
            del self._recent[gone]
        for broker, usage in usages.items():
            if broker not in self._recent:
                self._recent[broker] = _Parts()
            self._recent[broker].add(time_s, usage)
        if usages and (not self.points or time_s >= self.points[-1][0] + self.every_s):
            values = np.fromiter(usages.values(), np.float64, len(usages))
            self.points.append(
                (time_s, *np.percentile(values, PERCENTILES).tolist(), float(values.mean()))
            )
        if len(self.points) > _POINTS_MAX:
            self.points = self.points[::2]
            self.every_s *= 2.0

    def recent(self, broker: str) -> tuple[float, float]:
        """Return the lowest and the highest usage of a broker in the last minutes."""
        parts = self._recent.get(broker)
        return (min(parts.low), max(parts.high)) if parts else (math.nan, math.nan)
