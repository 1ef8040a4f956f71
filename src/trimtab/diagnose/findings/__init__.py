"""Every kind of finding: code → entry."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.diagnose.entry import FindingEntry

# [[[cog
# from pathlib import Path
#
# import cog
#
# names = sorted(path.stem for path in Path(cog.inFile).parent.glob("[a-z]*.py"))
# cog.outl("from trimtab.diagnose.findings import (")
# cog.outl("".join(f"    {name},\n" for name in names) + ")\n")
# ]]]
from trimtab.diagnose.findings import (
    bad_nic_limit,
    blind_to_imbalance,
    chatty_reports,
    cold_cpu,
    cold_history,
    emptied_broker,
    empty_bundle_moved,
    even_distribution_override,
    giant_bundle,
    grace_starvation,
    heterogeneous_brokers,
    jitter_chasing,
    leader_change,
    lost_destination,
    memory_as_load,
    no_acting_leader,
    no_headroom,
    one_pair_per_round,
    over_placement,
    over_unloading,
    ping_pong,
    random_placement,
    same_broker,
    score_disagreement,
    shedding_aborted,
    skipped_bundles,
    slow_round,
    sole_bundle,
    split_refused,
    split_storm,
    stale_report,
    throughput_floor,
    two_leaders,
    unload_failed,
    usage_zero,
    vanished_bundle,
    wrong_extreme,
    wrong_manager,
    zero_traffic_contradiction,
)

# [[[end]]]
from trimtab.diagnose.night import Finding, Night

#: The files of this folder, as `make docs` lists them.
_ENTRIES = (
    # [[[cog cog.outl("".join(f"{name}.ENTRY,\n" for name in names).rstrip()) ]]]
    bad_nic_limit.ENTRY,
    blind_to_imbalance.ENTRY,
    chatty_reports.ENTRY,
    cold_cpu.ENTRY,
    cold_history.ENTRY,
    emptied_broker.ENTRY,
    empty_bundle_moved.ENTRY,
    even_distribution_override.ENTRY,
    giant_bundle.ENTRY,
    grace_starvation.ENTRY,
    heterogeneous_brokers.ENTRY,
    jitter_chasing.ENTRY,
    leader_change.ENTRY,
    lost_destination.ENTRY,
    memory_as_load.ENTRY,
    no_acting_leader.ENTRY,
    no_headroom.ENTRY,
    one_pair_per_round.ENTRY,
    over_placement.ENTRY,
    over_unloading.ENTRY,
    ping_pong.ENTRY,
    random_placement.ENTRY,
    same_broker.ENTRY,
    score_disagreement.ENTRY,
    shedding_aborted.ENTRY,
    skipped_bundles.ENTRY,
    slow_round.ENTRY,
    sole_bundle.ENTRY,
    split_refused.ENTRY,
    split_storm.ENTRY,
    stale_report.ENTRY,
    throughput_floor.ENTRY,
    two_leaders.ENTRY,
    unload_failed.ENTRY,
    usage_zero.ENTRY,
    vanished_bundle.ENTRY,
    wrong_extreme.ENTRY,
    wrong_manager.ENTRY,
    zero_traffic_contradiction.ENTRY,
    # [[[end]]]
)
#: In the order in which findings of one time are listed.
FINDINGS: Mapping[str, FindingEntry] = {
    entry.code: entry for entry in sorted(_ENTRIES, key=lambda entry: (entry.rank, entry.code))
}


def all_findings(night: Night) -> list[Finding]:
    """Return what every rule finds, in order of time, then of the kinds above."""
    order = {code: i for i, code in enumerate(FINDINGS)}
    findings = [finding for entry in FINDINGS.values() for finding in entry.rule(night)]
    return sorted(findings, key=lambda f: (f.time, f.round, order[f.code], f.bundles, f.brokers))
