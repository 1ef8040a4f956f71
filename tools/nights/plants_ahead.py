"""Families of causes that issue 17 names and no page has yet: the truth is the issue's sentence."""

from __future__ import annotations

import numpy as np

from tools.nights.night import AVG, LOGS, UNIFORM, Night
from tools.nights.plants import of_broker, steps, threshold_pair
from tools.nights.plants_of_faults import busy
from tools.nights.plants_of_splits import split_storm
from tools.nights.truth import at


def frozen_record(night: Night) -> None:
    """Plant a broker whose record in the store stands still while its load goes on.

    A broker's record in the store that stands still while REST or metrics move: frozen, with its
    broker, its span and the moves that relied on it.
    """
    threshold_pair(night)
    night.form = "whole"
    night.setting(loadBalancerReportUpdateMaxIntervalMinutes=5)
    night.level = 30.0

    def plan() -> None:
        frozen, since = night.ids[1], night.minute(5)
        night.cluster.mute = lambda broker, second: broker == frozen and second > since

    night.plans.append(plan)
    steps(night, [(8.0, 1.9)], of_broker(night, 1))


def follower_goes_on(night: Night) -> None:
    """Plant a broker that says that it follows and sheds all the same, in its log alone.

    A broker that sheds after it said that it follows needs no election to be a second leader.
    """
    busy(night)
    night.form = LOGS
    night.minutes = 36

    def plan() -> None:
        minute = 8.0
        old, cluster = night.term, night.cluster

        def follow() -> None:
            cluster.log.election(
                cluster.now_ms,
                old.name,
                "PulsarService",
                f"This broker {old.leader} is a follower. No leader has been elected yet",
            )

        cluster.when(night.minute(minute), follow)

    night.plans.append(plan)
    steps(night, [(14.0, 1.8)], of_broker(night, 0))


def giant_by_budget(night: Night) -> None:
    """Plant brokers of few bundles, each larger than what is to go: a round plans and moves none.

    A bundle is a giant by AvgShedder's or UniformLoadShedder's budget below every bundle.
    """
    night.pair(AVG if night.seed % 2 else UNIFORM)
    night.brokers = int(night.rng.integers(4, 7))
    night.bundles_each = 2
    night.namespaces = 1
    night.spread = 0.05
    night.level = 26.0
    night.minutes = 36
    night.bytes_each = float(night.rng.uniform(60e6, 200e6))
    night.setting(
        maxUnloadPercentage=0.2,
        loadBalancerAvgShedderHitCountLowThreshold=3,
        minUnloadMessage=500,
    )
    steps(night, [(5.0, 2.2)], of_broker(night, 1))

    def plan() -> None:
        broker = night.ids[1]
        names = [night.cluster.traffic.names[i] for i in night.first[broker]]
        span = (night.ms(6), night.to_ms)
        night.truths.append(at("giant-bundle", span, broker, names))

    night.plans.append(plan)


def cascade_of_six(night: Night) -> None:
    """Plant a cascade of six splits: children split again within minutes, six are a storm."""
    split_storm(night)
    night.splits = int(night.rng.integers(6, 8))


def excess_below_bundle(night: Night) -> None:
    """Plant a bundle that is no giant by its share, but larger than its broker's excess.

    Giant-bundle is the largest bundle against what must move: wherever it goes it is too much.
    """
    threshold_pair(night)
    night.brokers = int(night.rng.integers(3, 5))
    night.bundles_each = 6
    night.spread = 0.05
    night.minutes = 40
    night.level = 26.0
    night.setting(
        loadBalancerHistoryResourcePercentage=0.0, loadBalancerSheddingGracePeriodMinutes=2
    )

    def plan() -> None:
        traffic = night.cluster.traffic
        mine = night.first[night.ids[1]]
        grown = np.ones(len(traffic.names))
        grown[mine[0]] = 8.0
        begin = night.minute(5)
        traffic.shapes.append(lambda second, rate: rate * grown if second >= begin else rate)
        span = (night.ms(5), night.to_ms)
        name = traffic.names[mine[0]]
        night.truths.append(at("giant-bundle", span, night.ids, name))

    night.plans.append(plan)
