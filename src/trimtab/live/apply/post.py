"""What the runs that act on one cluster have in common: who may act, and what was done last.

A journal is a plan's; a bundle that one plan has just moved must rest from every other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeAlias

from trimtab.files.errors import TrimtabError
from trimtab.live.control.entries import Asked

#: When a bundle was asked for, s since 1970, and its name.
Unloaded: TypeAlias = tuple[float, str]

#: Longer than any grace that makes sense, and not so long that it grows without end.
KEPT_S = 86_400.0
KEPT_MAX = 2_000


class LockError(TrimtabError):
    """The lock is held by somebody else, lost, or cannot be taken; says by whom or why."""


class Post(Protocol):
    """What every run that acts on a cluster has in common with the others, wherever it is kept."""

    @property
    def token(self) -> int:
        """Return the number, larger than that of whoever held the lock before."""

    @property
    def is_ours(self) -> bool:
        """Return whether the lock is still held."""

    @property
    def is_stopped(self) -> bool:
        """Return whether somebody has asked all runs to end."""

    @property
    def unloads(self) -> tuple[Unloaded, ...]:
        """Return what was unloaded in the last day, by whichever run."""

    @property
    def draining(self) -> frozenset[str]:
        """Return the brokers that are being emptied."""

    def note(self, order: Asked) -> None:
        """Note an unload where the next run finds it, whatever plan that one has.

        Raises:
            LockError: the lock is lost, and nothing may be unloaded.
        """

    def drain(self, broker: str) -> None:
        """Mark a broker as being emptied, so that no run moves anything there."""

    def take_back(self, broker: str) -> None:
        """Remove that mark."""


@dataclass(frozen=True, slots=True)
class Unheld:
    """What can be seen by whoever does not act."""

    is_stopped: bool
    unloads: tuple[Unloaded, ...]
    draining: frozenset[str]
    token: int = 0
    is_ours: bool = False

    def note(self, order: Asked) -> NoReturn:
        """Refuse: nothing may be unloaded without the lock."""
        raise LockError("the lock is not held")

    def drain(self, broker: str) -> NoReturn:
        """Refuse as well."""
        raise LockError("the lock is not held")

    take_back = drain


def recent(unloads: tuple[Unloaded, ...], time_s: float) -> tuple[Unloaded, ...]:
    """Return what may still matter."""
    return tuple(each for each in unloads if each[0] > time_s - KEPT_S)[-KEPT_MAX:]
