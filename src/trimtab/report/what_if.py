"""What other strategies would have made of a night in, one self-contained HTML page out.

How well the replay does comes first; where that is not enough, nothing else is on the page.
"""

from __future__ import annotations

from typing import Any

from trimtab.report.contenders import (
    contenders_of,
    figure,
    identity,
    letters_of,
    measures_of,
)
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.pareto import Axes, pareto_of
from trimtab.report.render import rendered
from trimtab.report.what_if_section import changes_of, night_of, rules_of
from trimtab.report.words import count

_AXES = Axes(
    across="unloads_a_day",
    up="p95_spread_points",
    across_title="unloads a day",
    up_title="95th percentile of spread, points",
)


def render_what_if(document: Fields) -> str:
    """Return the page of an answer, as in `comparison.json` of a recording."""
    return rendered("what_if.html.j2", _page_of(document), "what_if.css")


def _page_of(document: Fields) -> dict[str, Any]:
    letters = letters_of([document])
    contenders, shown = contenders_of(document, letters), entries(document, "strategies")
    is_trusted = bool(part(document, "fidelity").get("is_trusted"))
    costs = part(document, "costs")
    wide, narrow = pareto_of(contenders, "night", _AXES) or (None, None)
    return {
        "where": (*night_of(document), count(whole(document, "seeds") or 0, "seed")),
        "headline": text(document, "answer"),
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
    }


def _alike(strategy: Fields) -> list[str]:
    """List the settings that made no difference."""
    return [
        f"{key} = {value}" for each in entries(strategy, "alike") for key, value in each.items()
    ]


def _costs(cpu: Fields) -> list[dict[str, str]]:
    """Return what each kind of traffic costs of the CPU."""
    return [
        {
            "of": text(each, "of"),
            "cost": figure(each.get("cost")),
            "range": f"{figure(each.get('low'))} to {figure(each.get('high'))}"
            + ("" if each.get("is_told") else " ?"),
            "unit": text(each, "unit"),
        }
        for each in entries(cpu, "terms")
    ]
