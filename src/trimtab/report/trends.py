"""What many nights come to in, one self-contained HTML page out: changes, weeks, causes, nights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, entries, name, part, text, texts, whole
from trimtab.report.render import rendered
from trimtab.report.words import clock, count, interval, number, plain

#: Where the page of a night is, by its folder.
Link = Callable[[str], str]

#: Clusters and causes that have a row; the tables have all.
CLUSTERS_SHOWN, CAUSES_SHOWN, CAUSES_ACROSS = 60, 14, 6
#: Shades of a cell, the lightest for what is not nothing.
_SHADES = 5
_SIGNS = {"fell": "↓", "rose": "↑", "no difference shown": "=", "not decidable": "~"}
#: What the drawing calls its lines: clusters of which something changed, and the others.
_SERIES = (("changed", "something changed"), ("unchanged", "nothing changed"))
_COLOURS = {"something changed": "var(--c2)", "nothing changed": "var(--c1)"}
_ALL = "all clusters"
#: Pixels beside the plot that its axis takes, and its height.
_AXIS_PX, _HEIGHT = {"wide": 50, "narrow": 44}, {"wide": 170, "narrow": 150}
#: Measures that the page draws and lays out by cluster: what does harm.
_HARMS = 3


def render_trends(document: Fields, link: Link) -> str:
    """Return the page of trends, as in `trends.json`."""
    return rendered("trends.html.j2", _page_of(document, link), "what_if.css", "trends.css")


def _page_of(document: Fields, link: Link) -> dict[str, Any]:
    measures = entries(document, "measures")
    weeks = [text(each, "week") for each in entries(document, "weeks")]
    return {
        "where": _where(document),
        "headline": text(document, "headline"),
        "sting": text(document, "sting"),
        "measures": [_measure(document, each, weeks) for each in measures[:_HARMS]],
        "weeks": weeks,
        "changes": [_change(each, measures, link) for each in entries(document, "changes")],
        "unchanged": len(texts(document, "unchanged")),
        "causes_by_week": _causes_by_week(document, weeks),
        "causes_by_cluster": _causes_by_cluster(document),
        "look_at": [_night(each, link) for each in entries(document, "look_at")],
        "failed": [
            {**{key: name(each, key) for key in ("cluster", "night")}, "error": text(each, "error")}
            for each in entries(document, "failed")
        ],
        "without_time": texts(document, "without_time"),
        "clusters_left_out": max(len(texts(document, "clusters")) - CLUSTERS_SHOWN, 0),
        "assumed": texts(document, "assumed"),
        "command": text(document, "command"),
        "version": text(document, "trimtab"),
    }


def _where(document: Fields) -> tuple[str, ...]:
    return (
        count(len(texts(document, "clusters")), "cluster"),
        count(whole(document, "nights") or 0, "night"),
        interval(document.get("from"), document.get("to")),
        count(len(entries(document, "weeks")), "week"),
    )


# ----------------------------------------------------------------- by week


def _measure(document: Fields, measure: Fields, weeks: Sequence[str]) -> dict[str, Any]:
    """Return one measure: its picture, and its table of clusters and weeks."""
    key = text(measure, "name")
    wide, narrow = _pictures(document, key)
    return {
        "name": key.replace("_", "-"),
        "title": text(measure, "title"),
        "unit": text(measure, "unit"),
        "wide": wide,
        "narrow": narrow,
        "rows": _rows(document, key, weeks),
    }


def _rows(document: Fields, key: str, weeks: Sequence[str]) -> list[dict[str, Any]]:
    """Return the clusters with a value for each week, those with the most first."""
    values: dict[str, dict[str, float | None]] = {}
    for each in entries(document, "clusters_by_week"):
        values.setdefault(name(each, "cluster"), {})[text(each, "week")] = number(each.get(key))
    most = max((it for row in values.values() for it in row.values() if it is not None), default=0)
    worst = sorted(values, key=lambda it: (-sum(v or 0.0 for v in values[it].values()), it))
    return [
        {"head": cluster, "cells": [_cell(values[cluster].get(week), most) for week in weeks]}
        for cluster in worst[:CLUSTERS_SHOWN]
    ]


def _cell(value: float | None, most: float) -> dict[str, Any]:
    if value is None:
        return {"figure": "–", "shade": 0}
    shade = 0 if value <= 0 or most <= 0 else 1 + min(int(_SHADES * value / most), _SHADES - 1)
    return {"figure": _figure(value), "shade": shade}


def _figure(value: float | None) -> str:
    """Return a number with as many digits as matter."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return (
        f"{value:,.0f}"
        if abs(value) >= 100
        else f"{value:.1f}"
        if abs(value) >= 10
        else f"{value:.2f}"
    )


def _pictures(document: Fields, key: str) -> tuple[Markup, Markup]:
    points = list(_points(document, key))
    wide, narrow = (
        Markup(
            within_page(chart_svg("trends", _slots(document, points, form)), f"{key}-{form.name}")
        )
        for form in (WIDE, NARROW)
    )
    return wide, narrow


