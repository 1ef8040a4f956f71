"""Which causes of a night are the gravest: what stops the balancer, then what did most harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.night import Finding
from trimtab.diagnose.verdicts import Verdict

_SEVERITIES = ("high", "medium", "low")


class Cause(NamedTuple):
    """All findings of one kind."""

    code: str
    severity: str
    #: A fault of the cluster or of a setting by which the balancer does not work at all.
    is_fault: bool
    #: The gravest first, then in order of time.
    findings: tuple[Finding, ...]


def by_gravity(findings: Sequence[Finding], verdicts: Mapping[str, Verdict]) -> list[Cause]:
    """Return the causes, gravest first.

    Faults of high severity come before all else; then severity counts, then how many moves the
    cause made useless, then how many it concerns.
    """
    useless = Counter(verdict.code for verdict in verdicts.values() if verdict.is_useless)
    codes: dict[str, list[Finding]] = {}
    for finding in findings:
        codes.setdefault(finding.code, []).append(finding)
    causes = []
    for code, same in codes.items():
        same.sort(key=lambda finding: (_SEVERITIES.index(finding.severity), finding.time))
        severity = same[0].severity
        is_fault = FINDINGS[code].is_fault and severity == "high"
        causes.append(Cause(code, severity, is_fault, tuple(same)))
    causes.sort(
        key=lambda cause: (
            not cause.is_fault,
            _SEVERITIES.index(cause.severity),
            -useless[cause.code],
            -sum(len(finding.moves) for finding in cause.findings),
            FINDINGS[cause.code].rank,
        )
    )
    return causes
