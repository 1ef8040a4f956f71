"""Usage of every broker over time: from its reports, or where there are none, its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.diagnose.night import Usage
from trimtab.diagnose.replay import measures
from trimtab.model import ClusterLoad
from trimtab.scores import weighted_usage
from trimtab.settings import ResourceWeights

#: Metric → position in RESOURCES; they carry percent.
METRICS = {
    "pulsar_lb_cpu_usage": 0,
    "pulsar_lb_memory_usage": 1,
    "pulsar_lb_directMemory_usage": 2,
    "pulsar_lb_bandwidth_in_usage": 3,
    "pulsar_lb_bandwidth_out_usage": 4,
}


#: Labels that name a broker, or the address under which Prometheus found it.
_BROKER_LABELS = ("broker", "instance")


def usages_from_reports(
    reports: Sequence[Mapping[str, Any]], weights: ResourceWeights
) -> tuple[Usage, ...]:
    """Weigh every report.

    Args:
        reports: rows of `load_reports`; a row without a CPU is passed over (the extensible
            load manager keeps no load in the store).
        weights: of the shedder.

    Returns:
        In order of time; a broker that left has usage None from then on.
    """
    known = [row for row in reports if not row["is_gone"] and row["cpu_usage"] is not None]
    weighed = _weighed(
        [list(measures(row, "usage")) for row in known],
        [list(measures(row, "limit")) for row in known],
        weights,
    )
    found = [
        Usage(row["written"] or row["time"], row["broker"], value)
        for row, value in zip(known, weighed, strict=True)
    ]
    found += [Usage(row["time"], row["broker"], None) for row in reports if row["is_gone"]]
    return tuple(sorted(found, key=lambda usage: (usage.time, usage.broker)))


def usages_from_metrics(
    samples: Sequence[Mapping[str, Any]], names: Mapping[str, str], weights: ResourceWeights
) -> tuple[Usage, ...]:
    """Weigh every scrape of the load balancer's own gauges.

    Args:
        samples: rows of `metrics`.
        names: log folder → broker id; the metric's own label has no port.
        weights: of the shedder.

    Quirks:
        What was exported from a Prometheus names no log folder: its `broker` label counts, or
        else that of the target.  A host with several brokers is told by the target alone.
    """
    hosts = Counter(broker.rpartition(":")[0] for broker in names.values())
    alone = {
        host: broker for broker in names.values() if hosts[host := broker.rpartition(":")[0]] == 1
    }
    scrapes: dict[tuple[Any, str], list[float]] = {}
    for row in samples:
        position = METRICS.get(row["name"])
        if position is not None:
            broker = names.get(row["log_broker"], row["log_broker"]) or _labelled(row, alone)
            scrapes.setdefault((row["time"], broker), [0.0] * 5)[position] = row["value"]
    weighed = _weighed(list(scrapes.values()), [[100.0] * 5] * len(scrapes), weights)
    found = [
        Usage(time, broker, value) for (time, broker), value in zip(scrapes, weighed, strict=True)
    ]
    return tuple(sorted(found, key=lambda usage: (usage.time, usage.broker)))


def _labelled(row: Mapping[str, Any], alone: Mapping[str, str]) -> str:
    """Say which broker an exported sample is of."""
    labels = dict(row["labels"] or ())
    said = [labels[name] for name in _BROKER_LABELS if labels.get(name)]
    for label in said:
        if (host := label.rpartition(":")[0] or label) in alone:
            return alone[host]
    return said[-1] if said else "unknown"


def _weighed(
    usage: Sequence[Sequence[float]], limit: Sequence[Sequence[float]], weights: ResourceWeights
) -> list[float]:
    n = len(usage)
    nothing = np.zeros(n)
    load = ClusterLoad(
        brokers=("",) * n,
        resource_usage=np.array(usage, np.float64).reshape(n, 5),
        resource_limit=np.array(limit, np.float64).reshape(n, 5),
        rate_in=nothing,
        rate_out=nothing,
        throughput_in=nothing,
        throughput_out=nothing,
        bundle_count=np.zeros(n, np.int64),
        bundles=(),
        bundle_broker=np.empty(0, np.int64),
        bundle_rate_in=np.empty(0),
        bundle_rate_out=np.empty(0),
        bundle_throughput_in=np.empty(0),
        bundle_throughput_out=np.empty(0),
        bundle_is_sheddable=np.empty(0, np.bool_),
    )
    return [float(value) for value in weighted_usage(load, weights)]
