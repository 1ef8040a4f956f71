"""Carrying a plan out on a live cluster: the files and calls around `control`."""

from trimtab.apply.files import PlanError
from trimtab.apply.journal import JournalError
from trimtab.apply.post import LockError
from trimtab.apply.run import Reached, Watching, Where, carried_out, reached, rehearsed

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
