"""What brokers and their leader keep in the metadata store, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import Ints
from trimtab.trials.record.files import iso

_MANAGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
_METRICS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
_RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")


def load_report(report: Report, release: str, started_ms: int, updated_ms: int) -> str:
    """Return a broker's report as Pulsar's LocalBrokerData."""
    usage, limit = report.usage.tolist(), report.limit.tolist()
    resources = ",".join(
        f'"{name}":{{"usage":{used!r},"limit":{most!r}}}'
        for name, used, most in zip(_RESOURCES, usage, limit, strict=True)
    )
    into, out, bytes_in, bytes_out = report.totals.tolist()
    stats = ",".join(
        f'"{name}":{{"msgRateIn":{a!r},"msgThroughputIn":{c!r},"msgRateOut":{b!r},'
        f'"msgThroughputOut":{d!r},"consumerCount":{int(topics)},"producerCount":{int(topics)},'
        f'"topics":{int(topics)},"cacheSize":0}}'
        for name, (a, b, c, d, topics) in zip(report.measured, report.samples.tolist(), strict=True)
    )
    topics = int(report.samples[:, 4].sum())
    # A limit that is not known counts as nothing used.
    shares = (u / m for u, m in zip(usage, limit, strict=True) if m > 0)
    most = max(shares, default=0.0)
    bundles = ",".join(f'"{name}"' for name in report.bundles)
    host = report.broker.rpartition(":")[0]
    return (
        f'{{"webServiceUrl":"http://{report.broker}","pulsarServiceUrl":"pulsar://{host}:6650",'
        f'"persistentTopicsEnabled":true,"nonPersistentTopicsEnabled":true,{resources},'
        f'"msgThroughputIn":{bytes_in!r},"msgThroughputOut":{bytes_out!r},"msgRateIn":{into!r},'
        f'"msgRateOut":{out!r},"lastUpdate":{updated_ms},"lastStats":{{{stats}}},'
        f'"numTopics":{topics},"numBundles":{len(report.bundles)},"numConsumers":{topics},'
        f'"numProducers":{topics},"bundles":[{bundles}],"lastBundleGains":[],'
        f'"lastBundleLosses":[],"brokerVersionString":"{release}","protocols":{{}},'
        f'"advertisedListeners":{{}},"loadManagerClassName":"{_MANAGER}",'
        f'"startTimestamp":{started_ms},"maxResourceUsage":{most!r},'
        '"loadReportType":"LocalBrokerData"}'
    )


def averages(time_ms: int, view: LeaderView, most: int | None) -> str:
    """Return a line of store/bundles.jsonl: what the leader stores of its averages.

    Of more bundles than `most`, those with the most traffic; None for all.

    Source:
        impl/ModularLoadManagerImpl.java writeBundleDataOnZooKeeper, selectTopKBundle; 4.0.8
    """
    samples = view.averages.bundles.known
    rows = np.fromiter(samples.values(), np.int64, len(samples))
    if most is not None and rows.size > most:
        short = view.averages.of(rows).short
        rows = rows[np.sort(np.argsort(-(short[:, 2] + short[:, 3]), kind="stable")[:most])]
    nodes = ",".join([*_bundles(time_ms, view, rows), *_brokers(time_ms, view)])
    return f'{{"time":"{iso(time_ms)}","nodes":{{{nodes}}}}}\n'


def _bundles(time_ms: int, view: LeaderView, rows: Ints) -> Iterator[str]:
    averages_of = view.averages.of(rows)
    columns = (
        averages_of.short,
        averages_of.short_samples,
        averages_of.long,
        averages_of.long_samples,
        averages_of.topics,
    )
    for row, short, short_count, long, long_count, topics in zip(
        rows.tolist(), *(column.tolist() for column in columns), strict=True
    ):
        yield (
            f'"/loadbalance/bundle-data/{view.averages.bundles.names[row]}":{{"mtime":{time_ms},"v":{{'
            f'"shortTermData":{{"maxSamples":10,"numSamples":{short_count},{_measures(short)}}},'
            f'"longTermData":{{"maxSamples":1000,"numSamples":{long_count},{_measures(long)}}},'
            f'"topics":{int(topics)}}}}}'
        )


def _brokers(time_ms: int, view: LeaderView) -> Iterator[str]:
    """Return the averages of the brokers: those of their bundles added up."""
    measured = view.measured()
    known, count = view.averages.of(measured.rows), len(view.reports)
    short, long = (
        np.stack([np.bincount(measured.brokers, column, count) for column in values.T], axis=1)
        for values in (known.short, known.long)
    )
    for broker, mine, lasting in zip(view.order(), short.tolist(), long.tolist(), strict=True):
        values = ",".join(
            f'"{term}M{name[1:]}":{float(value)!r}'
            for term, numbers in (("shortTerm", mine), ("longTerm", lasting))
            for name, value in zip(_METRICS, numbers, strict=True)
        )
        path = f"/loadbalance/broker-time-average/{broker}"
        yield f'"{path}":{{"mtime":{time_ms},"v":{{{values}}}}}'


def _measures(numbers: Sequence[float]) -> str:
    return ",".join(f'"{n}":{value!r}' for n, value in zip(_METRICS, numbers, strict=True))


def lines(*documents: Mapping[str, object]) -> str:
    """Return JSON Lines."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in documents)
