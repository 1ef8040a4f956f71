"""Usage of every broker over time: from its reports, or where there are none, its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.columns import stamps, words, write_times
from trimtab.diagnose.reports import of_origin, usage_and_limit
from trimtab.diagnose.usages import Usage, Usages, usages_of
from trimtab.pulsar.scores import busiest_resource
from trimtab.pulsar.settings import ResourceWeights

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


def usages(
    reports: pa.Table,
    samples: Callable[[], Sequence[Mapping[str, Any]]],
    names: Mapping[str, str],
    weights: ResourceWeights,
) -> Usages:
    """Return usages from the store's reports, else from those over REST, else from the metrics.

    `samples` reads the rows of `metrics` of METRICS, which are many, if they are asked for.
    """
    for origin in ("store", "rest"):
        reported = usages_from_reports(of_origin(reports, origin), weights)
        if not np.isnan(reported.fractions).all():
            return reported
    # Of two samples of one time the later counts: those of an export, which name no log.
    rows = sorted(samples(), key=lambda row: row["log_broker"] is None)
    return usages_from_metrics(rows, names, weights)


def usages_from_reports(reports: pa.Table, weights: ResourceWeights) -> Usages:
    """Return the weighted usage in every report, in order of time.

    A row without a CPU is passed over (the extensible load manager keeps no load in the store);
    a broker that left has no usage from then on.
    """
    is_gone = pc.fill_null(reports["is_gone"], False)
    gone = reports.filter(is_gone)
    with_cpu = reports.filter(pc.and_(pc.invert(is_gone), pc.is_valid(reports["cpu_usage"])))
    # One that is absent is -1, as in the Java.
    usage, limit = usage_and_limit(with_cpu, -1.0)
    parts = (
        (
            write_times(with_cpu),
            with_cpu["broker"],
            pa.array(busiest_resource(usage, limit, weights), pa.float64()),
        ),
        (gone["time"], gone["broker"], pa.nulls(len(gone), pa.float64())),
    )
    table = pa.concat_tables(
        pa.table(dict(zip(("time", "broker", "usage"), part, strict=True))) for part in parts
    ).sort_by([("time", "ascending"), ("broker", "ascending")])
    brokers = words(table["broker"])
    return Usages(
        stamps(table["time"]),
        brokers.codes.astype(np.int64),
        table["usage"].to_numpy(),
        tuple(brokers.known[:-1].tolist()),
    )


def usages_from_metrics(
    samples: Sequence[Mapping[str, Any]], names: Mapping[str, str], weights: ResourceWeights
) -> Usages:
    """Return the weighted usage in every scrape of the load balancer's own gauges.

    Quirks:
        The metric's own label has no port.
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
    usage = np.array(list(scrapes.values()), np.float64).reshape(-1, 5)
    weighed = busiest_resource(usage, np.full(usage.shape, 100.0), weights).tolist()
    scraped = [
        Usage(time, broker, value) for (time, broker), value in zip(scrapes, weighed, strict=True)
    ]
    return usages_of(sorted(scraped, key=lambda usage: (usage.time, usage.broker)))


def _labelled(row: Mapping[str, Any], alone: Mapping[str, str]) -> str:
    """Return which broker an exported sample is of."""
    labels = dict(row["labels"] or ())
    brokers = [labels[name] for name in _BROKER_LABELS if labels.get(name)]
    for label in brokers:
        if (host := label.rpartition(":")[0] or label) in alone:
            return alone[host]
    return brokers[-1] if brokers else "unknown"
