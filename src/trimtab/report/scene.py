"""Everything that the picture shows, read from the input, before it has a size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from trimtab.report.brokers import Brokers, shortened
from trimtab.report.input import Fields, entries, part, text
from trimtab.report.moves import Move
from trimtab.report.rounds import Round
from trimtab.report.series import Series, Span, reported_series, series_of, span_of
from trimtab.report.words import moment, number

#: Letters for what people did.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that people did to the cluster."""

    time: datetime
    #: Its mark in the chart; empty if there are more than letters.
    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that is drawn, before it has a size."""

    raw: tuple[Series, ...]
    smoothed: tuple[Series, ...]
    band: tuple[tuple[datetime, float, float], ...]
    rounds: tuple[Round, ...]
    moves: tuple[tuple[datetime, Move], ...]
    actions: tuple[Action, ...]
    brokers: Brokers
    span: Span

    @property
    def shown(self) -> tuple[Series, ...]:
        """What brokers reported, or if nothing is known of that, what the leader made of it."""
        return self.raw or self.smoothed


def scene_of(
    picture: Fields, rounds: Sequence[Round], moves: Sequence[Move], brokers: Brokers
) -> Scene | None:
    """Gather what is drawn; None if there is no usage to draw."""
    raw = _known(reported_series(part(picture, "reported")))
    smoothed = _known(series_of(entries(picture, "smoothed")))
    placed = _placed(picture, moves)
    times = [time for each in (*raw, *smoothed) for time in each.ends()]
    times += [time for time, _ in placed]
    span = span_of(times)
    if span is None or not (raw or smoothed):
        return None
    if not span.seconds():
        span = Span(span.start - timedelta(seconds=30), span.end + timedelta(seconds=30))
    return Scene(
        raw=raw,
        smoothed=smoothed,
        band=_band(picture),
        rounds=tuple(each for each in rounds if _within(span, moment(each.time))),
        moves=placed,
        actions=_actions(picture, span, brokers),
        brokers=brokers,
        span=span,
    )


def _known(series: Iterable[Series]) -> tuple[Series, ...]:
    return tuple(each for each in series if each.known().size)


def _band(picture: Fields) -> tuple[tuple[datetime, float, float], ...]:
    points = (
        (moment(each.get("time")), number(each.get("low")), number(each.get("high")))
        for each in entries(picture, "band")
    )
    return tuple(
        sorted(
            (time, low, high)
            for time, low, high in points
            if time is not None and low is not None and high is not None
        )
    )


def _within(span: Span, time: datetime | None) -> bool:
    return time is not None and span.start <= time <= span.end


def _placed(picture: Fields, moves: Sequence[Move]) -> tuple[tuple[datetime, Move], ...]:
    """Return the time at which each move is drawn: the picture's, or else its own."""
    drawn_at = {text(each, "id"): moment(each.get("time")) for each in entries(picture, "unloads")}
    times = ((drawn_at.get(move.anchor) or moment(move.time), move) for move in moves)
    known = [(time, move) for time, move in times if time is not None]
    return tuple(sorted(known, key=lambda each: each[0]))


def _actions(picture: Fields, span: Span, brokers: Brokers) -> tuple[Action, ...]:
    done = [
        (time, shortened(text(each, "text"), brokers))
        for each in entries(picture, "actions")
        if (time := moment(each.get("time"))) is not None and _within(span, time)
    ]
    ordered = sorted(done)
    letters = LETTERS if len(ordered) <= len(LETTERS) else ""
    return tuple(
        Action(time, letters[position] if letters else "", what)
        for position, (time, what) in enumerate(ordered)
    )
