"""Which causes of a night are the gravest: what stops the balancer, then what did most harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.night import Finding
from trimtab.diagnose.places import SEVERITIES
from trimtab.diagnose.verdicts import Verdict
from trimtab.diagnose.wording import wording


class Cause(NamedTuple):
    """All findings of one kind."""

    code: str
    severity: str
    #: A fault of the cluster or of a setting by which the balancer does not work at all.
    is_fault: bool
    #: The gravest first, then those with most rounds inside, then in order of time.
    findings: tuple[Finding, ...]

    def explains(self, other: Cause) -> bool:
        """Return whether another cause comes of this one, at the same brokers or bundles.

        What is of little weight does not explain what is grave; what a leader remembers concerns
        all that it decides.  Where both are about moves, half of the other's must be this one's.
        """
        if self.severity == "low" and other.severity == "high":
            return False
        reasons = {f"{name}." for it in other.findings for name in _of(it)}
        if not any(f"{it.wording}.".startswith(tuple(reasons)) for it in self.findings):
            return False
        if any(wording(finding.wording)["place"] == "leader" for finding in self.findings):
            return True
        moves, others = _moves(self), _moves(other)
        if moves and others:
            return 2 * len(moves & others) >= len(others)
        ours, theirs = _named(self), _named(other)
        return not ours or not theirs or bool(ours & theirs)


def by_gravity(findings: Sequence[Finding], verdicts: Mapping[str, Verdict]) -> list[Cause]:
    """Return the causes, gravest first; docs/gravity.md has the order.

    Faults of high severity come before all else; then severity counts, then how many moves the
    cause and what it explains made useless, then how many it concerns and how often it was found.
    What explains a cause stands before it.

    Args:
        findings: one for each kind and place.
        verdicts: move's id → verdict.
    """
    useless = Counter(verdict.code for verdict in verdicts.values() if verdict.is_useless)
    codes: dict[str, list[Finding]] = {}
    for finding in findings:
        codes.setdefault(finding.code, []).append(finding)
    causes = []
    for code, same in codes.items():
        same.sort(key=lambda it: (SEVERITIES.index(it.severity), -len(it.parts), it.time))
        severity = same[0].severity
        is_fault = FINDINGS[code].is_fault and severity == "high"
        causes.append(Cause(code, severity, is_fault, tuple(same)))
    harm = {
        cause.code: sum(useless[it.code] for it in causes if it is cause or cause.explains(it))
        for cause in causes
    }
    causes.sort(
        key=lambda cause: (
            not cause.is_fault,
            SEVERITIES.index(cause.severity),
            -harm[cause.code],
            -len({move for finding in cause.findings for move in finding.moves}),
            -sum(max(1, len(finding.parts)) for finding in cause.findings),
            FINDINGS[cause.code].rank,
        )
    )
    return _explained(causes)


def _explained(causes: Sequence[Cause]) -> list[Cause]:
    """Return causes with what explains each of them before it."""
    ordered: dict[str, Cause] = {}
    met: set[str] = set()

    def place(cause: Cause) -> None:
        if cause.code in met:
            return
        met.add(cause.code)
        for reason in causes:
            if reason.explains(cause):
                place(reason)
        ordered[cause.code] = cause

    for cause in causes:
        place(cause)
    return list(ordered.values())


def _of(finding: Finding) -> Sequence[str]:
    """Return what may explain a finding, codes or variants, by its row of findings.toml."""
    of: Sequence[str] = wording(finding.wording).get("of", ())
    return of


def _moves(cause: Cause) -> set[str]:
    return {move for finding in cause.findings for move in finding.moves}


def _named(cause: Cause) -> set[str]:
    return {name for finding in cause.findings for name in (*finding.brokers, *finding.bundles)}
