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
class Course:
    """What was seen of usage, in percent; times are s since 1970."""

    every_s: float = _EVERY_S
    #: Time, then PERCENTILES and the mean.
    points: list[tuple[float, ...]] = field(default_factory=list)
    #: Broker → (time, lowest, highest) of each part of the last minutes.
    _recent: dict[str, deque[tuple[float, float, float]]] = field(default_factory=dict)

    def take(self, time_s: float, usages: Mapping[str, float]) -> None:
        """Take how brokers stand; those that are not named any more are forgotten."""
        for gone in self._recent.keys() - usages.keys():
            del self._recent[gone]
        for broker, usage in usages.items():
            self._add(self._recent.setdefault(broker, deque(maxlen=_PARTS)), time_s, usage)
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
        parts = self._recent.get(broker, ())
        if not parts:
            return math.nan, math.nan
        return min(low for _, low, _ in parts), max(high for *_, high in parts)

    @staticmethod
    def _add(parts: deque[tuple[float, float, float]], time_s: float, usage: float) -> None:
        if parts and time_s < parts[-1][0] + RECENT_S / _PARTS:
            begun_s, low, high = parts[-1]
            parts[-1] = begun_s, min(low, usage), max(high, usage)
        else:
            parts.append((time_s, usage, usage))
