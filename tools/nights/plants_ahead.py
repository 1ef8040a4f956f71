"""Families of causes that issue 17 names and no page has yet: the truth is the issue's sentence."""

from __future__ import annotations

from tools.nights.night import LOGS, Night
from tools.nights.plants import of_broker, steps, threshold_pair
from tools.nights.plants_of_faults import busy


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
