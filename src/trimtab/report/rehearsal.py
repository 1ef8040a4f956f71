"""A rehearsal in, one self-contained HTML page out: is it safe, its course, what would help."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from trimtab.report.contenders import figure
from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.render import rendered
from trimtab.report.what_if_section import night_of, rules_of
from trimtab.report.words import clock, number

_PLANNED, _UNDISTURBED = "as planned", "undisturbed"
_COLOURS = ("var(--c2)", "var(--c1)")
#: Verdict → its tone in the style sheet.
_TONES = {"safe": "good", "not safe": "useless", "not decidable": "doubtful"}
_SIGNS = {"safe": "✓", "not safe": "✗", "not decidable": "~"}
#: Pixels beside the plot that its axis takes.
_AXIS_PX = {"wide": 66, "narrow": 60}


def render_rehearsal(document: Fields) -> str:
    """Return the page of a rehearsal, as in `rehearsal.json`."""
    return rendered("rehearsal.html.j2", _page_of(document), "what_if.css")


def _page_of(document: Fields) -> dict[str, Any]:
    verdict, courses = text(document, "verdict"), part(document, "courses")
    planned, still = part(courses, _PLANNED), part(courses, _UNDISTURBED)
    wide, narrow = _pictures(document) if courses else (None, None)
    return {
        "where": (*night_of(document), text(document, "strategy")),
        "headline": text(document, "answer"),
        "tone": _TONES.get(verdict, "doubtful"),
        "events": texts(document, "events"),
        "begins": clock(document.get("event_time")),
        "bar": text(document, "bar_text"),
        "rules": rules_of(part(document, "fidelity")),
        "is_replayed": part(document, "fidelity").get("is_trusted") is not None,
        "is_refused": part(document, "fidelity").get("is_trusted") is False,
        "planned": planned,
        "share": _share(document, planned),
        "broken": ", ".join(map(str, planned.get("seeds_that_break_it") or ())),
        "measures": [
            {
                "title": text(each, "title"),
                "planned": _cell(planned, each),
                "undisturbed": _cell(still, each),
            }
            for each in entries(document, "measures")
        ],
        "wide": wide,
        "narrow": narrow,
        "brokers": [_broker(each) for each in entries(document, "worst_brokers")],
        "namespaces": [
            {
                "namespace": text(each, "namespace"),
                "topics": figure(each.get("topics")),
                "undisturbed": figure(each.get("undisturbed")),
            }
            for each in entries(document, "worst_namespaces")
        ],
        "remedies": [_remedy(each) for each in entries(document, "remedies")],
        "untold": texts(document, "untold"),
        "assumed": texts(document, "assumed"),
        "seeds": whole(document, "seeds") or 0,
        "command": text(document, "command"),
        "version": text(document, "trimtab"),
    }


def _share(document: Fields, planned: Fields) -> str:
    """Return how sure the verdict is, in words."""
    low, high = (number(planned.get(end)) for end in ("low", "high"))
    wanted, confidence = (number(document.get(name)) for name in ("wanted_share", "confidence"))
    if low is None or high is None or wanted is None or confidence is None:
        return ""
    of = "courses" if part(document, "fidelity").get("is_trusted") is None else "nights"
    return (
        f"Of all {of} like this one {100 * low:.0f} to {100 * high:.0f} % keep to the bar, each "
        f"end {100 * confidence:.0f} % sure (Clopper-Pearson); {100 * wanted:.0f} % are wanted."
    )


def _cell(course: Fields, measure: Fields) -> dict[str, str]:
    numbers = part(part(course, "measures"), text(measure, "name"))
    return _ranged(numbers, text(measure, "unit"))


def _ranged(numbers: Fields, unit: str) -> dict[str, str]:
    """Return a median, and the range of nine seeds in ten if there is one."""
    low, high = (figure(numbers.get(end)) for end in ("p10", "p90"))
    value = f"{figure(numbers.get('median'))}{' ' + unit if unit else ''}"
    return {"value": value, "range": "" if low == high else f"{low} to {high}"}


def _broker(each: Fields) -> dict[str, Any]:
    return {
        "broker": text(each, "broker"),
        "planned": _ranged(part(each, "peak_percent"), "%"),
        "undisturbed": _ranged(part(each, "undisturbed"), "%"),
        "over": _ranged(part(each, "over_min"), "min"),
    }


def _remedy(each: Fields) -> dict[str, Any]:
    verdict = text(each, "verdict")
    return {
        "title": text(each, "title"),
        "event": text(each, "event"),
        "sign": _SIGNS.get(verdict, "~"),
        "tone": _TONES.get(verdict, "doubtful"),
        "kept": f"{figure(each.get('kept'))} of {figure(each.get('count'))}",
        "peak": _ranged(part(part(each, "measures"), "peak_percent"), "%"),
        "over": _ranged(part(part(each, "measures"), "over_min"), "min"),
    }


# ------------------------------------------------------------------ the picture


def _pictures(document: Fields) -> tuple[Markup, Markup]:
    wide, narrow = (
        Markup(within_page(chart_svg("rehearsal", _slots(document, form)), f"course-{form.name}"))
        for form in (WIDE, NARROW)
    )
    return wide, narrow


def _slots(document: Fields, form: Format) -> dict[str, Any]:
    minutes = (number(document.get("hours")) or 0.0) * 60.0
    since = (number(document.get("from_s")) or 0.0) / 60.0
    return {
        "$width": form.width - _AXIS_PX[form.name],
        "$height": 260 if form.name == "wide" else 200,
        "$x_domain": [-since, minutes - since],
        "$x_ticks": form.ticks,
        "$names": [_PLANNED, _UNDISTURBED],
        "$colours": list(_COLOURS),
        "datasets": {
            "courses": [
                point
                for name in (_UNDISTURBED, _PLANNED)
                for point in _points(document, name, minutes, since)
            ],
            "bar": [{"percent": part(document, "bar").get("peak_percent")}],
            "event": [{"minute": 0}],
        },
    }


def _points(document: Fields, name: str, minutes: float, since: float) -> list[dict[str, Any]]:
    course = part(part(part(document, "courses"), name), "course")
    ends = [course.get(end) or [] for end in ("p10", "median", "p90")]
    step = minutes / max(1, len(ends[0]))
    return [
        {"minute": (i + 1) * step - since, "name": name, "low": low, "median": middle, "high": high}
        for i, (low, middle, high) in enumerate(zip(*ends, strict=True))
    ]
