"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from trimtab.explanation.lint.conf import Written
from trimtab.pulsar.releases import release_order

Subject = TypeVar("Subject")

#: Looks for a rule's matches in what the rule is about.
Finder: TypeAlias = Callable[[Any], "Iterable[Match]"]

#: Releases from the first on, up to but without the second; the second may be empty.
Span: TypeAlias = tuple[str, str]

#: Every release.
ALWAYS: tuple[Span, ...] = (("0.0.0", ""),)


class Severity(StrEnum):
    """How bad it is, in the words of SARIF; worst first."""

    #: Certainly not what was meant: a value that is refused, or a setting without effect.
    ERROR = "error"
    #: It works, and is known to balance badly.
    WARNING = "warning"
    #: Worth knowing before the next night.
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Match:
    """One thing that a rule found."""

    #: What is found, with its numbers; one sentence without a full stop.
    message: str
    #: Where it is written; None where it is a default that bites.
    at: Written | None
    #: The key that it is about, empty where there is none.
    key: str = ""
    #: What to write instead, where that depends on what was found.
    instead: str = ""
    #: Why it bites, where that depends on what was found.
    why: str = ""
    #: Numbers of Apache Pulsar's issues and the like, where they depend on it.
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One key of a rule that has a table of them."""

    key: str
    #: When, and what comes of it; ends without a full stop.
    why: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule(Generic[Subject]):
    """One rule, and what there is to say of it."""

    #: Stable, short, in the field's words.
    code: str
    severity: Severity
    #: What it looks for, in half a sentence.
    title: str
    #: Why that bites.
    why: str
    #: Issues, pull requests (`#23156`) and improvement proposals (`PIP-364`) of Apache
    #: Pulsar, or the classes that were read.
    evidence: tuple[str, ...]
    #: What to write instead.
    instead: str
    find: Callable[[Subject], Iterable[Match]]
    #: Releases in which it holds.
    spans: tuple[Span, ...] = ALWAYS
    #: Its table, if it has one.
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found, with all that is said of it."""

    code: str
    severity: Severity
    message: str
    at: Written | None
    #: Name of the file that it is about, where nothing is written.
    source: str
    key: str
    why: str
    evidence: tuple[str, ...]
    instead: str
    #: The same in other files: file and line, None where nothing is written.
    also: tuple[tuple[str, int | None], ...] = ()
    #: Which of the releases that it may be have it, in words; empty if all do.
    releases: str = ""

    @property
    def file(self) -> str:
        """Return the name of the file that it is about."""
        return self.place[0]

    @property
    def line(self) -> int | None:
        """Return the line, from 1; None where nothing is written and a default bites."""
        return self.place[1]

    @property
    def place(self) -> tuple[str, int | None]:
        """Return the file and the line, from 1; None where nothing is written."""
        return (self.at.source, self.at.line) if self.at else (self.source, None)


def chosen(
    findings: Iterable[Finding], severity: Severity, ignored: Collection[str]
) -> tuple[Finding, ...]:
    """Return the findings that are as bad as this or worse, but for those of ignored codes."""
    order = list(Severity)
    return tuple(
        finding
        for finding in findings
        if order.index(finding.severity) <= order.index(severity) and finding.code not in ignored
    )


def holds_in(spans: Iterable[Span], release: str) -> bool:
    """Return whether a release is within one of the spans."""
    order = release_order(release)
    return any(
        release_order(since) <= order and (not until or order < release_order(until))
        for since, until in spans
    )


def applied(
    rules: Iterable[Rule[Subject]], subject: Subject, release: str, source: str
) -> Iterator[Finding]:
    """Yield what those rules find that hold in a release.

    A default that bites is written nowhere: its file is `source`.
    """
    for rule in rules:
        if not holds_in(rule.spans, release):
            continue
        for match in rule.find(subject):
            yield Finding(
                code=rule.code,
                severity=rule.severity,
                message=match.message,
                at=match.at,
                source=source,
                key=match.key,
                why=match.why or rule.why,
                evidence=match.evidence or rule.evidence,
                instead=match.instead or rule.instead,
            )
