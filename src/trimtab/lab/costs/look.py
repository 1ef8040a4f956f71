"""The nouns of a look at a cluster: what is new since the look before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trimtab.pulsar.model import Flags, Floats, Ints

#: What is counted of a bundle: messages/s in and out, bytes/s in and out, topics, producers,
#: consumers; producers and consumers are NaN where nobody reports them.
COUNTS = ("rate_in", "rate_out", "bytes_in", "bytes_out", "topics", "producers", "consumers")

#: Percent of CPU below which a broker has not measured any yet: no process takes that little.
MEASURED_MIN = 0.01
#: Percent from which a CPU only says that it is full.
FULL = 97.0
# s that a burst lasts, about, and s of a quiet stretch.
_BURST_S, _BLOCK_S = 140.0, 300.0


@dataclass(frozen=True, slots=True)
class Windows:
    """Over how long brokers take means, s."""

    host_s: float = 60.0
    bundle_s: float = 60.0

    @property
    def in_doubt(self) -> int:
        """Return how many windows in a row that say the same are believed against the level.

        Three, or as many short ones as make up more than two minutes: a burst lasts that long.
        """
        return max(3, math.ceil(_BURST_S / self.host_s))

    @property
    def in_block(self) -> int:
        """Return how many windows a quiet stretch has at most: five, or five minutes of them."""
        return max(5, math.ceil(_BLOCK_S / self.host_s))

    @property
    def settled_s(self) -> float:
        """Return after how long a report tells nothing of what was before a move."""
        return self.host_s + self.bundle_s + 5.0


@dataclass(frozen=True, slots=True)
class Look:
    """What is new since the look before: reports, and bundles that changed hands."""

    time_s: float
    #: (n_reports,) position of the broker, at most one report of each.
    broker: Ints
    #: (n_reports,) s; when it was written, and when the process began (NaN: not known).
    written_s: Floats
    started_s: Floats
    #: (n_reports,) percent of the host's CPU in use, and of that by other processes (NaN where
    #: nobody measured it).
    cpu: Floats
    others: Floats
    #: (n_reports,) cores of the host; NaN where nobody says.
    cores: Floats
    #: (n_lines,) position of the report above, and of the bundle.
    report: Ints
    bundle: Ints
    #: (n_lines, 7) columns COUNTS.
    counts: Floats
    #: (n_moves,) bundles that changed hands, owners before and after (-1: nobody), and when, s.
    moved: Ints
    moved_from: Ints
    moved_to: Ints
    moved_s: Floats


def has_measured(cpu: Floats) -> Flags:
    """Return which reports say what of the CPU is in use: the first of a process do not yet."""
    return cpu >= MEASURED_MIN
