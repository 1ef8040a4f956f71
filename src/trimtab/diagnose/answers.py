"""What brokers said of their load beside the store: when asked over REST, or in their metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from trimtab.diagnose.columns import moments
from trimtab.diagnose.reports import Answers, BrokerReports, broker_reports, of_origin, of_reports
from trimtab.diagnose.usage import usages_from_metrics
from trimtab.diagnose.usages import places_by_broker
from trimtab.pulsar.settings import ResourceWeights

#: s by which a record may be late: brokers look every 5 s whether it is due.
LATE_S = 60.0
#: The JVM tells of its memory, which goes up and down.
_HOST_ALONE = ResourceWeights(
    cpu=1.0, memory=0.0, direct_memory=0.0, bandwidth_in=1.0, bandwidth_out=1.0
)


def answers(
    reports: pa.Table,
    records: Mapping[str, BrokerReports],
    samples: Callable[[], Sequence[Mapping[str, Any]]],
    names: Mapping[str, str],
    longest_s: float,
) -> dict[str, Answers]:
    """Return what brokers said, by REST or else by their metrics; empty where nobody may doubt.

    Args:
        reports: rows of `load_reports`.
        records: what the brokers wrote to the store.
        samples: reads the rows of `metrics`, which are many: asked where a record stands still.
        names: log folder → broker id.
        longest_s: after which time a broker writes its record whatever its load.
    """
    asked = broker_reports(of_origin(reports, "rest"))
    if asked:
        return {broker: of_reports(mine) for broker, mine in asked.items()}
    if not stands_still(records, longest_s):
        return {}
    told = usages_from_metrics(samples(), names, _HOST_ALONE)
    return {
        broker: Answers(
            times=tuple(moments(told.times[mine])),
            usage=told.fractions[mine],
            busiest=np.full(mine.size, np.nan),
            throughput=np.full(mine.size, np.nan),
        )
        for broker, mine in places_by_broker(told).items()
    }


def stands_still(records: Mapping[str, BrokerReports], longest_s: float) -> bool:
    """Return whether a record is older than it may be, when it is written anew or at the end."""
    longest = timedelta(seconds=longest_s + LATE_S)
    times = [record.times for record in records.values() if record.times]
    end = max((mine[-1] for mine in times), default=None)
    return end is not None and any(
        later - earlier > longest for mine in times for earlier, later in pairwise([*mine, end])
    )
