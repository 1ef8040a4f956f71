"""Carrying a plan out on a live cluster: the files and calls around `control`."""

from trimtab.live.apply.files import PlanError
from trimtab.live.apply.journal import JournalError
from trimtab.live.apply.post import LockError
from trimtab.live.apply.run import (
    ConnectedCluster,
    Watching,
    Where,
    carried_out,
    connected_cluster,
    rehearsed,
)

__all__ = [
    "ConnectedCluster",
    "JournalError",
    "LockError",
    "PlanError",
    "Watching",
    "Where",
    "carried_out",
    "connected_cluster",
    "rehearsed",
]
