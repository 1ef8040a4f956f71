"""How many brokers a night needs in, one self-contained HTML page out."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from trimtab.report.contenders import figure
from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.render import rendered
from trimtab.report.what_if_section import night_of, rules_of
from trimtab.report.words import interval, number

#: Pixels beside the plot that its axis takes.
_AXIS_PX = {"wide": 66, "narrow": 60}


def render_size(document: Fields) -> str:
    """Return the page of a size, as in `size.json`."""
    return rendered("size.html.j2", _page_of(document), "what_if.css")


def _page_of(document: Fields) -> dict[str, Any]:
    curve = entries(document, "curve")
    wide, narrow = _pictures(document) if curve else (None, None)
    return {
        "where": (*night_of(document), text(document, "strategy")),
        "headline": text(document, "answer"),
        "bar": text(document, "bar_text"),
        "rules": rules_of(part(document, "fidelity")),
        "is_trusted": bool(part(document, "fidelity").get("is_trusted")),
        "wide": wide,
        "narrow": narrow,
        "today": whole(document, "today"),
        "sure": round(100 * (number(document.get("sure")) or 0.0)),
        "nights": _nights(document),
        "left_out": _left_out(document),
        "curve": [_point(each) for each in curve],
        "has_price": any(each.get("price") is not None for each in curve),
        "growth": [_growth(each) for each in entries(document, "growth")],
        "bundles": part(document, "bundle_count"),
        "giants": [
            {"bundle": text(each, "bundle"), "percent": figure(each.get("percent"))}
            for each in entries(part(document, "bundle_count"), "giants")
        ],
        "figure": figure,
        "untold": texts(document, "untold"),
        "assumed": texts(document, "assumed"),
        "seeds": whole(document, "seeds") or 0,
        "command": text(document, "command"),
        "version": text(document, "trimtab"),
    }


def _nights(document: Fields) -> list[dict[str, Any]]:
    """Return what each of several nights needs by itself; nothing of one."""
    needs = part(document, "by_night").get("each")
    if not isinstance(needs, list):
        return []
    return [
        {
            "name": text(night, "recording"),
            "when": interval(night.get("from"), night.get("to")),
            "need": figure(need),
        }
        for night, need in zip(entries(document, "nights"), needs, strict=False)
    ]


def _left_out(document: Fields) -> str:
    """Return between which numbers the answer is if any one night is left out."""
    by_night = part(document, "by_night")
    low, high = figure(by_night.get("low")), figure(by_night.get("high"))
    return low if low == high else f"{low} to {high}"


def _point(each: Fields) -> dict[str, Any]:
    risk, low, high = (100 * (number(each.get(end)) or 0.0) for end in ("risk", "low", "high"))
    price = number(each.get("price"))
    return {
        "brokers": whole(each, "brokers"),
        "risk": f"{risk:.0f} %",
        "range": f"{low:.0f} to {high:.0f}",
        "price": "" if price is None else f"{price:,.0f}",
    }


def _growth(each: Fields) -> dict[str, Any]:
    need = part(each, "need")
    return {
        "percent": whole(each, "percent"),
        "usual": figure(need.get("usual")),
        "range": f"{figure(need.get('low'))} to {figure(need.get('high'))}",
        "sure": figure(need.get("sure")),
    }


def _pictures(document: Fields) -> tuple[Markup, Markup]:
    wide, narrow = (
        Markup(within_page(chart_svg("size", _slots(document, form)), f"curve-{form.name}"))
        for form in (WIDE, NARROW)
    )
    return wide, narrow


def _slots(document: Fields, form: Format) -> dict[str, Any]:
    points = [
        {name: 100 * (number(each.get(name)) or 0.0) for name in ("risk", "low", "high")}
        | {"brokers": whole(each, "brokers") or 0}
        for each in entries(document, "curve")
    ]
    counts = [int(point["brokers"]) for point in points]
    today = whole(document, "today")
    return {
        "$width": form.width - _AXIS_PX[form.name],
        "$height": 260 if form.name == "wide" else 200,
        "$x_domain": [min(counts) - 0.5, max(counts) + 0.5],
        "$x_values": counts if len(counts) <= 24 else counts[:: len(counts) // 12],
        "datasets": {
            "points": points,
            "today": [{"brokers": today, "name": "today"}],
        },
    }
