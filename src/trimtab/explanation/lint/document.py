"""Findings as JSON, for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.explanation.lint.rule import Finding, Severity


def document(
    findings: Sequence[Finding], files: Sequence[str], releases: Mapping[str, object]
) -> dict[str, Any]:
    """Return what `trimtab lint --format json` prints; docs/lint.md says what is in it."""
    counts = Counter(finding.severity for finding in findings)
    return {
        **releases,
        "files": list(files),
        "counts": {severity.value: counts[severity] for severity in Severity},
        "findings": [_entry(finding) for finding in findings],
    }


def _entry(finding: Finding) -> dict[str, Any]:
    source, line = finding.place
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "file": source,
        "line": line,
        "key": finding.key,
        "message": finding.message,
        "releases": finding.releases,
        "why": finding.why,
        "evidence": list(finding.evidence),
        "instead": finding.instead,
        "also": [{"file": file, "line": number} for file, number in finding.also],
    }
