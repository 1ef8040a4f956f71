"""Findings as a person reads them on a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap

from trimtab.explanation.lint.conf import shown
from trimtab.explanation.lint.rule import Finding, Severity

_WIDTH = 96
_INDENT = "    "
_NO_BREAK = "\u00a0"


def finding_lines(
    findings: Sequence[Finding],
    paint: Callable[[str, Severity | None], str],
    *,
    explains: bool,
) -> Iterator[str]:
    """Yield findings as lines: where, what, how bad, and what to write instead; why, if asked."""
    for finding in findings:
        place = paint(f"{located(*finding.place)}:", None)
        severity = paint(f"{finding.severity.value}:", finding.severity)
        only = f" ({finding.releases})" if finding.releases else ""
        yield f"{place} {finding.code}{only} {severity} {finding.message}"
        if finding.also:
            yield from _paragraph("also", ", ".join(starmap(located, finding.also)))
        if explains:
            yield from _paragraph("why", finding.why)
            yield from _paragraph("evidence", ", ".join(map(cited, finding.evidence)))
        yield from _paragraph("instead", finding.instead)


def released(files: str, release: str, others: str, basis: str) -> str:
    """Return as which release files are looked at, from what that is known, as a sentence."""
    if not others:
        return f"{files}, release {release}: {basis}"
    return (
        f"{files}: the release is not told, and may be any of {others}: {basis}.  {release} stands "
        "for them; what only some of them have says which.  --release tells it."
    )


def located(source: str, line: int | None) -> str:
    """Return a place as editors know it: file:line, the file alone where nothing is written."""
    return shown(source, 200) if line is None else f"{shown(source, 200)}:{line}"


def cited(evidence: str) -> str:
    """Return a piece of evidence so that it can be looked up."""
    return f"apache/pulsar{evidence}" if evidence.startswith("#") else evidence


def counts_text(findings: Sequence[Finding]) -> str:
    """Return the number of findings of each severity as text, the worst first."""
    counts = Counter(finding.severity for finding in findings)
    parts = [
        f"{counts[severity]} {severity.value}{'s' * (counts[severity] != 1)}"
        for severity in Severity
        if counts[severity]
    ]
    return ", ".join(parts) or "nothing found"


def _paragraph(name: str, text: str) -> list[str]:
    # What begins with a long word shall not leave its name alone on a line.
    lines = textwrap.wrap(
        f"{name}:{_NO_BREAK}{text}",
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + " " * (len(name) + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [lines[0].replace(_NO_BREAK, " ", 1), *lines[1:]]
