"""What the runs that act on one cluster have in common: who may act, and what was done last.

A journal is a plan's; a bundle that one plan has just moved must rest from every other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from trimtab.files.errors import TrimtabError
from trimtab.live.control.entries import Asked


class Unloaded(NamedTuple):
    """One unload, as it is noted for all runs."""

    #: When it was asked for, s since 1970, by the clock as it stood then.
    time_s: float
    bundle: str
    #: Which start of which machine noted it, and s since then; whoever sets the clock sets neither.
    boot: str = ""
    up_s: float = 0.0


class Pause(NamedTuple):
    """Pulsar's own shedding, switched off by a run that is to put it back."""

    #: When it was, s since 1970.
    time_s: float
    #: What loadBalancerSheddingEnabled was in effect, at the leader.
    value: str
    #: What a dynamic setting had made it; empty if there was none.
    override: str
    #: File of the plan whose run it is.
    plan: str


#: Longer than any grace that makes sense, and not so long that it grows without end.
KEPT_S = 86_400.0
KEPT_MAX = 2_000


class LockError(TrimtabError):
    """The lock is held by somebody else, lost, or cannot be taken; says by whom or why."""


@dataclass(frozen=True, slots=True)
class LockState:
    """What can be seen by whoever does not act."""

    is_stopped: bool
    unloads: tuple[Unloaded, ...]
    draining: frozenset[str]
    is_ours: bool = False
    #: There is no lock to lose.
    loss: str = ""
    #: What a run has switched off and not put back; None if nothing.
    pause: Pause | None = None

    def note(self, order: Asked) -> NoReturn:
        """Refuse: nothing may be unloaded without the lock."""
        raise LockError("the lock is not held, so nothing is moved")


def recent(unloads: tuple[Unloaded, ...], time_s: float) -> tuple[Unloaded, ...]:
    """Return what may still matter."""
    return tuple(it for it in unloads if time_by_now(it, time_s) > time_s - KEPT_S)[-KEPT_MAX:]


def unloads_in(values: Iterable[Any]) -> tuple[Unloaded, ...]:
    """Return the unloads of a list of notes; those of before have a time and a bundle alone.

    Raises:
        TypeError, ValueError: a note is none.
    """
    return tuple(
        Unloaded(float(at), str(bundle), *((str(rest[0]), float(rest[1])) if rest else ()))
        for at, bundle, *rest in values
    )


#: Of what is there instead, which nobody but a person can tell.
NO_PAUSE = (
    "found no note of a pause, expected one as a rolling restart writes it: see whether "
    "loadBalancerSheddingEnabled is as it is to be, then delete it"
)


def pause_in(value: Any) -> Pause | None:  # noqa: ANN401  # as it was read from JSON
    """Return the pause of a note; None of an empty one.

    Raises:
        TypeError, ValueError: it is none.
    """
    if not value:
        return None
    time_s, *texts = value
    return Pause(float(time_s), *map(str, texts))


def noted(asked: Asked) -> Unloaded:
    """Return what is noted of an unload."""
    return Unloaded(asked.time_s, asked.bundle, _boot(), _up_s())


def time_by_now(unload: Unloaded, now_s: float) -> float:
    """Return when an unload was asked for by the clock that shows now_s; both s since 1970.

    As long as the machine has not been started since, it is known how long ago it was, however
    its clock has been set; of what another machine noted the clock is all there is.
    """
    if not unload.boot or unload.boot != _boot():
        return unload.time_s
    return now_s - (_up_s() - unload.up_s)


@cache
def _boot() -> str:
    """Return what tells this start of this machine from every other; empty if nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _up_s() -> float:
    """Return s since the machine was started, asleep or not."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
