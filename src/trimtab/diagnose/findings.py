"""Every family of findings: code → function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trimtab.diagnose.cold_history import cold_history
from trimtab.diagnose.grace_starvation import grace_starvation
from trimtab.diagnose.leader_change import leader_change
from trimtab.diagnose.memory_as_load import memory_as_load
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.no_acting_leader import no_acting_leader
from trimtab.diagnose.over_placement import over_placement
from trimtab.diagnose.over_unloading import over_unloading
from trimtab.diagnose.ping_pong import ping_pong
from trimtab.diagnose.random_placement import random_placement
from trimtab.diagnose.score_disagreement import score_disagreement
from trimtab.diagnose.shedding_aborted import shedding_aborted
from trimtab.diagnose.skipped_bundles import skipped_bundles
from trimtab.diagnose.slow_round import slow_round
from trimtab.diagnose.sole_bundle import sole_bundle
from trimtab.diagnose.split_refused import split_refused
from trimtab.diagnose.split_storm import split_storm
from trimtab.diagnose.stale_report import stale_report
from trimtab.diagnose.throughput_floor import throughput_floor
from trimtab.diagnose.two_leaders import two_leaders
from trimtab.diagnose.unload_failed import unload_failed
from trimtab.diagnose.usage_zero import usage_zero
from trimtab.diagnose.zero_traffic_contradiction import zero_traffic_contradiction

FINDINGS: Mapping[str, Callable[[Night], list[Finding]]] = {
    "random-placement": random_placement,
    "over-placement": over_placement,
    "over-unloading": over_unloading,
    "ping-pong": ping_pong,
    "cold-history": cold_history,
    "score-disagreement": score_disagreement,
    "sole-bundle": sole_bundle,
    "throughput-floor": throughput_floor,
    "grace-starvation": grace_starvation,
    "stale-report": stale_report,
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
