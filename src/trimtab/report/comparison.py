"""A comparison in, one self-contained HTML page out: nothing is computed but layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from trimtab.report.contenders import (
    COLUMNS,
    Contender,
    contenders_of,
    letters_of,
    measures_of,
)
from trimtab.report.input import Fields, entries, text
from trimtab.report.pareto import pareto_of
from trimtab.report.render import rendered
from trimtab.report.words import count


@dataclass(frozen=True, slots=True)
class Shown:
    """One scenario, as it is shown."""

    anchor: str
    name: str
    question: str
    #: Which strategy is best; empty if the comparison does not say.
    answer: str
    contenders: tuple[Contender, ...]
    wide: Markup | None
    narrow: Markup | None


def render_comparison(comparison: Fields) -> str:
    """Return the page of a comparison, as in `comparison.json`."""
    return rendered("comparison.html.j2", _page_of(comparison))


def _page_of(comparison: Fields) -> dict[str, Any]:
    """Gather everything that the template shows."""
    letters = letters_of(entries(comparison, "scenarios"))
    scenarios = [
        _shown(f"s{place}", each, letters)
        for place, each in enumerate(entries(comparison, "scenarios"), start=1)
    ]
    measures = measures_of(comparison)
    failed = sum(len(each.failures) for one in scenarios for each in one.contenders)
    everybody = {each.letter: each for one in scenarios for each in one.contenders}
    return {
        "where": _where(comparison, scenarios, len(letters)),
        "headline": _headline(scenarios, len(letters)),
        "runs": sum(each.runs + len(each.failures) for one in scenarios for each in one.contenders),
        "failed": failed,
        "scenarios": scenarios,
        "strategies": list(everybody.values()),
        "columns": sorted(
            (each for each in measures if each["name"] in COLUMNS),
            key=lambda each: COLUMNS.index(each["name"]),
        ),
        "measures": measures,
        "seeds": len(comparison.get("seeds") or ()),
        "confidence": comparison.get("confidence"),
        "command": text(comparison, "command"),
        "version": text(comparison, "trimtab"),
        "has_details": _differ_in_details(tuple(everybody.values())),
    }


def _shown(anchor: str, scenario: Fields, letters: dict[str, str]) -> Shown:
    contenders = contenders_of(scenario, letters)
    wide, narrow = pareto_of(contenders, anchor) or (None, None)
    name, question = text(scenario, "name"), text(scenario, "question")
    return Shown(anchor, name, question, text(scenario, "answer"), contenders, wide, narrow)


def _where(comparison: Fields, scenarios: Sequence[Shown], n_strategies: int) -> tuple[str, ...]:
    """Return what was run, in parts: the only line above the headline."""
    seeds = len(comparison.get("seeds") or ())
    releases = {d for s in scenarios for c in s.contenders for d in c.details[:1]}
    return (
        scenarios[0].name if len(scenarios) == 1 else count(len(scenarios), "scenario"),
        *(sorted(releases) if len(releases) == 1 else ()),
        count(n_strategies, "strategy"),
        count(seeds, "seed"),
    )


def _headline(scenarios: Sequence[Shown], n_strategies: int) -> str:
    strategies = count(n_strategies, "strategy")
    if len(scenarios) == 1:
        return scenarios[0].answer or f"{strategies} on {scenarios[0].name}."
    return f"{strategies} on {count(len(scenarios), 'scenario')}."


def _differ_in_details(contenders: Sequence[Contender]) -> bool:
    """Return whether strategies differ in release or settings, so that these must be shown."""
    return len({each.details for each in contenders}) > 1 or any(
        len(each.details) > 1 for each in contenders
    )
