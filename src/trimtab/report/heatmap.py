"""The heat map: a row a broker, a column a stretch of time, and every move from row to row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from trimtab.report.frame import (
    Arrow,
    Format,
    arrows_of,
    common_data,
    common_slots,
    has_arrows,
    iso,
)
from trimtab.report.moves import Move
from trimtab.report.raster import mark_pixels, usage_pixels
from trimtab.report.scene import Scene
from trimtab.report.series import Floats, Series, Span, ceiling, in_columns

#: Rows that can carry a name.  More brokers stand in order of their usage, without names.
NAMED_MAX = 60

#: Pixels of a column; narrower ones cannot be told apart.
COLUMN = 3

#: Height of the strip over the map, in pixels.
STRIP = 96

#: Height of a map whose rows have no names: no taller than a screen.
TALL = {"wide": 480, "narrow": 340}


@dataclass(frozen=True, slots=True)
class Rows:
    """Which brokers stand where."""

    #: From the top to the bottom.
    brokers: tuple[Series, ...]
    #: Neighbours that share a row, where there are more brokers than pixels.
    per_row: int
    #: Pixels of the whole map.
    height: int
    has_names: bool

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return -(-len(self.brokers) // self.per_row)


def heatmap_rows(series: Sequence[Series], form: Format) -> Rows:
    """Put brokers in rows: few in the order of the input, many by their usage, busiest on top."""
    if len(series) <= NAMED_MAX:
        return Rows(tuple(series), 1, form.row_height * len(series), has_names=True)
    height = TALL[form.name]
    ranked = sorted(series, key=lambda each: (-each.mean(), each.broker))
    return Rows(tuple(ranked), -(-len(ranked) // height), height, has_names=False)


def heatmap_slots(scene: Scene, form: Format) -> dict[str, Any]:
    """Fill the heat map, and over it the hottest broker and the mean."""
    chosen = heatmap_rows(scene.shown, form)
    left = form.margin if form.name == "wide" else 60
    width = form.width - (left if chosen.has_names else 44)
    columns = max(1, width // COLUMN)
    every = in_columns(chosen.brokers, scene.span, columns)
    peak, mean = _numbers(np.fmax.reduce(every, axis=0)), _numbers(_mean(every))
    row_of = {each.broker: at // chosen.per_row for at, each in enumerate(chosen.brokers)}
    return {
        **common_slots(scene, form),
        "$width": width,
        "$height": chosen.height,
        "$strip_height": STRIP,
        "$rows": chosen.count,
        "$y_max": ceiling(peak),
        "$name_size": form.name_size,
        "$actions_y": chosen.height + 34,
        "datasets": {
            **common_data(scene, form),
            "pictures": _pictures(scene, form, chosen, every, width),
            "gaps": [{"row": at} for at in range(1, chosen.count)] if chosen.has_names else [],
            "names": _names(scene, chosen),
            "peak": _line(peak, scene.span),
            "mean": _line(mean, scene.span),
            "moves": _marks(arrows_of(scene, form), row_of),
        },
    }


def _names(scene: Scene, chosen: Rows) -> list[dict[str, Any]]:
    """Name the rows; where they are too thin for that, number some of them."""
    if chosen.has_names:
        labels = [scene.brokers.named(each.broker).label for each in chosen.brokers]
        return [{"middle": at + 0.5, "label": _short(label)} for at, label in enumerate(labels)]
    brokers = len(chosen.brokers)
    ranks = [1, *(round(brokers * share / 4) for share in (1, 2, 3, 4))]
    return [{"middle": (rank - 0.5) / chosen.per_row, "label": f"{rank:,}"} for rank in ranks]


def _pictures(
    scene: Scene, form: Format, chosen: Rows, every: Floats, width: int
) -> list[dict[str, Any]]:
    """Draw the cells, and the moves where they are too many for arrows: all, then the useless."""
    groups = np.arange(0, len(every), chosen.per_row)
    pictures = [usage_pixels(np.fmax.reduceat(every, groups, axis=0))]
    if not has_arrows(scene, form):
        for is_useless in (False, True):
            moves = [each for each in scene.moves if (each[1].tone == "useless") is is_useless]
            pictures.append(_dots(scene, moves, chosen, width, is_useless=is_useless))
    return [{"url": each} for each in pictures]


def _dots(
    scene: Scene,
    moves: Sequence[tuple[datetime, Move]],
    chosen: Rows,
    width: int,
    *,
    is_useless: bool,
) -> str:
    """Draw where each move left and where it went."""
    share = chosen.height / len(chosen.brokers)
    place = {each.broker: int((at + 0.5) * share) for at, each in enumerate(chosen.brokers)}
    leaving, coming = [], []
    for time, move in moves:
        column = int(scene.span.share(time) * width)
        if move.source.id in place:
            leaving.append((column, place[move.source.id]))
        if move.target is not None and move.target.id in place:
            coming.append((column, place[move.target.id]))
    return mark_pixels((width, chosen.height), leaving, coming, is_useless=is_useless)


def _short(label: str) -> str:
    return label if len(label) <= 20 else f"{label[:9]}…{label[-10:]}"


def _mean(rows: Floats) -> Floats:
    """Return the mean of each column, of those of whom something is known."""
    is_known = np.isfinite(rows)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(is_known, rows, 0.0).sum(axis=0) / is_known.sum(axis=0)
    return mean


def _numbers(values: Floats) -> list[float | None]:
    return [None if math.isnan(each) else each for each in values.tolist()]


def _when(span: Span, share: float) -> str:
    return iso(span.start + timedelta(seconds=span.seconds() * share))


def _line(usages: Sequence[float | None], span: Span) -> list[dict[str, Any]]:
    return [
        {"time": _when(span, column / len(usages)), "usage": usage}
        for column, usage in enumerate(usages)
        if usage is not None
    ]


def _marks(arrows: Sequence[Arrow], row_of: dict[str, int]) -> list[dict[str, Any]]:
    """Return the arrows from row to row; a broker that has none is at the bottom edge."""
    marks: list[dict[str, Any]] = []
    edge = max(row_of.values(), default=0)
    for arrow in arrows:
        drawn = arrow.drawn
        source = row_of.get(drawn["source"], edge) + 0.5
        target = row_of.get(drawn["target"], edge) + 0.5 if drawn["target"] else source
        marks.append({**drawn, "from": source, "to": target, "rises": target < source})
    return marks
