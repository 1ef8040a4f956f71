"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trimtab.explanation.lint.rule import Finding, Rule
from trimtab.explanation.lint.text import cited

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(
    findings: Sequence[Finding], rules: Mapping[str, Rule[Any]], version: str
) -> dict[str, Any]:
    """Return findings as one run of a tool, beside every rule, those that found nothing too."""
    places = {code: i for i, code in enumerate(rules)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "trimtab",
                        "version": version,
                        "rules": [_rule(rule) for rule in rules.values()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, places[finding.code]) for finding in findings],
            }
        ],
    }


def _rule(rule: Rule[Any]) -> dict[str, Any]:
    spans = [
        f"{since} to before {until}" if until else f"{since} on" for since, until in rule.spans
    ]
    return {
        "id": rule.code,
        "shortDescription": {"text": f"{rule.title[:1].upper()}{rule.title[1:]}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"Instead: {rule.instead}."},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "evidence": [cited(it) for it in rule.evidence],
            "releases": spans,
        },
    }


def _result(finding: Finding, place: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": place,
        "level": finding.severity.value,
        "message": {"text": f"{_sentence(finding)} Instead: {finding.instead}."},
        "locations": [{"physicalLocation": _location(*finding.place)}],
        "properties": {
            "key": finding.key,
            "why": finding.why,
            "evidence": [cited(it) for it in finding.evidence],
        },
    }
    if finding.also:
        result["relatedLocations"] = [
            {"physicalLocation": _location(*place)} for place in finding.also
        ]
    return result


def _sentence(finding: Finding) -> str:
    where = f" (only in releases {finding.releases})" if finding.releases else ""
    return f"{finding.message}{where}."


def _location(source: str, line: int | None) -> dict[str, Any]:
    # Whatever a file is called, a URI has no blanks, colons or control characters in it.
    uri = quote(source)
    location: dict[str, Any] = {
        "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri}
    }
    if line is not None:
        location["region"] = {"startLine": line}
    return location
