"""Draws a chart of Vega-Lite into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import vl_convert

from trimtab.files.whole_files import write_whole

#: Version of Vega-Lite that draws: pinned, as another one may draw differently.
VEGA_LITE = "6.4"
#: Pixels of a picture by unit of the drawing.
_PNG_SCALE = 2.0


def draw(chart: dict[str, Any], path: Path) -> None:
    """Draw a chart, its data filled in, into a file, .svg or .png."""
    if path.suffix == ".png":
        png = vl_convert.vegalite_to_png(chart, vl_version=VEGA_LITE, scale=_PNG_SCALE)
        write_whole(path, png)
    else:
        write_whole(path, vl_convert.vegalite_to_svg(chart, vl_version=VEGA_LITE))
