"""Every family of findings: code → function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trimtab.diagnose.findings.bad_nic_limit import bad_nic_limit
from trimtab.diagnose.findings.blind_to_imbalance import blind_to_imbalance
from trimtab.diagnose.findings.chatty_reports import chatty_reports
from trimtab.diagnose.findings.cold_cpu import cold_cpu
from trimtab.diagnose.findings.cold_history import cold_history
from trimtab.diagnose.findings.emptied_broker import emptied_broker
from trimtab.diagnose.findings.empty_bundle_moved import empty_bundle_moved
from trimtab.diagnose.findings.even_distribution_override import even_distribution_override
from trimtab.diagnose.findings.giant_bundle import giant_bundle
from trimtab.diagnose.findings.grace_starvation import grace_starvation
from trimtab.diagnose.findings.heterogeneous_brokers import heterogeneous_brokers
from trimtab.diagnose.findings.jitter_chasing import jitter_chasing
from trimtab.diagnose.findings.leader_change import leader_change
from trimtab.diagnose.findings.lost_destination import lost_destination
from trimtab.diagnose.findings.memory_as_load import memory_as_load
from trimtab.diagnose.findings.no_acting_leader import no_acting_leader
from trimtab.diagnose.findings.no_headroom import no_headroom
from trimtab.diagnose.findings.one_pair_per_round import one_pair_per_round
from trimtab.diagnose.findings.over_placement import over_placement
from trimtab.diagnose.findings.over_unloading import over_unloading
from trimtab.diagnose.findings.ping_pong import ping_pong
from trimtab.diagnose.findings.random_placement import random_placement
from trimtab.diagnose.findings.same_broker import same_broker
from trimtab.diagnose.findings.score_disagreement import score_disagreement
from trimtab.diagnose.findings.shedding_aborted import shedding_aborted
from trimtab.diagnose.findings.skipped_bundles import skipped_bundles
from trimtab.diagnose.findings.slow_round import slow_round
from trimtab.diagnose.findings.sole_bundle import sole_bundle
from trimtab.diagnose.findings.split_refused import split_refused
from trimtab.diagnose.findings.split_storm import split_storm
from trimtab.diagnose.findings.stale_report import stale_report
from trimtab.diagnose.findings.throughput_floor import throughput_floor
from trimtab.diagnose.findings.two_leaders import two_leaders
from trimtab.diagnose.findings.unload_failed import unload_failed
from trimtab.diagnose.findings.usage_zero import usage_zero
from trimtab.diagnose.findings.vanished_bundle import vanished_bundle
from trimtab.diagnose.findings.wrong_extreme import wrong_extreme
from trimtab.diagnose.findings.wrong_manager import wrong_manager
from trimtab.diagnose.findings.zero_traffic_contradiction import zero_traffic_contradiction
from trimtab.diagnose.night import Finding, Night

FINDINGS: Mapping[str, Callable[[Night], list[Finding]]] = {
    "random-placement": random_placement,
    "over-placement": over_placement,
    "over-unloading": over_unloading,
    "ping-pong": ping_pong,
    "cold-history": cold_history,
    "score-disagreement": score_disagreement,
    "sole-bundle": sole_bundle,
    "even-distribution-override": even_distribution_override,
    "same-broker": same_broker,
    "blind-to-imbalance": blind_to_imbalance,
    "heterogeneous-brokers": heterogeneous_brokers,
    "lost-destination": lost_destination,
    "empty-bundle-moved": empty_bundle_moved,
    "giant-bundle": giant_bundle,
    "emptied-broker": emptied_broker,
    "jitter-chasing": jitter_chasing,
    "no-headroom": no_headroom,
    "cold-cpu": cold_cpu,
    "bad-nic-limit": bad_nic_limit,
    "wrong-manager": wrong_manager,
    "vanished-bundle": vanished_bundle,
    "one-pair-per-round": one_pair_per_round,
    "wrong-extreme": wrong_extreme,
    "throughput-floor": throughput_floor,
    "grace-starvation": grace_starvation,
    "stale-report": stale_report,
    "chatty-reports": chatty_reports,
    "memory-as-load": memory_as_load,
    "skipped-bundles": skipped_bundles,
    "unload-failed": unload_failed,
    "shedding-aborted": shedding_aborted,
    "slow-round": slow_round,
    "leader-change": leader_change,
    "two-leaders": two_leaders,
    "no-acting-leader": no_acting_leader,
    "split-refused": split_refused,
    "split-storm": split_storm,
    "usage-zero": usage_zero,
    "zero-traffic-contradiction": zero_traffic_contradiction,
}


def found(night: Night) -> list[Finding]:
    """Run every family; findings in order of time, then of the families above."""
    order = {code: i for i, code in enumerate(FINDINGS)}
    all_found = [finding for find in FINDINGS.values() for finding in find(night)]
    return sorted(all_found, key=lambda f: (f.time, f.round, order[f.code], f.bundles, f.brokers))
