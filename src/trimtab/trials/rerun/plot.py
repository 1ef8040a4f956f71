"""A comparison → a picture: every broker over time, really and simulated, and unloads by round.

How it looks stands in `charts/beside.vl.json`; here its data is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats
from trimtab.report.drawing import draw
from trimtab.trials.charts import DataRow, broker_lines, empty_chart, samples
from trimtab.trials.rerun.command import Rerun
from trimtab.trials.rerun.comparison import real_rate, real_usage
from trimtab.trials.rerun.simulated_leader import FreeRun

#: Samples that are drawn; there are no more pixels to tell them apart.
_SAMPLES_MAX = 420
#: Shedders that go by messages/s, and not by usage.
_BY_RATE = frozenset({"UniformLoadShedder"})


def plot(comparison: Rerun, path: Path) -> None:
    """Draw a comparison into a file, .svg or .png."""
    draw(chart(comparison), path)


def chart(comparison: Rerun) -> dict[str, Any]:
    """Return the chart, filled with a comparison."""
    spec = empty_chart("rerun", "beside")
    run, document = typical(comparison.free), comparison.document
    is_rate = document["strategies"]["shedding"] in _BY_RATE
    what = "messages/s" if is_rate else "usage, %"
    real: Floats | NDArray[np.float32] = real_usage(comparison.rebuilt)
    simulated: Floats | NDArray[np.float32] = run.usage
    if is_rate:
        real, simulated = real_rate(comparison.rebuilt, comparison.free), run.rate
    from_s = comparison.rebuilt.grid.from_s
    spec["datasets"] = {
        "real": _lines(comparison, real),
        "simulated": _lines(comparison, simulated),
        "events": [{"minute": event.time_s / 60} for event in comparison.rebuilt.world.events],
        "rounds_real": [
            {"minute": (each.time_s - from_s) / 60}
            for each in comparison.evidence.rounds
            if each.unloads
        ],
        "rounds_simulated": [
            {"minute": time_s / 60} for time_s in run.round_s[run.moved > 0].tolist()
        ],
        "unloads": [
            {"minute": (datetime.fromisoformat(row["time"]).timestamp() - from_s) / 60} | row
            for row in document["free"]["rounds"]
        ],
    }
    for view, who in zip(spec["vconcat"], ("real", f"simulated, seed {run.seed}"), strict=False):
        view["encoding"]["y"]["axis"]["title"] = f"{who}: {what}"
    last = comparison.rebuilt.world.duration_s / 60
    for view in spec["vconcat"]:
        view["encoding"]["x"]["scale"]["domain"] = [0, last]
    both = dict.fromkeys(document["strategies"][name] for name in ("shedding", "placement"))
    title = f"{document['recording']}: {' + '.join(both)}, real and simulated"
    spec["title"] = {"text": title, "subtitle": _subtitle(document["free"])}
    return spec


def typical(free: tuple[FreeRun, ...]) -> FreeRun:
    """Return the simulation whose number of unloads is the median, the first of several."""
    unloads = [int(each.moved.sum()) for each in free]
    middle = sorted(unloads)[(len(unloads) - 1) // 2]
    return free[unloads.index(middle)]


def _subtitle(free: Mapping[str, Any]) -> str:
    counts = [
        f"{name}: real {free[name]['real']}, simulated {free[name]['median']:g} "
        f"({free[name]['p10']:g} to {free[name]['p90']:g})"
        for name in ("triggers", "unloads")
    ]
    return f"{'; '.join(counts)}; {free['seeds']} seeds"


def _lines(comparison: Rerun, values: Floats | NDArray[np.float32]) -> list[DataRow]:
    drawn = samples(len(values), _SAMPLES_MAX)
    minutes = (np.arange(len(values)) + 1) * comparison.rebuilt.grid.tick_s / 60
    return broker_lines(minutes[drawn], comparison.evidence.brokers, values[drawn], "value")
