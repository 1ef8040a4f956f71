"""Which of a run's waits are told: each new one, and once a minute that it goes on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.live.control.step import Wait

_EVERY_S = 60.0
_FIGURES = re.compile(r"\d+(?:\.\d+)?")


@dataclass(slots=True)
class Waits:
    """What was told last."""

    _what: str = ""
    _told_s: float = 0.0

    def is_due(self, wait: Wait, now_s: float) -> bool:
        """Return whether a wait is to be told now; figures that go on make no new one.

        Args:
            wait: what is waited for.
            now_s: by any clock that is never set.
        """
        what = _FIGURES.sub("", wait.why)
        if what == self._what and now_s - self._told_s < _EVERY_S:
            return False
        self._what, self._told_s = what, now_s
        return True
