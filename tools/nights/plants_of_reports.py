"""Families whose cause is in the reports: their numbers, how old they are, how often they come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tools.nights.night import AVG, LEAST_RATE, LEAST_USED, OVERLOAD, THRESHOLD, UNIFORM, Night
from tools.nights.plants import of_broker, steps, threshold_pair, whole_life
from tools.nights.report import Report
from tools.nights.traffic import Floats


def throughput_floor(night: Night) -> None:
    """Plant a broker hot by CPU that carries too few bytes for the floor."""
    kind = night.seed % 3
    night.bytes_each = float(night.rng.uniform(0.5e6, 2e6))
    if kind == 0:
        threshold_pair(night)
        whole_life(night)
        night.setting(loadBalancerBundleUnloadMinThroughputThreshold=10)
    elif kind == 1:
        night.pair(AVG)
        night.setting(minUnloadMessage=50000, minUnloadMessageThroughput=50_000_000)
    else:
        night.pair(UNIFORM)
        night.setting(minUnloadMessage=500_000)
    night.level = 30.0
    night.minutes = 36
    steps(night, [(5.0, 2.3)], of_broker(night, 1))


def grace_starvation(night: Night) -> None:
    """Plant a broker that joins, is given bundles, and whose bundles then grow."""
    threshold_pair(night)
    night.brokers = int(night.rng.integers(4, 7))
    night.absent = {night.brokers - 1}
    night.minutes = 40
    night.level = 45.0
    night.wanted = {1: 54.0}
    night.setting(
        loadBalancerHistoryResourcePercentage=0.2, loadBalancerSheddingGracePeriodMinutes=30
    )

    def plan() -> None:
        late = night.ids[-1]
        cluster = night.cluster
        cluster.when(night.minute(3.2), lambda: cluster.start(late))
        grown: list[int] = []
        cluster.when(night.minute(14), lambda: grown.extend(cluster.brokers[late].owned))

        def shape(second: float, rate: Floats) -> Floats:
            if second >= night.minute(14) and grown:
                rate = rate.copy()
                has = float((cluster.traffic.cost[grown] * rate[grown]).sum())
                rate[grown] *= max(1.0, 75.0 / has)
            return rate

        cluster.traffic.shapes.append(shape)

    night.plans.append(plan)


def stale_report(night: Night) -> None:
    """Plant a report threshold so high that rounds in a row see the same report."""
    threshold_pair(night)
    night.setting(
        loadBalancerReportUpdateThresholdPercentage=45,
        loadBalancerReportUpdateMaxIntervalMinutes=15,
        loadBalancerHistoryResourcePercentage=0.5,
    )
    night.level = 25.0
    night.bundles_each = 16
    night.spread = 0.1
    steps(night, [(4.0, 2.6)], of_broker(night, 1))


def chatty_reports(night: Night) -> None:
    """Plant direct memory, which counts, that goes up and down from look to look."""
    night.pair(*((THRESHOLD, LEAST_USED), (OVERLOAD, LEAST_RATE))[night.seed % 2])
    night.setting(loadBalancerDirectMemoryResourceWeight=1.0)
    night.brokers = min(night.brokers, 6)
    night.level = 40.0

    def plan() -> None:
        chatty = night.ids[1]

        def edit(report: Report, second: float) -> Report:
            if report.broker != chatty:
                return report
            usage = report.usage.copy()
            usage[2] = (4200.0, 5300.0)[int(second / 5) % 2] + second % 7
            return replace(report, usage=usage)

        night.cluster.edits.append(edit)
        night.cluster.gate = np.array([1.0, 0.0, 1.0, 1.0, 1.0])

    night.plans.append(plan)


def memory_as_load(night: Night) -> None:
    """Plant a broker whose direct memory counts and is its busiest resource."""
    threshold_pair(night)
    night.release = str(night.rng.choice(["3.2.4", "3.3.5", "4.0.8"]))
    night.setting(loadBalancerDirectMemoryResourceWeight=1.0)
    full = float(night.rng.uniform(0.78, 0.9))

    def plan() -> None:
        hot = night.ids[1]

        def edit(report: Report, second: float) -> Report:
            if report.broker != hot or second < night.minute(4):
                return report
            usage = report.usage.copy()
            usage[2] = np.floor(full * report.limit[2])
            return replace(report, usage=usage)

        night.cluster.edits.append(edit)
        night.cluster.gate = np.array([1.0, 0.0, 1.0, 1.0, 1.0])

    night.plans.append(plan)
    night.level = 30.0
