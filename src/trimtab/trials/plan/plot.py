"""What is planned → a picture: how low the peak may come with each number of moves.

How it looks stands in `charts/frontier.vl.json`; here its data is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.report.drawing import draw
from trimtab.trials.charts import empty_chart


def plot(document: Mapping[str, Any], path: Path) -> None:
    """Draw how low the peak may come into a file, .svg or .png."""
    draw(chart(document), path)


def chart(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chart, filled with what is planned."""
    spec = empty_chart("plan", "frontier")
    count, curve = document["recommended"], document["frontier"]
    spec["datasets"] = {
        "curve": [{key: round(value, 2) for key, value in row.items()} for row in curve],
        "recommended": [
            {
                "moves": count,
                "peak": round(curve[count]["peak"], 2),
                "label": f"{count} moves: {curve[0]['peak']:.0f} → {curve[count]['peak']:.0f} %",
            }
        ],
    }
    when = f"the peak of the next {document['hours']} hours" if document["hours"] else "the peak"
    costs = "learned" if document["costs"] == "learned" else "by the share of traffic"
    subtitle = f"costs {costs}; nine in ten lie in the band, no plan below the dashed line"
    spec["title"] = {
        "text": f"{document['cluster']}: how low {when} may come",
        "subtitle": subtitle,
    }
    return spec
