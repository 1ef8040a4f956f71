"""What other strategies would have made of a night in, one self-contained HTML page out.

How well the replay does comes first; where that is not enough, nothing else is on the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from trimtab.report.contenders import (
    Measure,
    contenders_of,
    figure,
    identity,
    letters_of,
    measures_of,
)
from trimtab.report.given import Given, entries, part, text, texts, whole
from trimtab.report.pareto import Axes, pareto_of
from trimtab.report.render import asset, environment, policy
from trimtab.report.words import count, interval, number

_AXES = Axes(
    across="unloads_a_day",
    up="p95_spread_points",
    across_title="unloads a day",
    up_title="95th percentile of spread, points",
)


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
class Cost:
    """What something costs of the CPU."""

    of: str
    cost: str
    range: str
    unit: str


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


def render_what_if(document: Given) -> str:
    """Lay out an answer as a page.

    The same input gives the same bytes.

    Args:
        document: as in `comparison.json` of a recording.

    Returns:
        The text of an HTML file.
    """
    style = asset("report.css") + asset("comparison.css") + asset("what_if.css")
    template = environment().get_template("what_if.html.j2")
    return template.render(**_page_of(document), style=Markup(style), policy=policy(style, ""))


def what_if_section(findings: Given) -> Markup:
    """Lay out the settings to change as a section of the report; empty if nobody asked.

    Args:
        findings: findings.json, whose `what_if` is read.
    """
    found = part(findings, "what_if")
    if not found:
        return Markup("")
    section = environment().get_template("what_if_section.html.j2")
    return Markup(section.render(**section_of(found)))


def section_of(found: Given) -> dict[str, Any]:
    """Gather what the section shows."""
    return {
        "is_trusted": bool(found.get("is_trusted")),
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
    known = "" if low is None or high is None else f"{_signed(low)} to {_signed(high)}"
    unit = text(effect, "unit")
    return Effect(
        title=text(effect, "title"),
        now=figure(effect.get("now")),
        then=f"{figure(effect.get('then'))}{' ' + unit if unit else ''}",
        range=known,
    )


def _signed(value: float) -> str:
    spelt = figure(abs(value))
    return spelt if spelt == "0" else f"{'−' if value < 0 else '+'}{spelt}"


def _page_of(document: Given) -> dict[str, Any]:
    letters = letters_of([document])
    contenders, shown = contenders_of(document, letters), entries(document, "strategies")
    is_trusted = bool(part(document, "fidelity").get("is_trusted"))
    costs = part(document, "costs")
    wide, narrow = pareto_of(contenders, "night", _AXES) or (None, None)
    return {
        "where": _where(document),
        "headline": f"What if {text(document, 'recording')} had been steered otherwise?",
        "is_trusted": is_trusted,
        "rules": rules_of(part(document, "fidelity")),
        "costs": _costs(part(costs, "cpu")),
        "cpu": part(costs, "cpu"),
        "network": part(costs, "network"),
        "figure": figure,
        "untold": texts(document, "untold"),
        "not_covered": entries(document, "not_covered"),
        "contenders": contenders,
        "alike": {letters[identity(each)]: _alike(each) for each in shown},
        "tried": len(shown) + sum(len(_alike(each)) for each in shown) - 1,
        "wide": wide,
        "narrow": narrow,
        "measures": measures_of(document),
        "changes": changes_of(document),
        "seeds": whole(document, "seeds") or 0,
        "confidence": document.get("confidence"),
        "command": text(document, "command"),
        "version": text(document, "trimtab"),
        "unit_of": _unit_of,
    }


def _alike(strategy: Given) -> list[str]:
    """List the settings that made no difference."""
    return [
        f"{key} = {value}" for each in entries(strategy, "alike") for key, value in each.items()
    ]


def _where(document: Given) -> tuple[str, ...]:
    return (
        text(document, "recording"),
        f"Pulsar {text(document, 'release')}",
        interval(document.get("from"), document.get("to")),
        count(whole(document, "brokers") or 0, "broker"),
        count(whole(document, "bundles") or 0, "bundle"),
        count(whole(document, "seeds") or 0, "seed"),
    )


def _costs(cpu: Given) -> tuple[Cost, ...]:
    return tuple(
        Cost(
            of=text(each, "of"),
            cost=figure(each.get("cost")),
            range=f"{figure(each.get('low'))} to {figure(each.get('high'))}",
            unit=text(each, "unit"),
        )
        for each in entries(cpu, "terms")
    )


def _unit_of(measure: Measure) -> str:
    return f", {measure.unit}" if measure.unit else ""
