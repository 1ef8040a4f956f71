"""What traffic costs → a picture: each unit with its interval, and what each broker's CPU is for.

How it looks stands in `charts/costs.vl.json`; here its data is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trimtab.files.errors import TrimtabError
from trimtab.report.drawing import draw
from trimtab.trials.charts import DataRow, empty_chart, visible_value


class PictureError(TrimtabError, ValueError):
    """A picture cannot be made under a name; says which, and what is expected."""


def checked(path: Path | None) -> None:
    """Check that a picture can be made, before the time for all else is spent.

    Raises:
        PictureError: it cannot.
    """
    if path is None:
        return
    if path.suffix not in (".svg", ".png"):
        raise PictureError(f"--plot: found {path.name!r}, expected a name in .svg or .png")
    if not path.parent.is_dir():
        raise PictureError(f"--plot: found no folder {str(path.parent)!r}")


def plot(document: Mapping[str, Any], path: Path) -> None:
    """Draw what things cost into a file, .svg or .png."""
    draw(chart(document), path)


def chart(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chart, filled with what things cost."""
    spec = empty_chart("costs", "costs")
    units = {"all traffic of the median broker": document["traffic"], **document["units"]}
    spec["datasets"] = {
        "units": [
            {
                "unit": name,
                "value": price["value"],
                "low": price["low"],
                "high": price["high"],
                "told": "told by this night" if price["is_told"] else "not told",
            }
            for name, price in units.items()
        ],
        "brokers": [part for row in document["brokers"] for part in _parts(row)],
    }
    cores = f"{document['cores']:g}"
    subtitle = f"a host of {cores} cores; lines are the intervals of nine in ten"
    spec["title"] = {"text": f"{document['recording']}: what traffic costs", "subtitle": subtitle}
    return spec


def _parts(row: Mapping[str, Any]) -> Iterator[DataRow]:
    """Yield what a broker's CPU is for; what is explained beyond what it uses is not drawn."""
    left = max(row["cpu_percent"], 0.0)
    for place, (name, key) in enumerate(
        (("at rest", "rest_percent"), ("traffic", "traffic_percent"))
    ):
        part = min(row[key], left)
        left -= part
        yield {"broker": row["broker"], "for": name, "percent": visible_value(part), "place": place}
    yield {
        "broker": row["broker"],
        "for": "not explained",
        "percent": visible_value(left),
        "place": 2,
    }
