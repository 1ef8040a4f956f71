"""The ticks of what is rebuilt, on the clock of the recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class Grid:
    """Ticks of one length, from a moment on."""

    #: s from 1970.
    from_s: float
    tick_s: float
    n_ticks: int

    @property
    def end_s(self) -> Floats:
        """Return when each tick ends, (n_ticks,) s from 1970."""
        return self.from_s + self.tick_s * np.arange(1, self.n_ticks + 1, dtype=np.float64)

    def ended(self, time_s: float) -> int:
        """Return how many ticks have ended about some time; below 0 before the beginning."""
        return round((time_s - self.from_s) / self.tick_s)
