"""The picture of the whole night: data for the chart files, and their drawing as SVG.

How a chart looks stands in `charts/*.vl.json`; here its data is filled in.  Colours are
variables of the style sheet, so that one drawing serves the light and the dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from markupsafe import Markup

from trimtab.report.brokers import BROKERS_OF_HEATMAP_MIN, Brokers
from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format, has_arrows
from trimtab.report.heatmap import heatmap_rows, heatmap_slots
from trimtab.report.input import Fields
from trimtab.report.lines import line_slots
from trimtab.report.moves import Move
from trimtab.report.rounds import Round
from trimtab.report.scene import Scene, scene_of
from trimtab.report.words import count, lasting, percent

#: The letter of an event with what it stands for, as the drawing library writes it.
_EVENT = re.compile(r'<text aria-label="([^"]*)"([^>]*)>([^<]*)</text>')
#: What the style sheet calls the pictures in a chart, in their order.
PICTURES = ("cells", "dots", "dots useless")


def chart_of(
    picture: Fields, rounds: Sequence[Round], moves: Sequence[Move], brokers: Brokers
) -> dict[str, Any] | None:
    """Return the picture, drawn twice, and what is said beside it; None without any usage."""
    scene = scene_of(picture, rounds, moves, brokers)
    if scene is None:
        return None
    kind: Literal["lines", "heatmap"] = (
        "lines" if len(scene.shown) < BROKERS_OF_HEATMAP_MIN else "heatmap"
    )
    slots = line_slots if kind == "lines" else heatmap_slots
    wide_rows, narrow_rows = (heatmap_rows(scene.shown, form) for form in (WIDE, NARROW))
    ordered = wide_rows.brokers if kind == "heatmap" else ()
    wide, narrow = (drawn(kind, slots(scene, form), form) for form in (WIDE, NARROW))
    return {
        "kind": kind,
        "name": _name(scene),
        "wide": wide,
        "narrow": narrow,
        "actions": scene.actions,
        # The recording has no reports, so that only the leader's view is drawn.
        "is_smoothed_only": not scene.raw,
        "has_smoothed": bool(scene.smoothed),
        "has_band": bool(scene.band),
        # Whether the moves are few enough for arrows on a narrow screen, too.
        "has_narrow_arrows": has_arrows(scene, NARROW),
        # Moves too many to be drawn one by one.
        "moves_summed": 0 if has_arrows(scene, WIDE) else len(scene.moves),
        # The heat map's rows from the top to the bottom; empty for lines.
        "rows": [scene.brokers.named(each.broker) for each in ordered],
        # Brokers that share a row of pixels, in the wide and in the narrow drawing.
        "per_row": (wide_rows.per_row, narrow_rows.per_row),
        "has_names": wide_rows.has_names,
        # Milliseconds since 1970 at the left and at the right end.
        "start_ms": round(scene.span.start.timestamp() * 1000),
        "end_ms": round(scene.span.end.timestamp() * 1000),
    }


def _name(scene: Scene) -> str:
    """Return what the picture shows, for whoever does not see it."""
    highest = max(
        ((float(each.known().max()), each.broker) for each in scene.shown),
        default=None,
    )
    peak = ""
    if highest is not None:
        busiest = scene.brokers.named(highest[1]).label
        peak = f"; the highest was {percent(highest[0])}, of {busiest}"
    useless = sum(move.tone == "useless" for _, move in scene.moves)
    bad = f", {useless} of which did no good" if useless else ""
    return (
        f"Chart of the usage of {count(len(scene.shown), 'broker')} over "
        f"{lasting(scene.span.seconds())}; the highest was {percent(peak)}, of "
        f"{scene.brokers.named(busiest).label}. Over it {count(len(scene.rounds), 'round')} and "
        f"{count(len(scene.moves), 'move')}{bad}."
    )


def drawn(kind: Literal["lines", "heatmap"], slots: Mapping[str, Any], form: Format) -> Markup:
    """Fill a chart file and draw it."""
    svg = within_page(chart_svg(f"usage-{kind}", slots), form.name)
    names = iter(PICTURES)
    svg = re.sub("<image ", lambda match: f'{match[0]}class="{next(names)}" ', svg)
    svg = _EVENT.sub(r'<text class="event"\2><title>\1</title>\3</text>', svg)
    # The keys that walk through it need no stop at each of its links.
    return Markup(svg.replace("<a xlink:href", '<a tabindex="-1" xlink:href'))
