"""What brokers had reported at any time of a night, as the store had it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from tools.nights.cluster import Cluster, Write
from tools.nights.report import Report
from tools.nights.traffic import Floats


@dataclass(slots=True)
class Reported:
    """The writes of a night, by broker."""

    cluster: Cluster
    _by_broker: dict[str, list[Write]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort them."""
        for write in sorted(self.cluster.writes, key=lambda it: it.time_ms):
            self._by_broker.setdefault(write.broker, []).append(write)

    def of(self, broker: str, begin_ms: int, end_ms: int) -> list[Write]:
        """Return a broker's writes of a time."""
        return [it for it in self._by_broker.get(broker, []) if begin_ms <= it.time_ms <= end_ms]

    def latest(self, broker: str, time_ms: int) -> Report | None:
        """Return what a broker's record said at a time; None if it had none."""
        writes = self._by_broker.get(broker, [])
        at = bisect_right([it.time_ms for it in writes], time_ms) - 1
        return writes[at].report if at >= 0 else None

    def usage(self, report: Report) -> float:
        """Return the busiest resource of a report after weighing, as a fraction."""
        return float((report.percent() * self.cluster.weights).max()) / 100

    def usages(self, time_ms: int) -> dict[str, float]:
        """Return the usage of every broker that had a record at a time."""
        there = {b: self.latest(b, time_ms) for b in self._by_broker}
        return {b: self.usage(report) for b, report in there.items() if report is not None}

    def carried(self, bundle: str, begin_ms: int, end_ms: int) -> Floats:
        """Return bytes/s of a bundle by the reports, every ten seconds; NaN where nobody has it."""
        steps = range(begin_ms, end_ms, 10_000)
        return np.array([self._bytes(bundle, time_ms) for time_ms in steps])

    def _bytes(self, bundle: str, time_ms: int) -> float:
        newest, carried = -1, float("nan")
        for broker in self._by_broker:
            report = self.latest(broker, time_ms)
            if report is None or bundle not in report.names or report.updated_ms < newest:
                continue
            newest = report.updated_ms
            carried = float(report.stats[report.names.index(bundle), 2:].sum())
        return carried
