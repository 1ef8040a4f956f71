"""What the runs that act on one cluster have in common: who may act, and what was done last.

A journal is a plan's; a bundle that one plan has just moved must rest from every other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from trimtab.files.errors import TrimtabError
from trimtab.live.control.entries import Asked

#: When a bundle was asked for, s since 1970, and its name.
Unloaded: TypeAlias = tuple[float, str]

#: Longer than any grace that makes sense, and not so long that it grows without end.
KEPT_S = 86_400.0
KEPT_MAX = 2_000


class LockError(TrimtabError):
    """The lock is held by somebody else, lost, or cannot be taken; says by whom or why."""


@dataclass(frozen=True, slots=True)
class Unheld:
    """What can be seen by whoever does not act."""

    is_stopped: bool
    unloads: tuple[Unloaded, ...]
    draining: frozenset[str]
    is_ours: bool = False
    #: There is no lock to lose.
    loss: str = ""

    def note(self, order: Asked) -> NoReturn:
        """Refuse: nothing may be unloaded without the lock."""
        raise LockError("the lock is not held")


def recent(unloads: tuple[Unloaded, ...], time_s: float) -> tuple[Unloaded, ...]:
    """Return what may still matter."""
    return tuple(each for each in unloads if each[0] > time_s - KEPT_S)[-KEPT_MAX:]
