"""The heat map: a row a broker, a column a stretch of time, joined where nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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
from trimtab.report.scene import Scene
from trimtab.report.series import Series, Span, ceiling, in_columns, runs

#: Rows that can be told apart on a page.  Of more brokers those with the highest usage and
#: the most moves have a row each, and the others share two.
ROWS_MAX = 60

#: Levels of colour: a tenth of usage each, the last one open to above.
LEVELS = 10

#: Pixels of a column; narrower ones cannot be told apart.
COLUMN = 7

#: Height of the strip over the map, in pixels.
STRIP = 96


@dataclass(frozen=True, slots=True)
class Rows:
    """Which brokers have a row, and how many share the last two."""

    own: tuple[Series, ...]
    others: tuple[Series, ...]

    @property
    def summed(self) -> int:
        """Number of brokers without a row of their own."""
        return len(self.others)


def heatmap_rows(series: Sequence[Series], moves: Sequence[tuple[datetime, Move]]) -> Rows:
    """Choose the brokers that have a row each; they stay in the order of the input."""
    if len(series) <= ROWS_MAX:
        return Rows(tuple(series), ())
    moved: dict[str, int] = {}
    for _, move in moves:
        for broker in (move.source, move.target):
            if broker is not None:
                moved[broker.id] = moved.get(broker.id, 0) + 1
    ranked = sorted(series, key=lambda each: (-moved.get(each.broker, 0), -each.peak()))
    chosen = {each.broker for each in ranked[: ROWS_MAX - 2]}
    return Rows(
        tuple(each for each in series if each.broker in chosen),
        tuple(each for each in series if each.broker not in chosen),
    )


def heatmap_slots(scene: Scene, form: Format) -> dict[str, Any]:
    """Fill the heat map: a row a broker, and over it the hottest one and the mean."""
    common = common_slots(scene, form)
    moves = scene.moves if has_arrows(scene, form) else ()
    width = form.width - (form.margin if form.name == "wide" else 60)
    chosen = heatmap_rows(scene.shown, moves)
    columns = max(1, width // COLUMN)
    every = [in_columns(each, scene.span, columns) for each in (*chosen.own, *chosen.others)]
    rows = every[: len(chosen.own)]
    labels = [scene.brokers.named(each.broker).label for each in chosen.own]
    if chosen.others:
        rest = every[len(chosen.own) :]
        labels += [f"{chosen.summed} others, highest", "their average"]
        rows = [*rows, _highest(rest), _mean(rest)]
    peak, mean = _highest(every), _mean(every)
    row_of = {each.broker: position for position, each in enumerate(chosen.own)}
    height = form.row_height * len(rows)
    return {
        **common,
        "$width": width,
        "$height": height,
        "$strip_height": STRIP,
        "$rows": len(rows),
        "$y_max": ceiling(peak),
        "$name_size": form.name_size,
        "$actions_y": height + 34,
        "datasets": {
            **common_data(scene, form),
            "cells": _cells(rows, scene.span, columns),
            "names": [
                {"middle": position + 0.5, "label": _short(label)}
                for position, label in enumerate(labels)
            ],
            "peak": _line(peak, scene.span),
            "mean": _line(mean, scene.span),
            "moves": _marks(arrows_of(scene, form), row_of, len(chosen.own)),
        },
    }


def _short(label: str) -> str:
    return label if len(label) <= 20 else f"{label[:9]}…{label[-10:]}"


def _highest(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [_of_column(column, sum_up=False) for column in zip(*rows, strict=True)]


def _mean(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [_of_column(column, sum_up=True) for column in zip(*rows, strict=True)]


def _of_column(column: Sequence[float | None], *, sum_up: bool) -> float | None:
    known = [usage for usage in column if usage is not None]
    if not known:
        return None
    return sum(known) / len(known) if sum_up else max(known)


def _level(usage: float | None) -> int | None:
    return None if usage is None else min(LEVELS - 1, max(0, int(usage * LEVELS)))


def _when(span: Span, share: float) -> str:
    return iso(span.start + timedelta(seconds=span.seconds() * share))


def _cells(
    rows: Sequence[Sequence[float | None]], span: Span, columns: int
) -> list[dict[str, Any]]:
    return [
        {
            "time": _when(span, first / columns),
            "until": _when(span, after / columns),
            "row": row + 0.04,
            "below": row + 0.96,
            "level": level,
        }
        for row, usages in enumerate(rows)
        for first, after, level in runs([_level(usage) for usage in usages])
    ]


def _line(usages: Sequence[float | None], span: Span) -> list[dict[str, Any]]:
    return [
        {"time": _when(span, column / len(usages)), "usage": usage}
        for column, usage in enumerate(usages)
        if usage is not None
    ]


def _marks(
    arrows: Sequence[Arrow], row_of: dict[str, int], shared_row: int
) -> list[dict[str, Any]]:
    """Give the arrows from row to row; brokers that share a row stand in it."""
    marks: list[dict[str, Any]] = []
    for arrow in arrows:
        drawn = arrow.drawn
        source = row_of.get(drawn["source"], shared_row) + 0.5
        target = row_of.get(drawn["target"], shared_row) + 0.5 if drawn["target"] else source
        marks.append({**drawn, "from": source, "to": target, "rises": target < source})
    return marks
