"""When the things happened that the leader goes by, in milliseconds that tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Writes keep clear of a round that comes, by as much as its time may be in doubt for a reader.
_CLEAR_MS = 50


@dataclass(slots=True)
class LeaderClock:
    """Stamps what the leader hears and does.

    A reader of the recording puts things in order by these stamps, and decides again what
    the leader decided; so they stand in the order in which the simulation did them, and no
    two are the same.
    """

    #: Epoch milliseconds at which the simulation begins.
    start_ms: int
    now_ms: int
    #: s at which the next round is due.
    round_s: float = math.inf
    #: What passes between the last line of a round and its end: a reader who sees no line of
    #: a round takes it to be an interval after the last line.
    unseen_ms: int = 0

    def happens(self, time_s: float) -> int:
        """Return the stamp of something that the leader does or hears of."""
        self.now_ms = max(self.ms(time_s), self.now_ms + 1)
        return self.now_ms

    def is_written(self, end_s: float, early_ms: int) -> int:
        """Return the stamp of a write that the simulation makes at the end of a tick.

        Quirks:
            What a broker writes while a round goes on is stamped behind the round, which
            saw none of it.
        """
        time_ms = self.ms(end_s) - early_ms
        if end_s <= self.round_s < math.inf:
            time_ms = min(time_ms, self.ms(self.round_s) - self.unseen_ms - _CLEAR_MS)
        self.now_ms = max(time_ms, self.now_ms + 1)
        return self.now_ms

    def ms(self, time_s: float) -> int:
        """Return s of the simulation as epoch milliseconds."""
        return self.start_ms + round(time_s * 1000.0)
