"""What a cluster uses and what is known of its costs → the moves worth making, and how sure.

`planned` draws how low the peak may come with each number of moves and says where the curve
ends; `columns` says what bundles take, `profile` what they will take in the hours to come.
"""

from trimtab.lab.planning.plan import Planned, Restraints, Wish, planned, unrestrained
from trimtab.lab.planning.snapshot import RESOURCES, Snapshot

__all__ = [
    "RESOURCES",
    "Planned",
    "Restraints",
    "Snapshot",
    "Wish",
    "planned",
    "unrestrained",
]
