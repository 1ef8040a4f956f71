"""All families of nights, and how a night of one is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tools.nights import (
    of_load,
    of_refusals,
    of_reports,
    of_rounds,
    plants,
    plants_ahead,
    plants_of_faults,
    plants_of_reports,
    plants_of_size,
    plants_of_splits,
)
from tools.nights.night import (
    AVG,
    LEAST_RATE,
    LEAST_USED,
    LOGS,
    METRICS,
    NO_STORE,
    OVERLOAD,
    REPORTS,
    THRESHOLD,
    UNIFORM,
    ZOOKEEPER,
    Night,
    drawn_night,
)
from tools.nights.truth import Truth


@dataclass(frozen=True, slots=True)
class Family:
    """What a family's nights are made for."""

    #: The cause; None for healthy nights.
    code: str | None
    plant: Callable[[Night], None]


def _healthy(shedder: str, placer: str) -> Callable[[Night], None]:
    def plant(night: Night) -> None:
        """Plant nothing: brokers differ by two points, and traffic hardly varies."""
        night.pair(shedder, placer)
        # Now and then the smallest cluster that balances anything, and a large one.
        night.brokers = {5: 2, 6: 60}.get(night.seed % 10, night.brokers)
        if shedder == AVG and night.brokers > 30:
            night.release = "4.0.8"  # older ones throw where there are so many to sort

    return plant


def _kept(code: str, plant: Callable[[Night], None], form: str) -> Family:
    def thinned(night: Night) -> None:
        """Plant the same, and keep only a part of the recording."""
        plant(night)
        night.form = form

    return Family(code, thinned)


def _mixed(*planted: Callable[[Night], None]) -> Callable[[Night], None]:
    def plant(night: Night) -> None:
        """Plant two causes at once, of which the first is what the night is made for."""
        for each in planted:
            each(night)

    return plant


_LOAD = (
    plants.random_placement,
    plants.over_placement,
    plants.over_unloading,
    plants.ping_pong,
    plants.cold_history,
    plants.sole_bundle,
    plants.even_distribution_override,
    plants.blind_to_imbalance,
    plants.heterogeneous_brokers,
    plants.empty_bundle_moved,
    plants.giant_bundle,
    plants.emptied_broker,
    plants.jitter_chasing,
    plants.no_headroom,
    plants.cold_cpu,
    plants.one_pair_per_round,
    plants.wrong_extreme,
    plants_of_reports.throughput_floor,
    plants_of_reports.grace_starvation,
    plants_of_reports.stale_report,
    plants_of_reports.chatty_reports,
    plants_of_reports.memory_as_load,
)
_FAULTS = (
    plants_of_faults.same_broker,
    plants_of_faults.lost_destination,
    plants_of_faults.vanished_bundle,
    plants_of_faults.unload_failed,
    plants_of_faults.shedding_aborted,
    plants_of_faults.slow_round,
    plants_of_faults.skipped_bundles,
    plants_of_faults.leader_change,
    plants_of_faults.two_leaders,
    plants_of_faults.no_acting_leader,
    plants_of_faults.usage_zero,
    plants_of_faults.zero_traffic_contradiction,
    plants_of_faults.bad_nic_limit,
    plants_of_faults.wrong_manager,
    plants_of_splits.split_refused,
    plants_of_splits.split_storm,
    plants_of_splits.repeated_split,
    plants_of_splits.lookup_without_broker,
)

