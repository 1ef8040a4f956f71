"""What both charts have: their sizes, the axis of time, rounds, the band, what people did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trimtab.files.assumed_day import day_number
from trimtab.report.moves import Move
from trimtab.report.rounds import Round
from trimtab.report.scene import Scene
from trimtab.report.series import microseconds, spread_apart, stretches
from trimtab.report.words import count, moment

#: Pixels that an arrow needs on average; where there are more, only the number of moves of
#: each round is drawn.
ARROW_SHARE = 5

#: Pixels between arrows of one round, and between those that carry a number.
ARROW = 10
ARROW_WITH_NUMBER = 22

#: Pixels that a line down from a round needs.
GUIDE = 12

#: Pixels between the marks of two rounds; of those that are nearer, the worst has one.
MARK = 4

#: Rounds by what they did, the least telling first.
TELLING = ("still", "unknown", "good", "doubtful", "useless")


@dataclass(frozen=True, slots=True)
class Format:
    """Sizes of one variant of a chart, in pixels."""

    name: Literal["wide", "narrow"]
    width: int
    height: int
    ticks: int
    #: Room for the names of the brokers: at the ends of the lines, before the rows.
    margin: int
    row_height: int
    name_size: int


WIDE = Format("wide", width=900, height=320, ticks=8, margin=100, row_height=15, name_size=11)
NARROW = Format("narrow", width=276, height=260, ticks=4, margin=4, row_height=11, name_size=9)


def common_slots(scene: Scene, form: Format) -> dict[str, Any]:
    """Fill the axis of time and the margins."""
    seconds = scene.span.seconds()
    # An assumed day is no date to show.
    is_clock = seconds < 129_600 or day_number(scene.span.start) is not None
    clock_format = "%H:%M:%S" if seconds < 300 else "%H:%M" if is_clock else "%-d %b %H:%M"
    return {
        "$width": form.width - (form.margin if form.name == "wide" else 0),
        "$x_domain": [iso(scene.span.start), iso(scene.span.end)],
        "$x_format": clock_format,
        "$x_ticks": form.ticks,
        "$actions_y": form.height + 34,
        "$stroke": max(1, min(3, round(0.6 * form.width / (len(scene.rounds) or 1), 1))),
    }


def common_data(scene: Scene, form: Format) -> dict[str, list[dict[str, Any]]]:
    """Return the band, the rounds and what people did."""
    marks = round_marks(scene, form)
    return {
        "band": _band(scene, form),
        "rounds": marks,
        # Lines down from the rounds help the eye as long as there is room between them.
        "guides": marks if len(marks) <= form.width / GUIDE else [],
        "tallies": _tallies(scene, form),
        "actions": _letters(scene, form),
    }


def _band(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Return the band in stretches; a single round is a short piece of it."""
    half = timedelta(seconds=7 * scene.span.seconds() / form.width)
    points: list[dict[str, Any]] = []
    times = np.array([microseconds(time) for time, _, _ in scene.band], np.int64)
    for stretch, places in enumerate(stretches(times)):
        band = scene.band[places]
        shifts = (-half, half) if len(band) == 1 else (timedelta(),)
        points += [
            {"time": iso(time + shift), "low": low, "high": high, "stretch": stretch}
            for time, low, high in band
            for shift in shifts
        ]
    return points


@dataclass(frozen=True, slots=True)
class Arrow:
    """Moves of one round with the same source, target and outcome."""

    #: Where it stands: arrows of one round stand side by side.
    time: datetime
    moves: tuple[Move, ...]

    @property
    def drawn(self) -> dict[str, Any]:
        """Return what every chart draws of it."""
        first = self.moves[0]
        return {
            "time": iso(self.time),
            "tone": first.tone,
            "source": first.source.id,
            "target": first.target.id if first.target else "",
            "times": f"×{len(self.moves)}" if len(self.moves) > 1 else "",
            "link": f"#{first.anchor}",
        }


def has_arrows(scene: Scene, form: Format) -> bool:
    """Return whether the moves are few enough for arrows."""
    return len(_groups(scene)) <= form.width / ARROW_SHARE


def _groups(scene: Scene) -> list[list[tuple[datetime, Move]]]:
    groups: dict[tuple[Any, ...], list[tuple[datetime, Move]]] = {}
    for time, move in scene.moves:
        round_or_time = time if move.round is None else move.round
        target = move.target.id if move.target else None
        key = (round_or_time, move.source.id, target, move.tone)
        groups.setdefault(key, []).append((time, move))
    return list(groups.values())


