"""The table of nights → trends.json: what the page, the tables and the terminal say.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.explanation.fleet.row import FAILED
from trimtab.explanation.trends.changes import (
    Change,
    Effect,
    alike,
    by_cluster,
    changes_of,
    effects,
    effects_of_all,
)
from trimtab.explanation.trends.controls import Courses, courses
from trimtab.explanation.trends.difference import CONFIDENCE
from trimtab.explanation.trends.nights import MEASURES, Night, nights_of
from trimtab.explanation.trends.weeks import causes, of_all_clusters, weeks, worth_a_look

#: What is taken for granted.
ASSUMED = (
    "what changed took effect somewhere between the last night without it and the first with it",
    "nights of a cluster are independent of one another, and so are clusters",
    "what the time did to the clusters in which nothing changed, it did to the others too; where "
    "there are fewer than two such clusters, nothing is taken off",
    "each interval stands for itself: of twenty that show nothing, one misses by chance",
)


def trends_document(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is said of the rows of a table of nights."""
    nights = nights_of(rows)
    clusters = by_cluster(nights)
    changes = {cluster: changes_of(those) for cluster, those in clusters.items()}
    controls = {name: those for name, those in clusters.items() if not changes[name]}
    beside = courses(controls)
    groups = alike([change for those in changes.values() for change in those])
    by_week = weeks(nights)
    document = {
        "clusters": sorted({row["cluster"] for row in rows}),
        "nights": len(nights),
        "from": min((night.row["begin"] for night in nights), default=None),
        "to": max((night.row["end"] for night in nights), default=None),
        "measures": [
            {"name": each.name, "title": each.title, "unit": each.unit} for each in MEASURES
        ],
        "totals": _totals(nights),
        "weeks": of_all_clusters(by_week, controls.keys()),
        "clusters_by_week": by_week,
        "causes": causes(nights),
        "changes": [_change(group, beside) for group in groups],
        "unchanged": sorted(controls),
        "confidence": CONFIDENCE,
        "look_at": worth_a_look(nights),
        "failed": [
            {name: row[name] for name in ("cluster", "night", "recording", "error")}
            for row in rows
            if row["status"] == FAILED
        ],
        "without_time": [
            row["folder"]
            for row in rows
            if row["status"] != FAILED and not (row["begin"] and row["hours"])
        ],
        "assumed": list(ASSUMED),
    }
    return {**_headline(document), **document}


def _headline(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the first sentences: what was moved for nothing, and what the first change did."""
    totals = document["totals"]
    undecided = f", {totals['undecided']:,} not decidable" if totals["undecided"] else ""
    head = (
        f"{totals['useless']:,} of {totals['moves']:,} moves in {document['nights']:,} nights of "
        f"{len(document['clusters'])} clusters did no good{undecided}."
    )
    if not document["changes"]:
        return {"headline": head, "sting": "Nothing was changed."}
    more = len(document["changes"]) - 1
    beside = "" if not more else f"; and {more} more change{'s' if more > 1 else ''}"
    return {"headline": head, "sting": f"{document['changes'][0]['answer']}{beside}."}


def _totals(nights: Sequence[Night]) -> dict[str, Any]:
    names = ("moves", "useless", "undecided")
    return {name: sum(night.row[name] for night in nights) for name in names}


def _change(group: Sequence[Change], controls: Sequence[Courses]) -> dict[str, Any]:
    """Return one change, in all clusters that have it and in each."""
    together = [_effect(each) for each in effects_of_all(group, controls)]
    clusters = [
        {
            "cluster": change.cluster,
            "since": change.last.row["begin"],
            "begin": change.after[0].row["begin"],
            "folder": change.after[0].row["folder"],
            "effects": [_effect(each) for each in effects(change, controls)],
        }
        for change in group
    ]
    what = "; ".join(group[0].what)
    # One cluster alone speaks for itself.
    shown = together if len(group) > 1 else clusters[0]["effects"]
    return {
        "what": what,
        "entries": list(group[0].what),
        "clusters": clusters,
        "effects": together,
        "answer": _answer(what, group, shown),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    ends = effect.difference
    return {
        "measure": effect.measure.name,
        "before": _rounded(effect.before),
        "after": _rounded(effect.after),
        "effect": None if ends is None else _rounded(ends.value),
        "low": None if ends is None else _rounded(ends.low),
        "high": None if ends is None else _rounded(ends.high),
        "n_before": effect.n_before,
        "n_after": effect.n_after,
        "controls": effect.n_controls,
        "verdict": effect.verdict,
        "why_not": effect.why_not,
    }


def _answer(what: str, group: Sequence[Change], by_measure: Sequence[Mapping[str, Any]]) -> str:
    """Return what changed, where and when, and what it did to useless moves."""
    first, last = (end(change.begin for change in group) for end in (min, max))
    when = " to ".join(dict.fromkeys((_day(first), _day(last))))
    names = ", ".join(change.cluster for change in group[:6])
    names += f" and {len(group) - 6} more" if len(group) > 6 else ""
    useless = next(each for each in by_measure if each["measure"] == MEASURES[0].name)
    return f"{what} in {names} ({when}): {effect_text(useless, MEASURES[0].title)}"


def effect_text(effect: Mapping[str, Any], title: str) -> str:
    """Return what a change did to a measure, with its interval, or what would decide it."""
    if effect["effect"] is None:
        return f"what it did to {title} is not decidable: {effect['why_not']}"
    unit = next(each.unit for each in MEASURES if each.name == effect["measure"])
    ends = f"({effect['low']:+.2f} to {effect['high']:+.2f})"
    if effect["verdict"] == "no difference shown":
        return f"no difference shown in {title}: {effect['effect']:+.2f} {unit} {ends}"
    return f"{title} {effect['verdict']} by {abs(effect['effect']):.2f} {unit} {ends}"


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
