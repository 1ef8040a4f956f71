"""Every kind of finding: code → entry."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from trimtab.diagnose.entry import FindingEntry, entry
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.wording import rows


def _entry(code: str) -> FindingEntry:
    name = code.replace("-", "_")
    module = import_module(f"{__name__}.{name}")
    return entry(getattr(module, name), getattr(module, "cure", None))


#: In the order in which findings of one time are listed.
FINDINGS: Mapping[str, FindingEntry] = {
    code: _entry(code) for code in sorted(rows(), key=lambda code: (rows()[code]["rank"], code))
}


def all_findings(night: Night) -> list[Finding]:
    """Return what every rule finds, in order of time, then of the kinds above."""
    order = {code: i for i, code in enumerate(FINDINGS)}
    findings = [finding for each in FINDINGS.values() for finding in each.rule(night)]
    return sorted(findings, key=lambda f: (f.time, f.round, order[f.code], f.bundles, f.brokers))