def arrows_of(scene: Scene, form: Format) -> list[Arrow]:
    """Join the moves to arrows, those of one round side by side."""
    if not has_arrows(scene, form):
        return []
    by_round: dict[Any, list[list[tuple[datetime, Move]]]] = {}
    for group in _groups(scene):
        time, move = group[0]
        by_round.setdefault(time if move.round is None else move.round, []).append(group)
    return [
        Arrow(groups[0][0][0] + shift, tuple(move for _, move in group))
        for groups in by_round.values()
        for group, shift in zip(groups, _shifts(groups, scene, form), strict=True)
    ]


def _shifts(
    groups: Sequence[Sequence[tuple[datetime, Move]]], scene: Scene, form: Format
) -> list[timedelta]:
    """Return how far from the time of its round each arrow stands."""
    has_number = any(len(group) > 1 for group in groups)
    pixels = ARROW_WITH_NUMBER if has_number else ARROW
    step = timedelta(seconds=pixels * scene.span.seconds() / form.width)
    return [(place - (len(groups) - 1) / 2) * step for place in range(len(groups))]


def _letters(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Return the letters of what people did, moved apart where they would cover each other."""
    marked = [each for each in scene.actions if each.letter]
    pixels = [scene.span.share(each.time) * form.width for each in marked]
    moved = spread_apart(pixels, 13)
    # What was pushed over the edge comes back as a block.
    over = max(0.0, (moved[-1] if moved else 0.0) - form.width)
    second = scene.span.seconds() / form.width
    return [
        {
            "time": iso(scene.span.start + timedelta(seconds=(x - over) * second)),
            "letter": a.letter,
            "description": f"{a.time:%H:%M:%S} {a.text}",
        }
        for a, x in zip(marked, moved, strict=True)
    ]


def iso(time: datetime) -> str:
    """Return a time as the charts read it."""
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def round_marks(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Mark the rounds above the chart: numbered where there is room, else as a dot."""
    timed = _apart(
        [(each, time) for each in scene.rounds if (time := moment(each.time)) is not None],
        scene,
        form,
    )
    pixels = [scene.span.share(time) * form.width for _, time in timed]
    gaps = [float("inf"), *(b - a for a, b in pairwise(pixels)), float("inf")]
    marks: list[dict[str, Any]] = []
    # What lies on top is drawn last: rounds that moved something hide those that did not.
    for position in sorted(range(len(timed)), key=lambda at: (bool(timed[at][0].moves), at)):
        each, time = timed[position]
        label = "" if each.number is None else str(each.number)
        across = 20 if len(label) < 3 else 7 * len(label) + 5
        has_room = min(gaps[position], gaps[position + 1]) >= across + 2
        moved = count(each.unloads, "move") if each.unloads else "nothing moved"
        marks.append(
            {
                "time": iso(time),
                "label": label if has_room else "",
                # Vega's size of a circle is the area of the square around it.
                "size": across**2 if has_room else 30 if each.moves else 5,
                "tone": each.tone,
                "link": f"#{each.anchor}",
                "description": f"{each.name}, {each.when}, {moved}",
            }
        )
    return marks


def _apart(
    timed: Sequence[tuple[Round, datetime]], scene: Scene, form: Format
) -> list[tuple[Round, datetime]]:
    """Of rounds that would lie on each other keep the most telling one."""
    columns = form.width // MARK
    if len(timed) <= columns:
        return list(timed)
    kept: dict[int, tuple[Round, datetime]] = {}
    for each, time in timed:
        column = int(scene.span.share(time) * columns)
        known = kept.get(column)
        if known is None or _telling(each) > _telling(known[0]):
            kept[column] = (each, time)
    return list(kept.values())


def _telling(each: Round) -> tuple[int, int]:
    return TELLING.index(each.tone), len(each.moves)


def _tallies(scene: Scene, form: Format) -> list[dict[str, Any]]:
    """Return the number of moves of each round, where they are too many for arrows."""
    if has_arrows(scene, form):
        return []
    busy = [(time, each) for each in scene.rounds if each.moves and (time := moment(each.time))]
    highest: dict[int, tuple[datetime, Round]] = {}
    for time, each in busy:
        column = int(scene.span.share(time) * form.width)
        if column not in highest or len(each.moves) > len(highest[column][1].moves):
            highest[column] = (time, each)
    most = max((len(each.moves) for _, each in busy), default=1)
    return [
        {
            "time": iso(time),
            "height": -28 - 36 * len(each.moves) / most,
            "link": f"#{each.anchor}",
        }
        for time, each in highest.values()
    ]
