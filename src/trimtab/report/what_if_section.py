"""The section of the report with the settings to change, each with what a replay says of it."""

from __future__ import annotations

from typing import Any

from trimtab.report.contenders import figure, signed
from trimtab.report.input import Fields, entries, part, text, whole
from trimtab.report.words import count, interval, number


def section_of(findings: Fields) -> dict[str, Any] | None:
    """Gather what `what_if_section.html.j2` shows, which the report includes.

    Args:
        findings: findings.json, whose `what_if` is read.

    Returns:
        Its values; None if nobody asked.
    """
    what_if = part(findings, "what_if")
    if not what_if:
        return None
    return {
        "is_trusted": bool(what_if.get("is_trusted")),
        "why_not": text(what_if, "why_not"),
        "rules": rules_of(what_if),
        "changes": changes_of(what_if),
        "seeds": whole(what_if, "seeds") or 0,
        "confidence": what_if.get("confidence"),
        "tried": whole(what_if, "tried") or 0,
    }


def night_of(document: Fields) -> tuple[str, ...]:
    """Return which night an answer is of: recording, release, time, brokers and bundles."""
    return (
        text(document, "recording"),
        f"Pulsar {text(document, 'release')}",
        interval(document.get("from"), document.get("to")),
        count(whole(document, "brokers") or 0, "broker"),
        count(whole(document, "bundles") or 0, "bundle"),
    )


def rules_of(fidelity: Fields) -> list[dict[str, str]]:
    """Return the rules by which the replay is judged, each with what was found and its mark."""
    return [
        {**{name: text(each, name) for name in ("name", "found", "rule")}, **_mark(each)}
        for each in entries(fidelity, "checks")
    ]


def changes_of(document: Fields) -> list[dict[str, Any]]:
    """Return the settings that would have been better, each with its effects."""
    return [
        {
            "strategy": text(each, "strategy"),
            "lines": [f"{key}={value}" for key, value in part(each, "set").items()],
            "effects": [_effect(effect) for effect in entries(each, "effects")],
        }
        for each in entries(document, "changes")
    ]


def _mark(check: Fields) -> dict[str, str]:
    """Return a tone and a sign; `unknown` where there was nothing to compare."""
    met = check.get("is_met")
    tone, sign = ("unknown", "–") if met is None else ("good", "✓") if met else ("useless", "✗")
    return {"tone": tone, "sign": sign}


def _effect(effect: Fields) -> dict[str, str]:
    """Return what a change does to one measure; no range where the difference is not known."""
    difference = part(effect, "difference")
    low, high = (number(difference.get(end)) for end in ("low", "high"))
    known = "" if low is None or high is None else f"{signed(low)} to {signed(high)}"
    unit = text(effect, "unit")
    return {
        "title": text(effect, "title"),
        "now": figure(effect.get("now")),
        "then": f"{figure(effect.get('then'))}{' ' + unit if unit else ''}",
        "range": known,
    }
