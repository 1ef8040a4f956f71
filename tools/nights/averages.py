"""The leader's maps by the written notes on them: reports, and averages of all bundles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tools.nights.report import Report
from tools.nights.traffic import Floats, Ints
from trimtab.pulsar.map_order import concurrent_hash_map_order, hash_map_order
from trimtab.pulsar.model import BundleData, BundleTraffic, ClusterLoad, Preallocations

_SHORT, _LONG = 10, 1000
#: What an unknown bundle is taken to carry: messages/s and bytes/s each way.
_UNKNOWN = (50.0, 50.0, 50_000.0, 50_000.0)
#: Columns of an average: rate in, rate out, bytes in, bytes out, samples.
_SAMPLES = 4


@dataclass(slots=True)
class Maps:
    """What the leader knows, fed again by every report that anybody writes."""

    reports: dict[str, Report] = field(default_factory=dict)
    #: Bundle → row of the arrays, in the order in which it was met.
    rows: dict[str, int] = field(default_factory=dict)
    short: Floats = field(default_factory=lambda: np.zeros((64, 5)))
    long: Floats = field(default_factory=lambda: np.zeros((64, 5)))
    topics: Floats = field(default_factory=lambda: np.zeros(64))
    #: Which object a row is, one number for every time that the bundle was met anew.
    numbers: Ints = field(default_factory=lambda: np.zeros(64, np.int64))
    used: int = 0
    #: Bundle → broker, of those that were placed by a lookup and are not reported yet.
    placed: dict[str, str] = field(default_factory=dict)

    def order(self) -> tuple[str, ...]:
        """Return the brokers as the leader walks them."""
        return concurrent_hash_map_order(self.reports)

    def recompute(self) -> None:
        """Feed the numbers of every report to the averages once more, and forget what is gone."""
        active: set[str] = set()
        for broker in self.order():
            report = self.reports[broker]
            if not report.names:
                continue
            active.update(report.names)
            rows = np.array([self._row(name) for name in report.names])
            self.topics[rows] = report.topics
            for table, size in ((self.short, _SHORT), (self.long, _LONG)):
                count = np.minimum(table[rows, _SAMPLES] + 1, size)[:, None]
                table[rows, :4] = ((count - 1) * table[rows, :4] + report.stats) / count
                table[rows, _SAMPLES] = count[:, 0]
        for name in [name for name in self.rows if name not in active]:
            del self.rows[name]
        self.placed = {name: at for name, at in self.placed.items() if name not in active}

    def _row(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = self.used
            self.used += 1
            if self.used > len(self.topics):
                self.short = np.vstack([self.short, np.zeros_like(self.short)])
                self.long = np.vstack([self.long, np.zeros_like(self.long)])
                self.topics = np.append(self.topics, np.zeros_like(self.topics))
                self.numbers = np.append(self.numbers, np.zeros_like(self.numbers))
            self.short[row] = self.long[row] = (*_UNKNOWN, 0.0)
            self.numbers[row] = self.used
        return row

    def load(self, recent: set[str]) -> ClusterLoad:
        """Return the maps as arrays, with the bundles in the order of a shedder's walk."""
        order = self.order()
        reports = [self.reports[broker] for broker in order]
        pairs = self._listed(order)
        rows = np.array([self.rows[name] for name, _ in pairs], np.int64)
        short = self.short[rows].copy()
        totals = np.array([report.totals for report in reports]).reshape(-1, 4)
        known = np.array(list(self.rows.values()), np.int64)
        long_in, long_out = self._long_rates(reports)
        return ClusterLoad(
            brokers=order,
            resource_usage=np.array([report.usage for report in reports]).reshape(-1, 5),
            resource_limit=np.array([report.limit for report in reports]).reshape(-1, 5),
            rate_in=totals[:, 0],
            rate_out=totals[:, 1],
            throughput_in=totals[:, 2],
            throughput_out=totals[:, 3],
            bundle_count=np.array([len(report.names) for report in reports], np.int64),
            bundles=tuple(name for name, _ in pairs),
            bundle_broker=np.array([broker for _, broker in pairs], np.int64),
            bundle_traffic=lambda: BundleTraffic(
                short[:, 0], short[:, 1], short[:, 2], short[:, 3]
            ),
            bundle_is_sheddable=np.array([name not in recent for name, _ in pairs], np.bool_),
            long_rate_in=long_in,
            long_rate_out=long_out,
            preallocations=self._preallocations(order),
            bundle_data=BundleData(
                {name: i for i, name in enumerate(self.rows)},
                self.numbers[known],
                np.concatenate(
                    [self.short[known], self.long[known], self.topics[known][:, None]], axis=1
                ).reshape(-1, 11),
            ),
        )

    def _listed(self, order: tuple[str, ...]) -> list[tuple[str, int]]:
        owners: dict[str, list[int]] = {}
        for at, broker in enumerate(order):
            for name in self.reports[broker].names:
                owners.setdefault(name, []).append(at)
        walked = hash_map_order(concurrent_hash_map_order(self.rows))
        return [(name, at) for name in walked for at in owners.get(name, ())]

    def _long_rates(self, reports: list[Report]) -> tuple[Floats, Floats]:
        sums = []
        for report in reports:
            rows = [self.rows[name] for name in report.names if name in self.rows]
            sums.append(np.cumsum(self.long[rows, :2], axis=0)[-1] if rows else np.zeros(2))
        both = np.array(sums).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def _preallocations(self, order: tuple[str, ...]) -> Preallocations:
        at = {broker: i for i, broker in enumerate(order)}
        there = [(name, at[b]) for name, b in self.placed.items() if b in at and name in self.rows]
        rows = [self.rows[name] for name, _ in there]
        return Preallocations(
            np.array([broker for _, broker in there], np.int64),
            self.long[rows, 0],
            self.long[rows, 1],
        )

    def owned_of_namespace(self, broker: str, namespace: str) -> int:
        """Return how many bundles of a namespace count for a broker where they are evened out."""
        names = set(self.reports[broker].names)
        names |= {name for name, at in self.placed.items() if at == broker}
        return sum(name.rpartition("/")[0] == namespace for name in names)
