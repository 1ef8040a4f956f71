"""Bundles too large for any placement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from trimtab.diagnose.night import Finding, Heavy, Night, Usage
from trimtab.pulsar.model import Floats

#: A bundle with so many even shares of the traffic makes any broker hot.
_SHARES = 1.5


def giant_bundle(night: Night) -> list[Finding]:
    """Find bundles that alone carry half as much again as a broker's even share of the traffic.

    Whatever broker has such a bundle stands above the others, and moving it moves the hot
    spot.  Means over the night, of three brokers or more; it is told only if the broker that
    had it last stood above the average by the shedding threshold, medium.  What a broker
    reports counts until it reports again: a busy one does so more often than an idle one.

    Quirks:
        On a cluster that is idle or balanced in spite of it the bundle harms nobody.
    """
    means = [_mean(each.times, each.throughput, night.end) for each in night.reports.values()]
    carried = [each for each in means if not math.isnan(each)]
    if len(carried) < 3:
        return []
    even = math.fsum(carried) / len(carried)
    giants = [heavy for heavy in night.heaviest if heavy.throughput >= _SHARES * even > 0]
    stood = _mean_usage(night) if giants else {}
    if len(stood) < 3:
        return []
    bar = math.fsum(stood.values()) / len(stood) + night.threshold
    return [
        _finding(night, heavy, even, stood[heavy.broker])
        for heavy in giants
        if stood.get(heavy.broker, 0.0) >= bar
    ]


def _mean_usage(night: Night) -> dict[str, float]:
    by_broker: dict[str, list[Usage]] = {}
    for usage in night.usages:
        by_broker.setdefault(usage.broker, []).append(usage)
    means = {
        broker: _mean([each.time for each in mine], _fractions(mine), night.end)
        for broker, mine in by_broker.items()
    }
    return {broker: mean for broker, mean in means.items() if not math.isnan(mean)}


def _fractions(usages: Sequence[Usage]) -> Floats:
    return np.array([math.nan if each.usage is None else each.usage for each in usages])


def _mean(times: Sequence[datetime], series: Floats, end: datetime | None) -> float:
    """Return the mean over time of what holds until it is told anew; NaN if nothing is told."""
    until = (*times[1:], max(end or times[-1], times[-1]))
    held_s = [(b - a).total_seconds() for a, b in zip(times, until, strict=True)]
    is_number = ~np.isnan(series)
    values, weights = series[is_number], np.array(held_s)[is_number]
    if not values.size:
        return math.nan
    return float(np.average(values, weights=weights) if weights.any() else values.mean())


def _finding(night: Night, heavy: Heavy, even: float, usage: float) -> Finding:
    reports = night.reports.get(heavy.broker)
    return Finding(
        "giant-bundle" if heavy.topics > 1 else "giant-bundle.one-topic",
        "medium",
        reports.times[0] if reports else night.usages[0].time,
        0,
        brokers=(heavy.broker,),
        bundles=(heavy.bundle,),
        numbers={"throughput": heavy.throughput, "even_throughput": even, "topics": heavy.topics},
        values={"shares": heavy.throughput / even, "usage": usage},
    )
