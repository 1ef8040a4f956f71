"""Every family of findings: code → function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trimtab.diagnose.cold_history import cold_history
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.over_placement import over_placement
from trimtab.diagnose.over_unloading import over_unloading
from trimtab.diagnose.ping_pong import ping_pong
from trimtab.diagnose.random_placement import random_placement
from trimtab.diagnose.score_disagreement import score_disagreement
from trimtab.diagnose.sole_bundle import sole_bundle

FINDINGS: Mapping[str, Callable[[Night], list[Finding]]] = {
    "random-placement": random_placement,
    "over-placement": over_placement,
    "over-unloading": over_unloading,
    "ping-pong": ping_pong,
    "cold-history": cold_history,
    "score-disagreement": score_disagreement,
    "sole-bundle": sole_bundle,
}


def found(night: Night) -> list[Finding]:
    """Run every family; findings in order of time, then of the families above."""
    order = {code: i for i, code in enumerate(FINDINGS)}
    all_found = [finding for find in FINDINGS.values() for finding in find(night)]
    return sorted(all_found, key=lambda f: (f.time, f.round, order[f.code], f.bundles, f.brokers))