def _points(document: Fields, key: str) -> Iterator[dict[str, Any]]:
    weeks = entries(document, "weeks")
    # Where nothing changed, or something did everywhere, there is one line.
    are_two = all(any(part(each, which).get(key) for each in weeks) for which, _ in _SERIES)
    for each in weeks:
        for which, words in _SERIES if are_two else (("measures", _ALL),):
            ends = part(part(each, which), key)
            if ends:
                yield {
                    "week": text(each, "week"),
                    "name": words,
                    **{end: number(ends.get(end)) for end in ("p10", "median", "p90")},
                }


def _slots(document: Fields, points: Sequence[Mapping[str, Any]], form: Format) -> dict[str, Any]:
    weeks = [text(each, "week") for each in entries(document, "weeks")]
    names = list(dict.fromkeys(point["name"] for point in points)) or [_ALL]
    every = max(1, -(-len(weeks) // (14 if form.name == "wide" else 3)))
    return {
        "$width": form.width - _AXIS_PX[form.name],
        "$height": _HEIGHT[form.name],
        "$weeks": weeks,
        "$labelled": weeks[::every],
        "$names": names,
        "$colours": [_COLOURS.get(each, "var(--c1)") for each in names],
        "datasets": {"points": list(points)},
    }


# ----------------------------------------------------------------- changes


def _change(change: Fields, measures: Sequence[Fields], link: Link) -> dict[str, Any]:
    clusters = entries(change, "clusters")
    together = entries(change, "effects") if len(clusters) > 1 else []
    effects = together or entries(clusters[0], "effects")
    return {
        "entries": texts(change, "entries"),
        "answer": text(change, "answer"),
        "controls": max((whole(each, "controls") or 0 for each in effects), default=0),
        "titles": [(text(each, "title"), text(each, "unit")) for each in measures],
        "together": [_effect(each) for each in together],
        "count": len(clusters),
        "clusters": [
            {
                "cluster": name(each, "cluster"),
                "since": clock(each.get("since"), with_day=True),
                "begin": clock(each.get("begin"), with_day=True),
                "link": link(str(each.get("folder"))),
                "effects": [_effect(effect) for effect in entries(each, "effects")],
            }
            for each in clusters[:CLUSTERS_SHOWN]
        ],
    }


def _effect(effect: Fields) -> dict[str, Any]:
    verdict = text(effect, "verdict")
    low, high = (number(effect.get(end)) for end in ("low", "high"))
    before, after = (number(effect.get(end)) for end in ("before", "after"))
    value = number(effect.get("effect"))
    is_harm = effect.get("measure") != "moves_per_hour"
    tones = {"fell": "good", "rose": "useless"} if is_harm else {}
    return {
        "sign": _SIGNS.get(verdict, "~"),
        "tone": tones.get(verdict, ""),
        "verdict": verdict,
        "value": "" if value is None else f"{value:+.2f}",
        "range": "" if low is None or high is None else f"{low:+.2f} to {high:+.2f}",
        "means": f"{_figure(before)} → {_figure(after)}",
        "why_not": text(effect, "why_not"),
    }


# ------------------------------------------------------------------ causes


def _causes_by_week(document: Fields, weeks: Sequence[str]) -> list[dict[str, Any]]:
    """Return the commonest causes, with how often a night of each week has them."""
    count_of = Counter[tuple[str, str]]()
    for each in entries(document, "causes"):
        count_of[text(each, "code"), text(each, "week")] += whole(each, "findings") or 0
    nights = {text(each, "week"): whole(each, "nights") or 1 for each in entries(document, "weeks")}
    return [
        {
            "head": plain(code),
            "cells": _a_night([(count_of[code, week], nights[week]) for week in weeks]),
        }
        for code in _commonest(document)[:CAUSES_SHOWN]
    ]


def _causes_by_cluster(document: Fields) -> dict[str, Any]:
    count_of, nights = Counter[tuple[str, str]](), Counter[str]()
    for each in entries(document, "causes"):
        count_of[name(each, "cluster"), text(each, "code")] += whole(each, "findings") or 0
    for each in entries(document, "clusters_by_week"):
        nights[name(each, "cluster")] += whole(each, "nights") or 0
    codes = _commonest(document)[:CAUSES_ACROSS]
    shown = sorted(nights)[:CLUSTERS_SHOWN]
    columns = [
        _a_night([(count_of[cluster, code], nights[cluster]) for cluster in shown])
        for code in codes
    ]
    return {
        "causes": [plain(code) for code in codes],
        "rows": [
            {"head": cluster, "cells": [column[i] for column in columns]}
            for i, cluster in enumerate(shown)
        ],
    }


def _commonest(document: Fields) -> list[str]:
    count_of = Counter[str]()
    for each in entries(document, "causes"):
        count_of[text(each, "code")] += whole(each, "findings") or 0
    return sorted(count_of, key=lambda code: (-count_of[code], code))


def _a_night(counts: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return how often one night has a finding, shaded by the most of its kind."""
    values = [n / max(nights, 1) for n, nights in counts]
    return [_cell(value, max(values)) for value in values]


def _night(each: Fields, link: Link) -> dict[str, Any]:
    return {
        "cluster": name(each, "cluster"),
        "night": name(each, "night"),
        "begin": clock(each.get("begin"), with_day=True),
        "link": link(str(each.get("folder"))),
        "why": text(each, "why"),
        "headline": text(each, "headline"),
    }
