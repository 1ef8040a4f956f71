"""The page of the rules by which settings are checked: a table, a word on each, a sample."""

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tools.catalogue import code, table
from trimtab.cli import main as command_line
from trimtab.explanation.lint import (
    ALWAYS,
    CLUSTER_RULES,
    CONF_RULES,
    RULES,
    UPGRADE_RULES,
    Conf,
    Rule,
    lint,
)
from trimtab.pulsar.releases import release_order

#: Heading of a column → the first release of it, and the first one after it.
_LINES = {
    "2.10": ("2.10.0", "2.11.0"),
    "3.0": ("3.0.0", "3.1.0"),
    "3.3": ("3.3.0", "4.0.0"),
    "4": ("4.0.0", "5.0.0-M1"),
    "5.0": ("5.0.0-M1", "6.0.0"),
}
#: Newest release of each column, as one that stands for its line.
_NEWEST = {"2.10": "2.10", "3.0": "3.0", "3.3": "3.3", "4": "4.0", "5.0": "5.0"}
_ISSUE = re.compile(r"#(\d+)")


def rules() -> str:
    """Return every rule with its severity, and the releases in which it holds."""
    biting = {line: _by_default(release) for line, release in _NEWEST.items()}
    listed: tuple[Rule[Any], ...] = (*CONF_RULES, *CLUSTER_RULES)
    rows = (
        (
            f"[{rule.code}](#{rule.code})",
            rule.severity.value,
            *("default" if rule.code in biting[line] else _holds(rule, line) for line in _LINES),
            rule.title,
        )
        for rule in listed
    )
    return table(("rule", "severity", *_LINES, "finds"), rows)


def upgrade_rules() -> str:
    """Return every rule that looks at a change of release."""
    return table(
        ("rule", "severity", "finds"),
        (
            (f"[{rule.code}](#{rule.code})", rule.severity.value, rule.title)
            for rule in UPGRADE_RULES
        ),
    )


def each() -> str:
    """Return what there is to say of each rule."""
    return "".join(_part(rule) for rule in RULES.values())


def sample(command: str) -> str:
    """Return a command and what it prints in the folder of the project."""
    arguments = command.split()[1:]
    with chdir(Path(__file__).resolve().parent.parent):
        result = CliRunner().invoke(command_line, arguments, catch_exceptions=False)
    return f"```text\n$ {command}\n{result.output}```\n"


def _part(rule: Rule[Any]) -> str:
    evidence = _cited(rule.evidence)
    return (
        f"\n### {rule.code}\n\n{rule.title[:1].upper()}{rule.title[1:]}.\n\n{rule.why}\n\n"
        f"- Instead: {rule.instead}.\n- Releases: {_releases(rule)}.\n- Evidence: {evidence}.\n"
        f"{_cases(rule)}"
    )


def _cases(rule: Rule[Any]) -> str:
    rows = [(code(it.key), it.why, _cited(it.evidence)) for it in rule.cases]
    return "\n" + table(("key", "when, and why", "evidence"), rows) if rows else ""


def _cited(evidence: tuple[str, ...]) -> str:
    return ", ".join(_ISSUE.sub(_linked, it) for it in evidence)


def _linked(found: re.Match[str]) -> str:
    return f"[#{found[1]}](https://github.com/apache/pulsar/issues/{found[1]})"


def _releases(rule: Rule[Any]) -> str:
    if rule.spans == ALWAYS:
        return "all"
    return ", ".join(
        f"{code(since)} to before {code(until)}" if until else f"{code(since)} on"
        for since, until in rule.spans
    )


def _holds(rule: Rule[Any], line: str) -> str:
    """Return whether a rule holds in all releases of a line, in some, or in none."""
    first, end = (release_order(it) for it in _LINES[line])
    for since, until in rule.spans:
        begins, ends = release_order(since), release_order(until) if until else None
        if begins <= first and (ends is None or ends >= end):
            return "yes"
        if begins < end and (ends is None or ends > first):
            return "in part"
    return ""


def _by_default(release: str) -> set[str]:
    """Find what a conf gives in which nothing is set."""
    return {finding.code for finding in lint([Conf("broker.conf", release, {})])}