#: Name → family, in the order in which they are run.
FAMILIES: Mapping[str, Family] = {
    "healthy-threshold": Family(None, _healthy(THRESHOLD, LEAST_USED)),
    "healthy-threshold-rate": Family(None, _healthy(THRESHOLD, LEAST_RATE)),
    "healthy-overload": Family(None, _healthy(OVERLOAD, LEAST_RATE)),
    "healthy-uniform": Family(None, _healthy(UNIFORM, LEAST_RATE)),
    "healthy-avg": Family(None, _healthy(AVG, AVG)),
    **{
        code: Family(code, plant)
        for plant in (*_LOAD, *_FAULTS)
        if (code := plant.__name__.replace("_", "-"))
    },
    "leader-change-by-store": Family("leader-change", plants_of_faults.leader_change_by_store),
    "frozen-record": Family("frozen-record", plants_ahead.frozen_record),
    "follower-goes-on": Family("two-leaders", plants_ahead.follower_goes_on),
    "giant-by-budget": Family("giant-bundle", plants_of_size.giant_by_budget),
    "excess-below-bundle": Family("giant-bundle", plants_of_size.excess_below_bundle),
    "alternating-load": Family("ping-pong", plants_of_size.alternating_load),
    "cascade-of-six": Family("split-storm", plants_of_splits.cascade_of_six),
    "splits-of-an-owner": Family("split-storm", plants_of_splits.splits_of_an_owner),
    "logs-random-placement": _kept("random-placement", plants.random_placement, LOGS),
    "logs-unload-failed": _kept("unload-failed", plants_of_faults.unload_failed, LOGS),
    "logs-sole-bundle": _kept("sole-bundle", plants.sole_bundle, LOGS),
    "logs-shedding-aborted": _kept("shedding-aborted", plants_of_faults.shedding_aborted, LOGS),
    "reports-no-headroom": _kept("no-headroom", plants.no_headroom, REPORTS),
    "reports-bad-nic-limit": _kept("bad-nic-limit", plants_of_faults.bad_nic_limit, REPORTS),
    "rest-over-placement": _kept("over-placement", plants.over_placement, NO_STORE),
    "zookeeper-leader-change": _kept(
        "leader-change", plants_of_faults.leader_change_by_store, ZOOKEEPER
    ),
    "zookeeper-cold-history": _kept("cold-history", plants.cold_history, ZOOKEEPER),
    "zookeeper-lost-destination": _kept(
        "lost-destination", plants_of_faults.lost_destination, ZOOKEEPER
    ),
    "metrics-over-unloading": _kept("over-unloading", plants.over_unloading, METRICS),
    "mixed-failed-and-lost": Family(
        "unload-failed", _mixed(plants_of_faults.lost_destination, plants_of_faults.unload_failed)
    ),
    "mixed-splits-and-nic": Family(
        "split-refused", _mixed(plants_of_faults.bad_nic_limit, plants_of_splits.split_refused)
    ),
    "mixed-zero-and-change": Family(
        "usage-zero", _mixed(plants_of_faults.leader_change, plants_of_faults.usage_zero)
    ),
}

#: What follows from what was played.
_CONSEQUENCES: tuple[Callable[[Night], Iterator[Truth]], ...] = (
    of_rounds.random_placement,
    of_rounds.over_placement,
    of_rounds.over_unloading,
    of_rounds.ping_pong,
    of_load.ping_pong_of_load,
    of_rounds.cold_history,
    of_rounds.score_disagreement,
    of_rounds.sole_bundle,
    of_rounds.even_distribution_override,
    of_rounds.blind_to_imbalance,
    of_rounds.emptied_broker,
    of_rounds.one_pair_per_round,
    of_rounds.wrong_extreme,
    of_refusals.throughput_floor,
    of_refusals.grace_starvation,
    of_refusals.stale_report,
    of_refusals.memory_as_load,
    of_refusals.skipped_bundles,
    of_refusals.unload_failed,
    of_refusals.shedding_aborted,
    of_refusals.slow_round,
    of_refusals.lost_destination,
    of_refusals.same_broker,
    of_refusals.vanished_bundle,
    of_refusals.heterogeneous_brokers,
    of_refusals.jitter_chasing,
    of_refusals.cold_cpu,
    of_reports.giant_bundle,
    of_reports.empty_bundle_moved,
    of_reports.no_headroom,
    of_reports.bad_nic_limit,
    of_reports.wrong_manager,
    of_reports.usage_zero,
    of_reports.zero_traffic_contradiction,
    of_reports.chatty_reports,
    of_reports.leader_change,
    of_reports.two_leaders,
    of_reports.frozen_record,
    of_reports.no_acting_leader,
)


def played(name: str, seed: int) -> Night:
    """Return a night of a family that has been played, with all that is true of it."""
    family = FAMILIES[name]
    night = drawn_night(name, seed)
    family.plant(night)
    if not 0 <= night.leader < night.brokers - len(night.absent):
        night.leader = 0
    night.build()
    ask_s = float(night.rng.choice([10, 15, 30, 60]))
    night.cluster.when(night.minute(0) + ask_s, lambda: night.cluster.ask_all(ask_s))
    night.play()
    for consequence in _CONSEQUENCES:
        night.truths += consequence(night)
    night.truths = [replace(it, is_planted=it.code == family.code) for it in night.truths]
    return night
