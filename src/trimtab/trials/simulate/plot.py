"""A result → a picture: who stood where, what was moved, and how far brokers were apart.

How it looks stands in `charts/usage.vl.json`; here its data is filled in.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.files.errors import TrimtabError
from trimtab.lab.outcomes.balance import BAR_POINTS
from trimtab.lab.outcomes.level import level
from trimtab.lab.outcomes.spread import spread
from trimtab.pulsar.model import Floats
from trimtab.report.drawing import draw
from trimtab.trials.charts import DataRow, broker_lines, empty_chart, samples, visible_value
from trimtab.trials.simulate.history import happenings, short_brokers
from trimtab.trials.simulate.result import Result
from trimtab.trials.simulate.simulation import rounded

#: Brokers up to which each has a colour and a name, and up to which each has a line.
_COLOURS_MAX = 10
_LINES_MAX = 50
#: Moves up to which each is drawn; of more, only their number by minute.
_MOVES_MAX = 150
#: Samples that are drawn; there are no more pixels to tell them apart.
_SAMPLES_MAX = 430
#: The drawing's width, and what a letter of a label takes of it.
_WIDTH_PX = 860
_LETTER_PX = 6.2
_LABEL_ROWS = 2


class PlotError(TrimtabError, ValueError):
    """A picture cannot be made; says why."""


def check_plot(path: Path) -> None:
    """Check that a picture can be made, before the time for a run is spent.

    Raises:
        PlotError: the name ends in something else than .svg or .png, or there is no folder.
    """
    if path.suffix not in (".svg", ".png"):
        raise PlotError(f"--plot: found {path.name!r}, expected a name that ends in .svg or .png")
    if not path.parent.is_dir():
        raise PlotError(f"--plot: found no folder {str(path.parent)!r}")


def plot(answer: Result, path: Path) -> None:
    """Draw a result into a file, .svg or .png."""
    draw(chart(answer), path)


def chart(answer: Result) -> dict[str, Any]:
    """Return the chart, filled with a result."""
    spec = empty_chart("simulate", "usage")
    trajectory = answer.trajectory
    drawn = samples(len(trajectory.usage), _SAMPLES_MAX)
    minutes = (np.arange(len(trajectory.usage)) + 1) * trajectory.step_s / 60
    usage, at = trajectory.usage[drawn], minutes[drawn]
    if usage.shape[1] > _LINES_MAX:
        spec["datasets"] |= _bands(usage, at)
    else:
        names = short_brokers(trajectory.brokers)
        spec["datasets"]["lines"] = broker_lines(at, names, usage, "usage")
    if _COLOURS_MAX < usage.shape[1] <= _LINES_MAX:
        spec["datasets"]["mean"] = _series(at, {"usage": np.nanmean(usage, axis=1)})
        layers = spec["vconcat"][1]["layer"]
        lines = next(each for each in layers if each["data"]["name"] == "lines")
        lines["mark"] |= {"color": "#3b6fb6", "opacity": 0.35, "strokeWidth": 1}
        lines["encoding"] = {"y": {"field": "usage"}, "detail": {"field": "broker"}}
    levels, best = level(trajectory.usage, trajectory.step_s)[drawn], trajectory.best_spread[drawn]
    spec["datasets"] |= {
        "spread": _series(at, {"spread": spread(levels), "bar": best + BAR_POINTS}),
        "moves": _moves(answer),
        "unloads": _unloads(answer),
        "events": [{"minute": time_s / 60} for time_s, _ in happenings(answer)],
        "labels": _labels(answer),
    }
    title = f"{answer.experiment.question.scenario}: {answer.experiment.name}"
    spec["title"] = {"text": title, "subtitle": _subtitle(answer)}
    _fit(spec, float(minutes[-1]))
    return spec


def _fit(spec: dict[str, Any], minutes: float) -> None:
    """Fit axes to the data, and leave out layers that have none: a legend would tell of them."""
    views, data = spec["vconcat"], spec["datasets"]
    for view in views:
        view["encoding"]["x"]["scale"]["domain"] = [0, minutes]
    views[1]["layer"] = [each for each in views[1]["layer"] if data[each["data"]["name"]]]
    totals: dict[float, int] = {}
    for row in data["unloads"]:
        totals[row["minute"]] = totals.get(row["minute"], 0) + row["count"]
    most = max(totals.values(), default=1)
    y = views[2]["encoding"]["y"]
    y["scale"], y["axis"]["values"] = {"domain": [0, most]}, [0, most]
    spec["vconcat"] = views if data["labels"] else views[1:]


def _subtitle(answer: Result) -> str:
    outcomes, experiment = answer.outcomes, answer.experiment
    balance = outcomes["time_to_balance_min"]
    words = {True: "never balanced", False: f"balanced after {rounded(balance)} min"}
    sentence = "balance unknown" if math.isnan(balance) else words[math.isinf(balance)]
    return (
        f"Pulsar {experiment.balancer.release}, seed {experiment.question.seed}: {sentence},"
        f" {rounded(outcomes['unloads'])} unloads, {rounded(outcomes['wasted'])} of them wasted"
    )


def _series(at: Floats, columns: dict[str, NDArray[Any]]) -> list[DataRow]:
    return [
        {"minute": minute, **{n: visible_value(float(c[i])) for n, c in columns.items()}}
        for i, minute in enumerate(at.tolist())
    ]


def _bands(usage: NDArray[np.float32], at: Floats) -> dict[str, list[DataRow]]:
    """Return the bands and the median of all brokers, where one is known."""
    shares = {"all brokers": (0, 100), "nine in ten": (5, 95), "every other": (25, 75)}
    known = ~np.isnan(usage).all(axis=1)
    usage, at = usage[known], at[known]
    bands = [
        {"minute": minute, "brokers": name, "low": visible_value(low), "high": visible_value(high)}
        for name, ends in shares.items()
        for minute, low, high in zip(
            at.tolist(), *np.nanpercentile(usage, ends, axis=1).tolist(), strict=True
        )
    ]
    return {"bands": bands, "median": _series(at, {"usage": np.nanmedian(usage, axis=1)})}


def _moves(answer: Result) -> list[DataRow]:
    moves = answer.run.moves
    shed = np.flatnonzero(moves.round >= 0)
    if len(shed) > _MOVES_MAX:
        return []
    return [
        {
            "minute": float(moves.time_s[i]) / 60,
            "source": visible_value(float(moves.source_before[i])),
            "target": visible_value(float(moves.target_before[i])),
            "direction": _direction(answer, int(i)),
        }
        for i in shed
    ]


def _unloads(answer: Result) -> list[DataRow]:
    moves = answer.run.moves
    counts: dict[tuple[int, str], int] = {}
    for i in np.flatnonzero(moves.round >= 0).tolist():
        key = (int(moves.time_s[i] // 60), _direction(answer, i))
        counts[key] = counts.get(key, 0) + 1
    return [
        {"minute": minute, "minute_end": minute + 1, "direction": direction, "count": count}
        for (minute, direction), count in sorted(counts.items())
    ]


def _direction(answer: Result, i: int) -> str:
    moves = answer.run.moves
    is_wrong = moves.target_before[i] > min(moves.mean[i], moves.source_before[i])
    return "wrong" if is_wrong else "fine"


def _labels(answer: Result) -> list[DataRow]:
    """Return what happened, as far as there is room; where there is none, the line must do."""
    px_by_s = _WIDTH_PX / (len(answer.run.usage) * answer.run.tick_s)
    free_px = [0.0] * _LABEL_ROWS
    labels = []
    for time_s, text in happenings(answer):
        at_px = time_s * px_by_s
        row = next((row for row, px in enumerate(free_px) if px <= at_px), None)
        if row is not None:
            labels.append({"minute": time_s / 60, "row": row, "what": text})
            free_px[row] = at_px + _LETTER_PX * (len(text) + 2)
    return labels
