"""A rating in, one self-contained HTML page out: nothing is computed but layout."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from trimtab.report.contenders import figure
from trimtab.report.input import Given, entries, part, text, texts, whole
from trimtab.report.render import asset, environment, policy
from trimtab.report.words import count, number

#: Word → how it is marked: a tone of the style sheet, and a sign.
TONES = {"good": ("good", "✓"), "fair": ("doubtful", "~"), "poor": ("useless", "✕")}


@dataclass(frozen=True, slots=True)
class Dimension:
    """One column."""

    name: str
    asks: str
    #: What is measured, in words, and up to where it is good and fair.
    measured: str
    thresholds: str
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy in one dimension."""

    word: str
    tone: str
    sign: str
    number: str
    range: str
    #: Another word is within the interval.
    is_unsure: bool
    published: str
    says: str
    is_other: bool
    #: Which rows of the outcomes it rests on.
    rows: str
    because: str


@dataclass(frozen=True, slots=True)
class Strategy:
    """One row."""

    name: str
    details: tuple[str, ...]
    cells: tuple[Cell, ...]


def render_ratings(found: Given) -> str:
    """Lay out a rating as a page.

    The same input gives the same bytes.

    Args:
        found: as in `ratings.json`.

    Returns:
        The text of an HTML file.
    """
    style = asset("report.css") + asset("comparison.css") + asset("reproductions.css")
    dimensions, strategies = shown_of(found)
    page = {
        "headline": headline(found),
        "where": (
            count(len(strategies), "strategy"),
            count(len(dimensions), "dimension"),
            count(whole(found, "seeds") or 0, "seed"),
        ),
        "dimensions": dimensions,
        "strategies": strategies,
        "disagreements": [text(each, "sentence") for each in entries(found, "disagreements")],
        "command": text(found, "command"),
        "version": text(found, "trimtab"),
        "seeds": whole(found, "seeds") or 0,
    }
    template = environment().get_template("ratings.html.j2")
    return template.render(**page, style=Markup(style), policy=policy(style, ""))


def shown_of(found: Given) -> tuple[list[Dimension], list[Strategy]]:
    """Read columns and rows as they are shown."""
    return (
        [_dimension(each) for each in entries(found, "dimensions")],
        [_strategy(each) for each in entries(found, "strategies")],
    )


def headline(found: Given) -> str:
    """Return how often the measured word is the published one."""
    cells = [cell for each in entries(found, "strategies") for cell in entries(each, "cells")]
    published = sum(bool(part(cell, "published")) for cell in cells)
    same = published - len(entries(found, "disagreements"))
    return (
        f"{count(len(cells), 'word')} measured; of {published} that were published, "
        f"{same} come out the same."
    )


def _dimension(given: Given) -> Dimension:
    good, fair = (number(given.get(name)) or 0.0 for name in ("good_to", "fair_to"))
    title, unit = text(given, "title"), text(given, "unit")
    named = f"{title}, {unit}" if unit else title
    return Dimension(
        name=text(given, "name"),
        asks=text(given, "asks"),
        measured=f"{named}. {text(given, 'definition')}",
        thresholds=f"good up to {good:g}, fair up to {fair:g}",
        scenarios=texts(given, "scenarios"),
    )


def _strategy(given: Given) -> Strategy:
    cells = entries(given, "cells")
    settings = part(part(cells[0], "rows"), "settings") if cells else {}
    return Strategy(
        name=text(given, "name"),
        details=tuple(f"{key} = {value}" for key, value in settings.items()),
        cells=tuple(map(_cell, cells)),
    )


def _cell(given: Given) -> Cell:
    word, published, rows = text(given, "word"), part(given, "published"), part(given, "rows")
    tone, sign = TONES.get(word, ("unknown", "?"))
    low, high = figure(given.get("low")), figure(given.get("high"))
    never, failed = whole(given, "never") or 0, whole(given, "failed") or 0
    said = text(published, "word")
    return Cell(
        word=word,
        tone=tone,
        sign=sign,
        number=figure(given.get("estimate")),
        range=low if low == high else f"{low} to {high}",
        is_unsure=given.get("is_sure") is False,
        published=said,
        says=text(published, "says"),
        is_other=bool(said) and said != word,
        rows=(
            f"{text(rows, 'number')} of {', '.join(texts(rows, 'scenarios'))}: "
            f"{count(whole(given, 'runs') or 0, 'row')}"
            f"{f', {never} never' if never else ''}{f', {failed} failed' if failed else ''}"
        ),
        because=text(given, "because"),
    )
