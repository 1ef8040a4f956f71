"""The section of the report with what each decision did, beside the best of as many moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, entries, part, text, whole
from trimtab.report.words import clock, count, number

#: Decisions drawn: of more, those that missed most.
DRAWN_MAX = 60
#: Decisions in the table; findings.json has all.
LISTED_MAX = 100
#: Pixels: of both drawings, and of the one of the frontier, which stands beside the other.
_HEIGHT = 132
_FRONTIER_WIDTH = {"wide": 190, "narrow": 226}
_AXIS = {"wide": 66, "narrow": 50}
_APART = 56

_WORDS = {
    "as-low-as-possible": ("good", "as low as possible"),
    "missed": ("useless", "missed"),
    "not-sure": ("doubtful", "missed or not: not beyond doubt"),
    "not-decidable": ("unknown", "not decidable"),
}


def section_of(findings: Fields) -> dict[str, Any] | None:
    """Gather what `regret_section.html.j2` shows, which the report includes.

    Args:
        findings: findings.json, whose `regret` is read.

    Returns:
        Its values; None if nobody judged, or nothing was moved.
    """
    regret = part(findings, "regret")
    all_rows = entries(regret, "decisions")
    if not regret or not (all_rows or entries(findings, "unloads")):
        return None
    done = [each for each in all_rows if part(each, "after")]
    drawn = _drawn(done)
    y_max = _ceiling([_percent(each, name) for each in drawn for name in ("before", "after")])
    worst = max(done, key=_gravity, default=None)
    return {
        "why_not": text(regret, "why_not"),
        "line": _line(regret, done, len(all_rows)),
        "best": _best(done) if done else "",
        "needed_percent": _needed_percent(regret),
        "worst": "" if worst is None or _missed(worst) < 0.5 else _worst(worst),
        "decisions": [_picture(drawn, form, y_max) for form in (WIDE, NARROW)] if drawn else [],
        "frontiers": [_frontier(worst, form, y_max) for form in (WIDE, NARROW)] if worst else [],
        "frontier_of": None if worst is None else whole(worst, "round"),
        "left_out": len(done) - len(drawn),
        "rows": [_row(each) for each in all_rows[:LISTED_MAX]],
        "rows_left_out": max(0, len(all_rows) - LISTED_MAX),
    }


def _line(regret: Fields, done: Sequence[Fields], n_decisions: int) -> str:
    """Return the answer in one sentence; empty if no decision is decidable."""
    if not done:
        return ""
    used, needed, low, high = (
        whole(regret, f"moves_{each}") or 0
        for each in ("used", "needed", "needed_low", "needed_high")
    )
    of = "" if len(done) == n_decisions else f" in {len(done)} of {n_decisions} rounds"
    would = "all" if needed == used else str(needed or "none")
    return (
        f"{count(used, 'move')}{of}: by the costs known then, {would} would have been needed to "
        f"bring the busiest broker as low (in eight cases of ten {_range(low, high)})."
    )


def _needed_percent(regret: Fields) -> float:
    """Return which part of the moves was needed, percent."""
    used, needed = (whole(regret, f"moves_{each}") or 0 for each in ("used", "needed"))
    return round(100.0 * needed / used, 1) if used else 0.0


def _best(done: Sequence[Fields]) -> str:
    """Return how many decisions could not have been better."""
    verdicts = [text(each, "verdict") for each in done]
    best, unsure = (verdicts.count(each) for each in ("as-low-as-possible", "not-sure"))
    surely, others = (" surely", f"; {unsure} may have") if unsure else ("", "")
    return (
        f"By the same costs {best or 'none'} of {count(len(done), 'round')}{surely} left it as low "
        f"as so many moves can{others}."
    )


def _worst(row: Fields) -> str:
    before, after, possible = (_percent(row, name) for name in ("before", "after", "possible"))
    missed = part(row, "missed")
    low, high = (number(missed.get(end)) or 0.0 for end in ("low", "high"))
    return (
        f"Round {whole(row, 'round')}: {before:.0f} → {after:.0f} %, {possible:.0f} % was "
        f"possible with {count(whole(row, 'moves') or 0, 'move')} "
        f"(missed by {_signed(low)} to {_signed(high)} points in eight cases of ten)."
    )


def _row(row: Fields) -> dict[str, Any]:
    """Return a decision as the table shows it."""
    tone, words = _WORDS.get(text(row, "verdict"), ("unknown", text(row, "verdict")))
    shown = {
        "round": whole(row, "round"),
        "when": clock(row.get("time")),
        "moves": whole(row, "moves") or 0,
        "tone": tone,
        "words": words,
        "why_not": text(row, "why_not"),
    }
    if not part(row, "after"):
        return {**shown, "change": "", "possible": "", "needed": ""}
    possible = part(row, "possible")
    low, high = (number(possible.get(end)) or 0.0 for end in ("low", "high"))
    needed = [whole(row, f"needed_{end}") or 0 for end in ("low", "high")]
    return {
        **shown,
        "change": f"{_percent(row, 'before'):.1f} → {_percent(row, 'after'):.1f} %",
        "possible": f"{_percent(row, 'possible'):.1f} % ({low:.1f} to {high:.1f})",
        "needed": f"{whole(row, 'needed') or 0} ({_range(*needed)})",
    }


def _drawn(done: Sequence[Fields]) -> list[Fields]:
    """Return the decisions that are drawn, in order of time."""
    kept = sorted(range(len(done)), key=lambda i: (-_missed(done[i]), i))[:DRAWN_MAX]
    return [done[i] for i in sorted(kept)]


def _picture(drawn: Sequence[Fields], form: Format, y_max: float) -> Markup:
    beside = _FRONTIER_WIDTH["wide"] + _APART if form.name == "wide" else 0
    labels = {place: str(whole(each, "round")) for place, each in enumerate(drawn)}
    slots = {
        "$width": form.width - _AXIS[form.name] - beside,
        "$height": _HEIGHT,
        "$y_max": y_max,
        "$x_label": f"{list(labels.values())}[datum.value]",
        "datasets": {
            "decisions": [
                {
                    "place": place,
                    "before": _percent(each, "before"),
                    "after": _percent(each, "after"),
                    "possible": _percent(each, "possible"),
                    "is_missed": text(each, "verdict") in {"missed", "not-sure"},
                    "is_sure": text(each, "verdict") == "missed",
                }
                for place, each in enumerate(drawn)
            ]
        },
    }
    return Markup(within_page(chart_svg("regret", slots), f"regret-{form.name}"))


def _frontier(row: Fields, form: Format, y_max: float) -> Markup:
    peaks, bounds = (_floats(row.get(name)) for name in ("frontier", "bounds"))
    last = len(peaks) - 1
    slots = {
        "$width": _FRONTIER_WIDTH[form.name],
        "$height": _HEIGHT,
        "$x_max": max(last, 1),
        "$x_values": sorted({0, last // 2, last}) if last > 1 else [0, 1],
        "$y_max": y_max,
        "datasets": {
            "frontier": [
                {"moves": moves, "peak": peak, "bound": bound}
                for moves, (peak, bound) in enumerate(zip(peaks, bounds, strict=False))
            ],
            "real": [{"moves": last, "after": _percent(row, "after"), "possible": peaks[-1]}]
            if peaks
            else [],
        },
    }
    return Markup(within_page(chart_svg("frontier", slots), f"frontier-{form.name}"))


def _gravity(row: Fields) -> tuple[bool, float]:
    """Return what orders decisions by how bad they are: beyond doubt first."""
    return text(row, "verdict") == "missed", _missed(row)


def _missed(row: Fields) -> float:
    return number(part(row, "missed").get("percent")) or 0.0


def _percent(row: Fields, name: str) -> float:
    return number(part(row, name).get("percent")) or 0.0


def _floats(values: object) -> list[float]:
    listed = values if isinstance(values, list | tuple) else ()
    return [each for value in listed if (each := number(value)) is not None]


def _ceiling(values: Sequence[float]) -> float:
    """Return the end of an axis of percent: the next ten."""
    return max(10.0, 10.0 * math.ceil(max(values, default=0.0) / 10.0))


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _signed(value: float) -> str:
    return f"{'−' if round(value, 1) < 0 else ''}{abs(value):.1f}"
