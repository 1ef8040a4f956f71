"""The chart of lines: few brokers, a line each, and every move as an arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trimtab.report.frame import Format, arrows_of, common_data, common_slots, iso
from trimtab.report.moves import Move
from trimtab.report.scene import Scene
from trimtab.report.series import Series, Span, ceiling, spread_apart, stretches, thinned
from trimtab.report.words import moment

#: Pixels between two signs of a broker on its smoothed line.
SIGN = 26


def line_slots(scene: Scene, form: Format) -> dict[str, Any]:
    """Fill the chart of lines: few brokers, a line each."""
    highest = [float(each.known().max()) for each in (*scene.raw, *scene.smoothed)]
    top = ceiling([*highest, *(high for _, _, high in scene.band)])
    known = [broker for broker in scene.brokers.all if broker.colour]
    return {
        **common_slots(scene, form),
        "$height": form.height,
        "$y_max": top,
        "$brokers": [broker.id for broker in known],
        "$colours": [f"var(--c{broker.colour})" for broker in known],
        "$shapes": [broker.shape for broker in known],
        "datasets": {
            **common_data(scene, form),
            "raw": _points(scene.raw, scene.span, form),
            "smoothed": _smoothed(scene, form),
            "signs": _signs(scene, form),
            "moves": _arrows(scene, form, top),
            "ends": _ends(scene, form, top),
        },
    }


def _points(series: Iterable[Series], span: Span, form: Format) -> list[dict[str, Any]]:
    """Return the points of lines; a new stretch begins where a broker was gone."""
    points: list[dict[str, Any]] = []
    for each in series:
        stretch = 0
        last: float | None = None
        for time, usage in thinned(each, span, form.width).points():
            shown = last if usage is None else usage
            if shown is not None:
                # The last value holds until the moment at which the broker was gone.
                row = {"time": iso(time), "broker": each.broker, "usage": shown}
                points.append({**row, "stretch": f"{each.broker} {stretch}"})
            stretch += usage is None
            last = usage
    return points


def _smoothed(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Return the smoothed lines, which do not reach over a long silence."""
    parts = [
        (each.part(cut), n)
        for each in scene.smoothed
        for n, cut in enumerate(stretches(each.times))
    ]
    return [
        {**point, "stretch": f"{n} {point['stretch']}"}
        for part, n in parts
        for point in _points((part,), scene.span, form)
    ]


def _signs(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Return the points of the smoothed lines that carry the broker's sign: not too near."""
    signs: list[dict[str, Any]] = []
    for each in scene.smoothed:
        last = -float(SIGN)
        for time, usage in each.points():
            x = scene.span.share(time) * form.width
            if usage is not None and x - last >= SIGN:
                signs.append({"time": iso(time), "broker": each.broker, "usage": usage})
                last = x
    return signs


def _arrows(scene: Scene, form: Format, top: float) -> list[dict[str, Any]]:
    """Return the moves as arrows from the usage of the source to that of the target.

    An arrow has no height where the usage of either is not known, and stands at the top where
    neither is.
    """
    by_broker = {each.broker: each for each in scene.shown}
    arrows: list[dict[str, Any]] = []
    for arrow in arrows_of(scene, form):
        time = moment(arrow.moves[0].time) or arrow.time
        start, end = _ends_of(arrow.moves[0], time, by_broker, top)
        arrows.append({**arrow.drawn, "from": start, "to": end, "rises": end > start})
    return arrows


def _ends_of(
    move: Move, time: datetime, series: Mapping[str, Series], top: float
) -> tuple[float, float]:
    """Return the usage of the source and of the target; the same twice where one is not known."""
    usages = [
        each.at(time) if broker and (each := series.get(broker.id)) else None
        for broker in (move.source, move.target)
    ]
    heights = [usage for usage in usages if usage is not None] or [top]
    return heights[0], heights[-1]


def _ends(scene: Scene, form: Format, top: float) -> list[dict[str, Any]]:
    """Name the lines at their right ends; on a narrow screen the legend does that."""
    if form.name == "narrow":
        return []
    last = [float(each.known()[-1]) for each in scene.shown]
    heights = spread_apart([form.height * (1 - usage / top) for usage in last], 15)
    return [
        {"broker": each.broker, "label": _cut(scene.brokers.named(each.broker).label), "y": y}
        for each, y in zip(scene.shown, heights, strict=True)
    ]


def _cut(label: str) -> str:
    return label if len(label) <= 14 else f"{label[:13]}…"
