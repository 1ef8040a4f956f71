"""Families whose cause is a fault: of a host, of an unload, of a leader, of a split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

from tools.nights.night import AVG, LEAST_RATE, OVERLOAD, THRESHOLD, UNIFORM, Night
from tools.nights.plants import of_broker, steps, threshold_pair
from tools.nights.report import Report

_SIMPLE = "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl"


def busy(night: Night) -> None:
    """Let a broker be hot for good, so that bundles move in many rounds."""
    threshold_pair(night)
    night.level = 28.0
    night.bundles_each = max(night.bundles_each, 12)
    night.setting(loadBalancerHistoryResourcePercentage=0.3)
    steps(night, [(float(night.rng.uniform(3, 6)), 2.3)], of_broker(night, 1))


def with_term(night: Night, change: Callable[[], None]) -> None:
    """Change the first term once there is one."""
    night.plans.append(change)


def same_broker(night: Night) -> None:
    """Plant lookups that do not heed the destination: the source takes its bundle again."""
    busy(night)
    night.density = max(night.density, 1)

    def change() -> None:
        night.term.diverts = lambda bundle, source, target: (
            source if hash_of(bundle) % 2 else target
        )

    with_term(night, change)


def hash_of(text: str) -> int:
    """Return a number that is always the same for a text."""
    return crc32(text.encode()) % 1009


def lost_destination(night: Night) -> None:
    """Plant a second lookup that places the bundle anew: a third broker takes it."""
    busy(night)
    night.brokers = max(night.brokers, 4)
    night.density = max(night.density, 1)

    def divert(bundle: str, source: str, target: str) -> str:
        others = [b for b in night.ids if b not in {source, target}]
        return others[hash_of(bundle) % len(others)] if hash_of(bundle) % 3 else target

    with_term(night, lambda: setattr(night.term, "diverts", divert))


def vanished_bundle(night: Night) -> None:
    """Plant a bundle whose clients never look it up again."""
    busy(night)
    night.form = "whole"
    gone: set[str] = set()

    def divert(bundle: str, source: str, target: str) -> str | None:
        if not gone and night.cluster.now_ms >= night.from_ms:
            gone.add(bundle)
        return None if bundle in gone else target

    with_term(night, lambda: setattr(night.term, "diverts", divert))


def unload_failed(night: Night) -> None:
    """Plant two bundles whose owner answers every order with an error."""
    busy(night)
    failing: set[str] = set()

    def fails(bundle: str) -> str | None:
        if len(failing) < 2 and night.cluster.now_ms >= night.from_ms:
            failing.add(bundle)
        error = "org.apache.pulsar.client.admin.PulsarAdminException$ServerSideErrorException"
        return f"{error}: HTTP 500 Internal Server Error" if bundle in failing else None

    with_term(night, lambda: setattr(night.term, "fails", fails))


def shedding_aborted(night: Night) -> None:
    """Plant rounds that end in an exception, for a while or for good."""
    busy(night)
    if night.seed % 2:
        night.pair(AVG)
        night.release = "4.0.0"
    begin = float(night.rng.uniform(4, 8))
    end = begin + float(night.rng.choice([4, 10, 60]))
    with_term(
        night,
        lambda: setattr(
            night.term, "breaks", lambda second: night.minute(begin) <= second < night.minute(end)
        ),
    )


def slow_round(night: Night) -> None:
    """Plant unloads that take ten seconds and more each."""
    busy(night)
    night.bundles_each = 19
    night.spread = 0.1
    took = float(night.rng.uniform(11, 16))
    with_term(night, lambda: setattr(night.term, "takes_s", lambda bundle: took))


def skipped_bundles(night: Night) -> None:
    """Plant policies that leave the owner alone, or brokers that are not there."""
    busy(night)
    gone = frozenset({"10.9.9.9:8080", "10.9.9.8:8080"})

    def allowed(bundle: str) -> frozenset[str] | None:
        owner = night.cluster.owner(bundle)
        return gone if night.seed % 2 or owner is None else gone | {owner}

    with_term(night, lambda: setattr(night.term, "allowed", allowed))


def leader_change(night: Night) -> None:
    """Plant elections: another broker's twice, or the same one's that lost and won in seconds."""
    busy(night)

    def plan() -> None:
        first = float(night.rng.uniform(6, 9))
        hand_over(night, first, night.ids[1 if night.seed % 3 else night.leader])
        hand_over(night, first + 8, night.ids[2])

    night.plans.append(plan)


def leader_change_by_store(night: Night) -> None:
    """Plant elections that only the store tells of: no log line of them was kept."""
    leader_change(night)
    night.form = "no-rest"
    night.keeps_elections = False


def hand_over(night: Night, minute: float, successor: str, gap_s: float = 3.0) -> None:
    """Let the leader lose its session, and another be elected some seconds later."""
    cluster = night.cluster

    def lose() -> None:
        _end(night)

    cluster.when(night.minute(minute), lose)
    night.elect(successor, night.minute(minute) + gap_s)


def _end(night: Night) -> None:
    cluster = night.cluster
    for term in night.terms:
        if _has_begun(night, term.leader) and not term.is_over:
            term.is_over = True
            cluster.log.election(
                cluster.now_ms,
                term.name,
                "LeaderElectionImpl",
                "Leadership released for /loadbalance/leader",
            )
            cluster.log.election(
                cluster.now_ms + 3,
                term.name,
                "PulsarService",
                f"This broker {term.leader} is a follower. No leader has been elected yet",
            )
            return


def _has_begun(night: Night, leader: str) -> bool:
    return bool(night.cluster.led) and night.cluster.led[-1][1] == leader


def two_leaders(night: Night) -> None:
    """Plant a former leader that says it follows, and goes on with its rounds."""
    busy(night)
    night.minutes = 36
    if night.seed % 2:
        night.pair(AVG)

    def plan() -> None:
        minute = float(night.rng.uniform(8, 11))
        successor = night.ids[2 if night.leader != 2 else 1]
        cluster = night.cluster

        def follow() -> None:
            old = night.term
            cluster.log.election(
                cluster.now_ms,
                old.name,
                "PulsarService",
                f"This broker {old.leader} is a follower. No leader has been elected yet",
            )

        cluster.when(night.minute(minute), follow)
        night.elect(successor, night.minute(minute) + 2)

    night.plans.append(plan)
    # Load goes up once more, so that both have something to shed.
    steps(night, [(14.0, 1.6)], of_broker(night, 0))


def no_acting_leader(night: Night) -> None:
    """Plant minutes without a leader in the store."""
    busy(night)

    def plan() -> None:
        minute, lasts = float(night.rng.uniform(6, 10)), float(night.rng.uniform(3, 9))
        cluster = night.cluster

        def lose() -> None:
            _end(night)
            cluster.led.append((cluster.now_ms, None))

        cluster.when(night.minute(minute), lose)
        night.elect(night.ids[1], night.minute(minute + lasts))

    night.plans.append(plan)


def usage_zero(night: Night) -> None:
    """Plant a broker whose host cannot be measured, and reports no usage at all."""
    threshold_pair(night)

    def plan() -> None:
        blind = night.ids[1]

        def edit(report: Report, second: float) -> Report:
            is_blind = report.broker == blind and second > night.minute(3)
            if not is_blind:
                return report
            usage = report.usage.copy()
            usage[[0, 3, 4]] = 0.0
            usage[2] = 0.0
            return replace(report, usage=usage)

        night.cluster.edits.append(edit)

    night.plans.append(plan)
    night.setting(loadBalancerReportUpdateMaxIntervalMinutes=3)


def zero_traffic_contradiction(night: Night) -> None:
    """Plant another program on a host whose broker owns nothing."""
    night.pair(*((THRESHOLD, None), (OVERLOAD, LEAST_RATE), (AVG, None))[night.seed % 3])
    night.brokers = max(night.brokers, 4)
    night.level = 32.0

    def plan() -> None:
        quiet = night.ids[1]
        rest = [b for b in night.ids if b != quiet]
        for place, row in enumerate(night.first[quiet]):
            night.first[rest[place % len(rest)]].append(row)
        night.first[quiet] = []
        night.cluster.brokers[quiet].background = float(night.rng.uniform(62, 80))

    night.plans.append(plan)


def bad_nic_limit(night: Night) -> None:
    """Plant a network card that reports a tenth of what it can do, or nothing."""
    if night.seed % 3:
        night.pair(UNIFORM)
    else:
        threshold_pair(night)
    night.bytes_each = float(night.rng.uniform(60e6, 250e6))
    limit = night.bytes_each * 8 / 1000 * 0.5 if night.seed % 3 else 0.0

    def plan() -> None:
        bad = night.ids[1]

        def edit(report: Report, second: float) -> Report:
            del second
            if report.broker != bad:
                return report
            limits = report.limit.copy()
            limits[3:] = limit
            return replace(report, limit=limits)

        night.cluster.edits.append(edit)

    night.plans.append(plan)


def wrong_manager(night: Night) -> None:
    """Plant a broker that fell back to the simple load manager."""
    threshold_pair(night)

    def plan() -> None:
        odd = night.ids[1]
        night.cluster.edits.append(
            lambda report, second: (
                replace(report, manager=_SIMPLE) if report.broker == odd else report
            )
        )

    night.plans.append(plan)
