"""Carrying a plan out on a live cluster: the files and calls around `control`."""

from trimtab.live.apply.files import PlanError
from trimtab.live.apply.journal import JournalError
from trimtab.live.apply.post import LockError
from trimtab.live.apply.run import Reached, Watching, Where, carried_out, reached, rehearsed

__all__ = [
    "JournalError",
    "LockError",
    "PlanError",
    "Reached",
    "Watching",
    "Where",
    "carried_out",
    "reached",
    "rehearsed",
]
