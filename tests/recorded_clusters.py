"""Made-up recordings of small clusters: what brokers would have said of traffic that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.reconstruct.evidence import Evidence, Lines, Owners, Reports, Round, Stop

STATS_S = 15.0
HOST_S = 60.0
#: s from 1970 at which everything begins.
ZERO_S = 1_700_000_000.0
#: Bytes a message, and the NIC: 8000 kbit/s are 1 MB/s.
SIZE = 1000.0
NIC_KBIT = 8000.0

Rate = Callable[[int, float], float]


@dataclass
class Recorder:
    """Writes what brokers say every 15 s, of windows that close when they speak."""

    n_brokers: int
    n_bundles: int
    #: Messages/s of a bundle at a time.
    rate: Rate
    #: (time, bundle, broker), the first at 0.
    owned: Sequence[tuple[float, int, int]]
    until_s: float = 600.0
    #: Broker → (from, to) of its only life.
    alive: dict[int, tuple[float, float]] = field(default_factory=dict)
    stops: tuple[Stop, ...] = ()
    rounds: tuple[Round, ...] = ()

    def owner(self, bundle: int, time_s: float) -> int:
        return [w for t, b, w in self.owned if b == bundle and t <= time_s][-1]

    def told(self) -> Evidence:
        times = np.arange(STATS_S, self.until_s + 1, STATS_S)
        reports, lines = [], []
        for broker in range(self.n_brokers):
            from_s, to_s = self.alive.get(broker, (0.0, np.inf))
            reports.append((from_s, broker, False, from_s, 0.0))
            for time_s in times[(times > from_s) & (times < to_s)].tolist():
                mine = [b for b in range(self.n_bundles) if self.owner(b, time_s) == broker]
                reports.append((time_s, broker, False, from_s, self._usage(broker, time_s)))
                lines += [(time_s, broker, b, self._mean(b, time_s)) for b in mine]
            if to_s < np.inf:
                reports.append((to_s, broker, True, np.nan, 0.0))
        reports.sort()
        lines.sort()
        return Evidence(
            brokers=tuple(f"b{i}:8080" for i in range(self.n_brokers)),
            bundles=tuple(f"t/n/0x{i:08x}_0x{i + 1:08x}" for i in range(self.n_bundles)),
            reports=_reports(reports),
            lines=_lines(lines),
            owners=_owners(self.owned),
            leaders=((ZERO_S - 10.0, 0),),
            stops=self.stops,
            rounds=self.rounds,
        )

    def _mean(self, bundle: int, time_s: float) -> float:
        at = time_s - STATS_S + np.arange(0.5, STATS_S)
        return float(np.mean([self.rate(bundle, t) for t in at.tolist()]))

    def _usage(self, broker: int, time_s: float) -> float:
        """Percent of CPU of the last whole minute: 5, and 0.1 for each message/s in or out."""
        end_s = time_s - time_s % HOST_S
        seconds = np.arange(max(0.0, end_s - HOST_S) + 0.5, end_s).tolist()
        owned = [
            sum(self.rate(b, t) for b in range(self.n_bundles) if self.owner(b, t) == broker)
            for t in seconds
        ]
        return 5.0 + 0.2 * float(np.mean(owned)) if owned else 0.0


def _reports(rows: Sequence[tuple[float, int, bool, float, float]]) -> Reports:
    count = len(rows)
    usage, limit = np.zeros((count, 5)), np.full((count, 5), 100.0)
    usage[:, 0] = [row[4] for row in rows]
    usage[:, 3:] = (usage[:, [0]] - 5.0) / 0.2 * np.array([SIZE, 3 * SIZE]) / 125.0
    usage[:, 3:] = np.maximum(usage[:, 3:], 0.0)
    limit[:, 3:] = NIC_KBIT
    return Reports(
        time_s=ZERO_S + np.array([row[0] for row in rows]),
        broker=np.array([row[1] for row in rows]),
        is_gone=np.array([row[2] for row in rows]),
        is_stored=np.ones(count, np.bool_),
        started_s=ZERO_S + np.array([row[3] for row in rows]),
        usage=usage,
        limit=limit,
    )


def _lines(rows: Sequence[tuple[float, int, int, float]]) -> Lines:
    rate = np.array([row[3] for row in rows])
    return Lines(
        time_s=ZERO_S + np.array([row[0] for row in rows]),
        broker=np.array([row[1] for row in rows]),
        bundle=np.array([row[2] for row in rows]),
        rates=np.stack((rate, rate, SIZE * rate, SIZE * rate), axis=1),
        topics=np.ones(len(rows)),
        producers=np.ones(len(rows)),
        is_prompt=np.zeros(len(rows), np.bool_),
    )


def _owners(rows: Sequence[tuple[float, int, int]]) -> Owners:
    ordered = sorted(rows, key=lambda row: row[0])
    return Owners(
        time_s=ZERO_S + np.array([row[0] for row in ordered]),
        bundle=np.array([row[1] for row in ordered], np.int64),
        broker=np.array([row[2] for row in ordered], np.int64),
        is_shed=np.zeros(len(ordered), np.bool_),
        is_exact=np.zeros(len(ordered), np.bool_),
    )
