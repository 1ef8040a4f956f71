"""The section of the report with the settings to change, each with what a replay says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trimtab.report.contenders import figure, signed
from trimtab.report.input import Given, entries, part, text, whole
from trimtab.report.words import number


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule by which the replay is judged."""

    name: str
    found: str
    rule: str
    #: `good`, `useless`, or `unknown` where there was nothing to compare.
    tone: str
    sign: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does to one measure."""

    title: str
    now: str
    then: str
    #: Where the median difference lies; empty if it is not known.
    range: str


@dataclass(frozen=True, slots=True)
class Change:
    """Settings that would have been better."""

    strategy: str
    lines: tuple[str, ...]
    effects: tuple[Effect, ...]


def section_of(findings: Given) -> dict[str, Any] | None:
    """Gather what `what_if_section.html.j2` shows, which the report includes.

    Args:
        findings: findings.json, whose `what_if` is read.

    Returns:
        Its values; None if nobody asked.
    """
    found = part(findings, "what_if")
    if not found:
        return None
    return {
        "is_trusted": bool(found.get("is_trusted")),
        "why_not": text(found, "why_not"),
        "rules": rules_of(found),
        "changes": changes_of(found),
        "seeds": whole(found, "seeds") or 0,
        "confidence": found.get("confidence"),
        "tried": whole(found, "tried") or 0,
    }


def rules_of(fidelity: Given) -> tuple[Rule, ...]:
    """Read the rules and what was found."""
    return tuple(
        Rule(text(each, "name"), text(each, "found"), text(each, "rule"), *_tone(each))
        for each in entries(fidelity, "checks")
    )


def changes_of(document: Given) -> tuple[Change, ...]:
    """Read the settings to change."""
    return tuple(
        Change(
            strategy=text(each, "strategy"),
            lines=tuple(f"{key}={value}" for key, value in part(each, "set").items()),
            effects=tuple(_effect(effect) for effect in entries(each, "effects")),
        )
        for each in entries(document, "changes")
    )


def _tone(check: Given) -> tuple[str, str]:
    met = check.get("is_met")
    return ("unknown", "–") if met is None else ("good", "✓") if met else ("useless", "✗")


def _effect(effect: Given) -> Effect:
    difference = part(effect, "difference")
    low, high = (number(difference.get(end)) for end in ("low", "high"))
    known = "" if low is None or high is None else f"{signed(low)} to {signed(high)}"
    unit = text(effect, "unit")
    return Effect(
        title=text(effect, "title"),
        now=figure(effect.get("now")),
        then=f"{figure(effect.get('then'))}{' ' + unit if unit else ''}",
        range=known,
    )
