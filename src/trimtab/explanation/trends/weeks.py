"""Nights → sums and causes by cluster and week, and the nights to look at.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.explanation.trends.nights import MEASURES, Night

#: Nights that are named as those to look at.
LOOKED_AT = 10
#: What makes a night worth a look: what it is a share of, in words.
_HARMS = (
    ("useless", "of all useless moves"),
    ("regret", "of all regret"),
    ("over_min", "of all time at 85 % or more"),
)


def weeks(nights: Iterable[Night]) -> list[dict[str, Any]]:
    """Return a row for each cluster and week, by cluster and week."""
    groups: dict[tuple[str, str], list[Night]] = {}
    for night in nights:
        groups.setdefault((night.cluster, night.week), []).append(night)
    return [
        {"cluster": cluster, "week": week, **_sums(those)}
        for (cluster, week), those in sorted(groups.items())
    ]


def _sums(nights: Sequence[Night]) -> dict[str, Any]:
    """Return what nights come to together; a measure weighs each night by its hours."""
    rows = [night.row for night in nights]
    hours = sum(row["hours"] for row in rows)
    decided = [row for row in rows if row["regret_rounds"]]
    rounds = sum(row["regret_rounds"] for row in decided)
    missed = sum(row["regret_points"] * row["regret_rounds"] for row in decided)
    known = [row for row in rows if row["over_min"] is not None]
    sums = {name: sum(row[name] for row in rows) for name in ("moves", "useless", "undecided")}
    judged = [night for night in nights if "useless_per_hour" in night.values]
    return {
        "nights": len(nights),
        "hours": round(hours, 6),
        **sums,
        "moves_per_hour": round(sums["moves"] / hours, 6),
        "useless_per_hour": _per_hour([night.row for night in judged], "useless"),
        "regret_points": round(missed / rounds, 6) if rounds else None,
        "over_min_per_hour": _per_hour(known, "over_min"),
    }


def _per_hour(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    hours = sum(row["hours"] for row in rows)
    return round(sum(row[name] for row in rows) / hours, 6) if hours else None


def of_all_clusters(
    rows: Sequence[Mapping[str, Any]], unchanged: Collection[str]
) -> list[dict[str, Any]]:
    """Return of each week the middle cluster and the range of eight in ten, by measure.

    Args:
        rows: of `weeks`.
        unchanged: clusters of which nothing changed; told apart from the others.
    """
    named: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        named.setdefault(row["week"], []).append(row)
    return [
        {
            "week": week,
            "clusters": len(those),
            "nights": sum(row["nights"] for row in those),
            "measures": _ranges(those),
            "changed": _ranges([row for row in those if row["cluster"] not in unchanged]),
            "unchanged": _ranges([row for row in those if row["cluster"] in unchanged]),
        }
        for week, those in sorted(named.items())
    ]


def _ranges(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float] | None]:
    return {each.name: _range(rows, each.name) for each in MEASURES}


def _range(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float] | None:
    values = [row[name] for row in rows if row[name] is not None]
    if not values:
        return None
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    return {"p10": round(low, 6), "median": round(middle, 6), "p90": round(high, 6)}


def causes(nights: Iterable[Night]) -> list[dict[str, Any]]:
    """Return a row for each cluster, week and code that was found, by those."""
    having: Counter[tuple[str, str, str]] = Counter()
    count: Counter[tuple[str, str, str]] = Counter()
    for night in nights:
        for code, n in night.row["findings"].items():
            key = (night.cluster, night.week, code)
            having[key] += 1
            count[key] += n
    return [
        {"cluster": key[0], "week": key[1], "code": key[2], "nights": having[key], "findings": n}
        for key, n in sorted(count.items())
    ]


def worth_a_look(nights: Sequence[Night]) -> list[dict[str, Any]]:
    """Return the nights with the largest shares of what all nights suffered, the worst first.

    The shares of useless moves, of regret and of the time at 85 percent are added up.
    """
    harms = [_harms(night.row) for night in nights]
    totals = {name: sum(harm[name] for harm in harms) for name, _ in _HARMS}
    shares = [
        {name: harm[name] / totals[name] for name, _ in _HARMS if totals[name]} for harm in harms
    ]
    order = sorted(range(len(nights)), key=lambda i: (-sum(shares[i].values()), i))
    return [
        {
            **{name: nights[i].row[name] for name in ("cluster", "night", "folder", "begin")},
            **{name: nights[i].row[name] for name in ("moves", "useless", "over_min", "headline")},
            "regret_points": nights[i].row["regret_points"],
            "why": ", ".join(
                f"{100 * shares[i][name]:.0f} % {words}"
                for name, words in _HARMS
                if shares[i].get(name, 0.0) >= 0.005
            ),
        }
        for i in order[:LOOKED_AT]
        if sum(shares[i].values()) > 0
    ]


def _harms(row: Mapping[str, Any]) -> dict[str, float]:
    return {
        "useless": row["useless"],
        "regret": max((row["regret_points"] or 0.0) * row["regret_rounds"], 0.0),
        "over_min": row["over_min"] or 0.0,
    }
