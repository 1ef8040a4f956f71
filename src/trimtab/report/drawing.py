"""A chart file with its values filled in → a drawing, as a file or as a part of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from trimtab.files.whole_files import write_whole

#: Version of Vega-Lite that draws: pinned, as another one may draw differently.
VEGA_LITE = "6.4"
#: Pixels of a picture by unit of the drawing.
_PNG_SCALE = 2.0


def draw(chart: dict[str, Any], path: Path) -> None:
    """Draw a chart, its data filled in, into a file, .svg or .png."""
    if path.suffix == ".png":
        png = _engine().vegalite_to_png(chart, vl_version=VEGA_LITE, scale=_PNG_SCALE)
        write_whole(path, png)
    else:
        write_whole(path, _engine().vegalite_to_svg(chart, vl_version=VEGA_LITE))


@cache
def start_engine() -> None:
    """Start what draws, if it has not, which takes three times as long as a drawing."""
    _engine().vegalite_to_svg({"mark": "point"}, vl_version=VEGA_LITE)


def chart_svg(name: str, slots: Mapping[str, Any]) -> str:
    """Return the drawing of a chart file of this package.

    Args:
        name: of the file in `charts`, without its endings.
        slots: values by the places that are named with a dollar sign, and `datasets`.
    """
    chart = files("trimtab.report").joinpath("charts", f"{name}.vl.json")
    spec = _filled(json.loads(chart.read_text(encoding="utf-8")), slots)
    spec["datasets"] |= slots["datasets"]
    svg: str = _engine().vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return svg


def _engine() -> Any:
    """Return what draws, loaded now: most commands draw nothing, and it need not be installed."""
    import vl_convert  # noqa: PLC0415  # as said above

    return vl_convert


def _filled(spec: Any, slots: Mapping[str, Any]) -> Any:
    """Put values in the places of a chart that are named with a dollar sign."""
    if isinstance(spec, dict):
        return {key: _filled(each, slots) for key, each in spec.items()}
    if isinstance(spec, list):
        return [_filled(each, slots) for each in spec]
    if isinstance(spec, str) and re.fullmatch(r"\$[a-z_]+", spec):
        return slots[spec]
    return spec


def within_page(svg: str, name: str) -> str:
    """Make a drawing part of a page.

    Its links lead to places of the page (the drawing library sets an address of its own
    before them), and the parts that it refers to get names of their own, since two drawings
    share the page.  What stands around it names it, so it is hidden from who does not see it.
    """
    svg = re.sub(r"<svg [^>]*", r'\g<0> aria-hidden="true"', svg, count=1)
    linked = re.sub(r'(xlink:href=")[^"#]*#', r"\1#", svg)
    apart = re.sub(r'(id="|url\(#)((?:clip|gradient)[^")]*)', rf"\1{name}-\2", linked)
    # A hundredth of a pixel cannot be seen; sixteen digits of it are half of the drawing.
    return re.sub(r' (?:d|transform|[xy]2?)="[^"]*"', _rounded, apart)


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(r"\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", attribute[0])
