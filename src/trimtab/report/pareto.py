"""The picture of a comparison: what balance costs against how soon it is there, or how good.

How it looks stands in `charts/pareto.vl.json`; here its data is filled in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from trimtab.report.contenders import Contender
from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, part
from trimtab.report.words import number

#: Unloads from which on the axis is by roots, as a few hundred would hide what is below ten.
_ROOTS_FROM = 60.0
#: How far above the highest number the place for what never came is.
_NEVER_AT = 1.15
#: Names of marks closer than this, as a share of the axis, are written once, side by side.
_CLOSE = 0.035


@dataclass(frozen=True, slots=True)
class Axes:
    """Two measures, with what stands beside their axes."""

    across: str = "unloads"
    up: str = "time_to_balance_min"
    across_title: str = "unloads"
    up_title: str = "minutes to balance"


def pareto_of(
    contenders: Sequence[Contender], name: str, axes: Axes | None = None
) -> tuple[Markup, Markup] | None:
    """Draw the strategies of a scenario, wide and narrow; None if none has a run.

    Args:
        contenders: the strategies.
        name: tells the drawings from those of the page's other scenarios.
        axes: what is drawn against what; unloads against minutes to balance if nothing is said.
    """
    axes = axes or Axes()
    shown = [each for each in contenders if _ends(each, axes.across)[0] is not None]
    shown = [each for each in shown if part(each.measures, axes.up)]
    if not shown:
        return None
    return _drawn(shown, WIDE, name, axes), _drawn(shown, NARROW, name, axes)


def _drawn(shown: Sequence[Contender], form: Format, name: str, axes: Axes) -> Markup:
    svg = chart_svg("pareto", _slots(shown, form, axes))
    return Markup(within_page(svg, f"{name}-{form.name}"))


def _slots(shown: Sequence[Contender], form: Format, axes: Axes) -> dict[str, Any]:
    highest = [end for each in shown for end in _ends(each, axes.up) if end is not None]
    finite = [end for end in highest if end != float("inf")]
    y_max = max([*finite, 1.0])
    never = y_max * _NEVER_AT
    costs = [end for each in shown for end in _ends(each, axes.across) if end is not None]
    x_max = max([*costs, 1.0]) * 1.04
    points = [_point(each, never, axes) for each in shown]
    has_never = never in {point["y"] for point in points}
    return {
        "$x_title": axes.across_title,
        "$y_title": axes.up_title,
        "$width": form.width - 70 if form.name == "wide" else form.width - 30,
        "$height": form.height,
        "$x_max": x_max,
        "$x_scale": "sqrt" if x_max > _ROOTS_FROM else "linear",
        "$x_ticks": form.ticks,
        "$y_max": never * 1.04,
        "$y_values": [*_ticks(y_max), *([never] if has_never else [])],
        "$y_label": f"datum.value > {y_max} ? 'never' : datum.label",
        "$letters": [each.letter for each in shown],
        "$colours": [f"var(--c{each.colour})" if each.colour else "var(--ink)" for each in shown],
        "$shapes": [each.shape for each in shown],
        "datasets": {
            "points": points,
            "names": _names(points, lambda x: _share(x, x_max), never),
            "frontier": _frontier(points, never),
            "never": [{"y": never}] if has_never else [],
        },
    }


def _ends(contender: Contender, measure: str) -> tuple[float | None, float | None, float | None]:
    """Return estimate and interval of a measure; infinite is what never came."""
    median: Fields = part(part(contender.measures, measure), "median")
    estimate, low, high = (_float(median.get(key)) for key in ("estimate", "low", "high"))
    return estimate, low, high


def _float(value: object) -> float | None:
    return float("inf") if value == "Infinity" else number(value)


def _point(contender: Contender, never: float, axes: Axes) -> dict[str, Any]:
    """Return a mark with the interval of each axis; one that is not known is the mark itself."""
    x, x_low, x_high = _ends(contender, axes.across)
    y, y_low, y_high = (
        end if end is None else min(end, never) for end in _ends(contender, axes.up)
    )
    y = never if y is None else y
    return {
        "letter": contender.letter,
        "x": x,
        "x_low": x if x_low is None else x_low,
        "x_high": x if x_high is None else x_high,
        "y": y,
        "y_low": y if y_low is None else y_low,
        "y_high": y if y_high is None else y_high,
        "is_on_frontier": contender.is_on_frontier,
    }


def _share(x: float, x_max: float) -> float:
    """Return how far along its axis a number of unloads stands, 0 to 1."""
    return math.sqrt(x / x_max) if x_max > _ROOTS_FROM else x / x_max


def _names(
    points: Sequence[dict[str, Any]], share: Callable[[float], float], y_max: float
) -> list[dict[str, Any]]:
    """Write the letters of marks that lie on one another side by side."""
    names: list[dict[str, Any]] = []
    for point in points:
        near = (
            each
            for each in names
            if abs(share(each["x"]) - share(point["x"])) < _CLOSE
            and abs(each["y"] - point["y"]) < _CLOSE * y_max
        )
        neighbour = next(near, None)
        if neighbour is None:
            names.append({"x": point["x"], "y": point["y"], "name": point["letter"]})
        else:
            neighbour["name"] += f" {point['letter']}"
    return names


def _frontier(points: Sequence[dict[str, Any]], never: float) -> list[dict[str, Any]]:
    """Return the steps of the frontier, as far as balance comes at all."""
    on = [point for point in points if point["is_on_frontier"] and point["y"] < never]
    return sorted(({"x": point["x"], "y": point["y"]} for point in on), key=lambda each: each["x"])


def _ticks(y_max: float) -> list[float]:
    """Choose round numbers for the upright axis."""
    step = next(step for step in (1, 2, 5, 10, 20, 30, 60, 120, 240, 1e9) if y_max / step <= 7)
    return [step * i for i in range(int(y_max / step) + 1)]
