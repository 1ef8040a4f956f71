"""The picture of a published experiment, run again: data for the chart file, and its drawing.

How it looks stands in `charts/reproduction.vl.json`.  A picture that stands alone has the
colours of the light theme; one on a page has the page's.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markupsafe import Markup

from trimtab.report.drawing import chart_svg, within_page
from trimtab.report.frame import NARROW, WIDE, Format
from trimtab.report.input import Fields, entries, part
from trimtab.report.render import asset
from trimtab.report.words import number

#: Pixels beside the plot that its axis takes.
_AXIS_PX = {"wide": 66, "narrow": 60}
_HEIGHT_PX = {"wide": 240, "narrow": 190}
#: Percent of usage between the names of two published times.
_NAME_STEP = 8.0
_COLOURS = 11
#: Strokes and gaps of neighbouring lines, pixels: colour is not their only difference.
_DASHES = ((1, 0), (7, 3), (2, 2), (10, 3, 2, 3), (14, 4))


def pictures_of(experiment: Fields, name: str) -> tuple[Markup, Markup] | None:
    """Draw an experiment's run, wide and narrow; None if no run came to its end.

    Args:
        experiment: as in `reproductions.json`.
        name: tells the drawings from the others of the page.
    """
    picture = part(experiment, "picture")
    if not picture:
        return None
    wide, narrow = (
        Markup(within_page(_svg(picture, form), f"{name}-{form.name}")) for form in (WIDE, NARROW)
    )
    return wide, narrow


def picture_alone(experiment: Fields) -> str | None:
    """Draw an experiment's run as a file of its own; None if no run came to its end."""
    picture = part(experiment, "picture")
    if not picture:
        return None
    svg = re.sub(
        r"var\((--[a-z0-9-]+)\)",
        lambda match: _light()[match[1]],
        _svg(picture, WIDE),
    )
    ground = f'<rect width="100%" height="100%" fill="{_light()["--card"]}"/>'
    shown = within_page(svg, "alone").replace(' aria-hidden="true"', "", 1)
    # Behind everything: the first thing within the drawing.
    return re.sub(r"(<svg[^>]*>)", rf"\1{ground}", shown, count=1) + "\n"


def names_of(experiment: Fields) -> list[tuple[str, int, str]]:
    """Name the lines of the picture, each with the number of its colour and its strokes."""
    shown = [str(each["name"]) for each in entries(part(experiment, "picture"), "series")]
    return [
        (name, place % _COLOURS + 1, " ".join(map(str, _DASHES[place % len(_DASHES)])))
        for place, name in enumerate(shown)
    ]


def _svg(picture: Fields, form: Format) -> str:
    return chart_svg("reproduction", _slots(picture, form))


def _slots(picture: Fields, form: Format) -> dict[str, Any]:
    minutes = [minute for each in picture["minutes"] if (minute := number(each)) is not None]
    series, unloads = entries(picture, "series"), entries(picture, "unloads")
    published = sorted(entries(picture, "published"), key=lambda each: float(each["minute"]))
    names = [name for name, *_ in names_of({"picture": picture})]
    most = max([int(each["count"]) for each in unloads], default=1)
    return {
        "$width": form.width - _AXIS_PX[form.name],
        "$height": _HEIGHT_PX[form.name],
        "$x_domain": [min(minutes, default=0.0), max(minutes, default=1.0)],
        "$x_ticks": form.ticks,
        "$names": names,
        "$colours": [f"var(--c{place % _COLOURS + 1})" for place in range(len(names))],
        "$dashes": [_DASHES[place % len(_DASHES)] for place in range(len(names))],
        "$most": most,
        "datasets": {
            "usage": [
                {"minute": minute, "name": each["name"], "usage": usage}
                for each in series
                for minute, usage in zip(minutes, each["usage"], strict=True)
            ],
            "unloads": [dict(each) for each in unloads],
            "published": [
                {
                    "minute": each["minute"],
                    "title": f"published: {each['title']}",
                    "y": 100 - _NAME_STEP * place,
                }
                for place, each in enumerate(published)
            ],
            "event": [{"minute": 0}],
        },
    }


@cache
def _light() -> dict[str, str]:
    """Read the colours of the light theme out of the style sheet."""
    light = asset("report.css").partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"(--[a-z0-9-]+): ([^;]+);", light))
