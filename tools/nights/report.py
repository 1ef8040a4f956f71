"""A broker's load report: its numbers, when it is written, and its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.nights.traffic import Floats, Ints

#: cpu, memory, directMemory, bandwidthIn, bandwidthOut: in the order of every array of five.
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
MODULAR = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"


@dataclass(frozen=True, slots=True)
class Report:
    """What a broker says of itself."""

    broker: str
    #: When it was written last, milliseconds since 1970.
    updated_ms: int
    started_ms: int
    #: (5,) in the unit of the limits.
    usage: Floats
    limit: Floats
    names: tuple[str, ...]
    #: (n_bundles, 4) messages/s in and out, bytes/s in and out.
    stats: Floats
    topics: Ints
    #: (4,) sums of them.
    totals: Floats
    release: str
    manager: str = MODULAR

    def percent(self) -> Floats:
        """Return each resource in percent, narrowed to 32 bits on the way as Pulsar does."""
        with np.errstate(all="ignore"):
            share = self.usage.astype(np.float32) / self.limit.astype(np.float32)
            percent = np.where(self.limit > 0, share * np.float32(100), np.float32(0))
        return percent.astype(np.float32).astype(np.float64)


def summed(stats: Floats) -> Floats:
    """Return the sums of bundles' numbers, added one after the other."""
    return np.cumsum(stats, axis=0)[-1] if len(stats) else np.zeros(4)


def change(old: Report, new: Report, weights: Floats) -> float:
    """Return by how much a report differs from the one that was written last, percent.

    Relative for messages, bytes and bundles; points for the busiest resource.
    """
    pairs = (
        (old.totals[0] + old.totals[1], new.totals[0] + new.totals[1]),
        (old.totals[2] + old.totals[3], new.totals[2] + new.totals[3]),
        (float(len(old.names)), float(len(new.names))),
    )
    points = abs(float((old.percent() * weights).max() - (new.percent() * weights).max()))
    return max(points, *(_relative(before, after) for before, after in pairs))


def _relative(before: float, after: float) -> float:
    if before == after:
        return 0.0
    return float("inf") if before == 0 else 100.0 * abs((before - after) / before)


def document(report: Report, gains: tuple[str, ...], losses: tuple[str, ...]) -> dict[str, Any]:
    """Return a report as the JSON of releases from 3.0 on."""
    host = report.broker.rpartition(":")[0]
    resources = {
        name: {"usage": float(report.usage[i]), "limit": float(report.limit[i])}
        for i, name in enumerate(RESOURCES)
    }
    totals = report.totals.tolist()
    stats = {
        name: _stats(row, int(topics))
        for name, row, topics in zip(
            report.names, report.stats.tolist(), report.topics.tolist(), strict=True
        )
    }
    topics = int(report.topics.sum())
    clients = sum(it["consumerCount"] for it in stats.values())
    return {
        "webServiceUrl": f"http://{report.broker}",
        "pulsarServiceUrl": f"pulsar://{host}:6650",
        "persistentTopicsEnabled": True,
        "nonPersistentTopicsEnabled": True,
        **resources,
        "msgThroughputIn": totals[2],
        "msgThroughputOut": totals[3],
        "msgRateIn": totals[0],
        "msgRateOut": totals[1],
        "lastUpdate": report.updated_ms,
        "lastStats": stats,
        "numTopics": topics,
        "numBundles": len(report.names),
        "numConsumers": clients,
        "numProducers": clients,
        "bundles": list(report.names),
        "lastBundleGains": list(gains),
        "lastBundleLosses": list(losses),
        "brokerVersionString": report.release,
        "protocols": {},
        "advertisedListeners": {},
        "loadManagerClassName": report.manager,
        "startTimestamp": report.started_ms,
        "maxResourceUsage": float(
            np.float32(report.percent()[[0, 2, 3, 4]].max()) / np.float32(100)
        ),
        "loadReportType": "LocalBrokerData",
    }


def _stats(row: list[float], topics: int) -> dict[str, Any]:
    return {
        "msgRateIn": row[0],
        "msgThroughputIn": row[2],
        "msgRateOut": row[1],
        "msgThroughputOut": row[3],
        "consumerCount": topics,
        "producerCount": topics,
        "topics": topics,
        "cacheSize": 0,
    }
