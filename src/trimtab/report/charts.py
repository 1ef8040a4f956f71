"""The picture of the whole night: data for the chart files, and their drawing as SVG.

How a chart looks stands in `charts/*.vl.json`; here its data is filled in.  Colours are
variables of the style sheet, so that one drawing serves the light and the dark theme.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import vl_convert
from markupsafe import Markup

from trimtab.report.brokers import BROKERS_OF_HEATMAP_MIN, Broker, Brokers
from trimtab.report.drawing import VEGA_LITE
from trimtab.report.frame import NARROW, WIDE, Format, has_arrows
from trimtab.report.heatmap import heatmap_rows, heatmap_slots
from trimtab.report.input import Given
from trimtab.report.lines import line_slots
from trimtab.report.moves import Move
from trimtab.report.rounds import Round
from trimtab.report.scene import Action, scene_of

#: What the style sheet calls the pictures in a chart, in their order.
PICTURES = ("cells", "dots", "dots useless")


@dataclass(frozen=True, slots=True)
class Chart:
    """The picture, drawn twice, and what has to be said beside it."""

    kind: Literal["lines", "heatmap"]
    wide: Markup
    narrow: Markup
    actions: tuple[Action, ...]
    #: Whether the recording has no reports, so that only the leader's view is drawn.
    is_smoothed_only: bool
    has_smoothed: bool
    has_band: bool
    #: Whether the moves are few enough for arrows on a narrow screen, too.
    has_narrow_arrows: bool
    #: Moves too many to be drawn one by one.
    moves_summed: int
    #: The heat map's rows from the top to the bottom; empty for lines.
    rows: tuple[Broker, ...]
    #: Brokers that share a row of pixels, in the wide and in the narrow drawing.
    per_row: tuple[int, int]
    has_names: bool
    #: Milliseconds since 1970 at the left and at the right end.
    start_ms: int
    end_ms: int


def chart_of(
    picture: Given, rounds: Sequence[Round], moves: Sequence[Move], brokers: Brokers
) -> Chart | None:
    """Draw the picture; None if there is no usage to draw."""
    scene = scene_of(picture, rounds, moves, brokers)
    if scene is None:
        return None
    kind: Literal["lines", "heatmap"] = (
        "lines" if len(scene.shown) < BROKERS_OF_HEATMAP_MIN else "heatmap"
    )
    slots = line_slots if kind == "lines" else heatmap_slots
    wide_rows, narrow_rows = (heatmap_rows(scene.shown, form) for form in (WIDE, NARROW))
    ordered = wide_rows.brokers if kind == "heatmap" else ()
    rows = tuple(scene.brokers.named(each.broker) for each in ordered)
    wide, narrow = (drawn(kind, slots(scene, form), form) for form in (WIDE, NARROW))
    return Chart(
        kind=kind,
        wide=wide,
        narrow=narrow,
        actions=scene.actions,
        is_smoothed_only=not scene.raw,
        has_smoothed=bool(scene.smoothed),
        has_band=bool(scene.band),
        has_narrow_arrows=has_arrows(scene, NARROW),
        moves_summed=0 if has_arrows(scene, WIDE) else len(scene.moves),
        rows=rows,
        per_row=(wide_rows.per_row, narrow_rows.per_row),
        has_names=wide_rows.has_names,
        start_ms=round(scene.span.start.timestamp() * 1000),
        end_ms=round(scene.span.end.timestamp() * 1000),
    )


def start_engine() -> None:
    """Start what draws, which takes three times as long as a drawing."""
    vl_convert.vegalite_to_svg({"mark": "point"}, vl_version=VEGA_LITE)


def drawn(kind: Literal["lines", "heatmap"], slots: Mapping[str, Any], form: Format) -> Markup:
    """Fill a chart file and draw it."""
    chart = files("trimtab.report").joinpath("charts", f"usage-{kind}.vl.json")
    spec = filled(json.loads(chart.read_text(encoding="utf-8")), slots)
    spec["datasets"] = {**spec["datasets"], **slots["datasets"]}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    names = iter(PICTURES)
    svg = re.sub("<image ", lambda match: f'{match[0]}class="{next(names)}" ', svg)
    return Markup(within_page(svg, form.name))


def filled(spec: Any, slots: Mapping[str, Any]) -> Any:
    """Put values in the places of a chart that are named with a dollar sign."""
    if isinstance(spec, dict):
        return {key: filled(each, slots) for key, each in spec.items()}
    if isinstance(spec, list):
        return [filled(each, slots) for each in spec]
    if isinstance(spec, str) and spec.startswith("$") and key_is_slot(spec):
        return slots[spec]
    return spec


def key_is_slot(name: str) -> bool:
    """Return a place to fill from any other text."""
    return re.fullmatch(r"\$[a-z_]+", name) is not None


def within_page(svg: str, name: str) -> str:
    """Make a drawing part of a page.

    Its links lead to places of the page (the drawing library sets an address of its own
    before them), and the parts that it refers to get names of their own, since two drawings
    share the page.
    """
    linked = re.sub(r'(xlink:href=")[^"#]*#', r"\1#", svg)
    apart = re.sub(r'(id="|url\(#)((?:clip|gradient)[^")]*)', rf"\1{name}-\2", linked)
    # A hundredth of a pixel cannot be seen; sixteen digits of it are half of the drawing.
    return re.sub(r' (?:d|transform|[xy]2?)="[^"]*"', _rounded, apart)


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", attribute[0])
