"""A diagnosed recording's tables → its cluster, on which any balancer can be run.

`recorded` is all that is needed: what it returns holds the traffic, the events and the
clocks that were recorded, the balancer that really steered, and a list of what was not told.
"""

from trimtab.trials.recorded_cluster.cluster import (
    RecordedCluster,
    evidence,
    recorded,
    refuse_unrecorded,
    weights,
)
from trimtab.trials.recorded_cluster.nights import RecordedNight, together

__all__ = [
    "RecordedCluster",
    "RecordedNight",
    "evidence",
    "recorded",
    "refuse_unrecorded",
    "together",
    "weights",
]
