"""A clock by which as many seconds pass as really do, whoever sets the machine's."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """The machine's clock as it stood when this was made, and what has passed since."""

    #: s since 1970.
    began_s: float = field(default_factory=time.time)
    _began: float = field(default_factory=time.monotonic)

    @property
    def now(self) -> datetime:
        """Return the same as a time."""
        return datetime.fromtimestamp(self.time_s, UTC)

    @property
    def time_s(self) -> float:
        """Return the time, s since 1970, by a clock that is never set."""
        return self.began_s + time.monotonic() - self._began
