"""Bundles too large for any placement."""

from __future__ import annotations

import math

import numpy as np

from trimtab.diagnose.night import Finding, Heavy, Night
from trimtab.diagnose.standing import percent

#: A bundle with so many even shares of the traffic makes any broker hot.
_SHARES = 1.5


def giant_bundle(night: Night) -> list[Finding]:
    """Find bundles that alone carry half as much again as a broker's even share of the traffic.

    Whatever broker has such a bundle stands above the others, and moving it moves the hot
    spot.  Means over the night, of three brokers or more; it is told only if the broker that
    had it last stood above the average by the shedding threshold, medium.

    Quirks:
        On a cluster that is idle or balanced in spite of it the bundle harms nobody.
    """
    told = [reports.throughput for reports in night.reports.values()]
    carried = [float(np.nanmean(each)) for each in told if not np.isnan(each).all()]
    stood = _mean_usage(night)
    if len(carried) < 3 or len(stood) < 3:
        return []
    even = math.fsum(carried) / len(carried)
    bar = math.fsum(stood.values()) / len(stood) + night.threshold
    return [
        _finding(night, heavy, even, stood[heavy.broker])
        for heavy in night.heaviest
        if heavy.throughput >= _SHARES * even > 0 and stood.get(heavy.broker, 0.0) >= bar
    ]


def _mean_usage(night: Night) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for usage in night.usages:
        if usage.usage is not None:
            values.setdefault(usage.broker, []).append(usage.usage)
    return {broker: math.fsum(told) / len(told) for broker, told in values.items()}


def _finding(night: Night, heavy: Heavy, even: float, usage: float) -> Finding:
    can_split = heavy.topics > 1
    return Finding(
        code="giant-bundle",
        severity="medium",
        time=night.reports[heavy.broker].times[0]
        if heavy.broker in night.reports
        else night.usages[0].time,
        round=0,
        title=f"{heavy.bundle} carries {heavy.throughput / even:.1f} even shares",
        text=(
            f"On average it carried {heavy.throughput / 1e6:.1f} MB/s, and all traffic spread "
            f"evenly is {even / 1e6:.1f} MB/s a broker. {heavy.broker}, which had it last, stood "
            f"at {percent(usage)} on average."
        ),
        better="the same traffic in several bundles",
        advice=(
            f"Split it: pulsar-admin namespaces split-bundle --bundle "
            f"{heavy.bundle.rpartition('/')[2]} {heavy.bundle.rpartition('/')[0]}."
            if can_split
            else "It has a single topic, which no split divides: partition the topic."
        ),
        brokers=(heavy.broker,),
        bundles=(heavy.bundle,),
        numbers={"throughput": heavy.throughput, "even_throughput": even, "topics": heavy.topics},
    )
