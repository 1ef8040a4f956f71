"""A rating in; out one self-contained HTML page, or the measured part of its page of the docs."""

from __future__ import annotations

from typing import Any

from trimtab.report.contenders import between, figure, toned
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.marks import markdown_table, opening
from trimtab.report.render import rendered
from trimtab.report.words import count, number

#: Word → how it is marked: a tone of the style sheet, and a sign.
TONES = toned("good", "fair", "poor")


def render_ratings(rating: Fields) -> str:
    """Return the page of a rating, as in `ratings.json`."""
    dimensions, strategies = _columns(rating), _rows(rating)
    page = {
        "headline": text(rating, "answer"),
        "published": _published(rating),
        "where": (
            count(len(strategies), "strategy"),
            count(len(dimensions), "dimension"),
            count(whole(rating, "seeds") or 0, "seed"),
        ),
        "dimensions": dimensions,
        "strategies": strategies,
        "disagreements": [text(each, "sentence") for each in entries(rating, "disagreements")],
        "command": text(rating, "command"),
        "version": text(rating, "trimtab"),
        "seeds": whole(rating, "seeds") or 0,
    }
    return rendered("ratings.html.j2", page, "reproductions.css")


def ratings_text(rating: Fields, date: str) -> str:
    """Return a rating, as in `ratings.json` and measured on a date, as Markdown."""
    dimensions, strategies = _columns(rating), _rows(rating)
    parts = [
        opening(rating, date, f"{text(rating, 'answer')}\n{_published(rating)}"),
        "## The rating\n",
        markdown_table(
            ("strategy", *(each["name"] for each in dimensions)),
            ((f"**{each['name']}**", *map(_cell_text, each["cells"])) for each in strategies),
        ),
        "## Where it is not what was published\n",
        "".join(f"- {text(each, 'sentence')}\n" for each in entries(rating, "disagreements"))
        or "Nowhere.\n",
        "## What each cell rests on\n",
        markdown_table(
            ("strategy", "dimension", "rows of outcomes.parquet"),
            (
                (each["name"], dimension["name"], cell["rows"])
                for each in strategies
                for dimension, cell in zip(dimensions, each["cells"], strict=True)
            ),
        ),
    ]
    return "\n".join(parts)


def _cell_text(cell: Fields) -> str:
    unsure = "?" if cell["is_unsure"] else ""
    published = f"<br>published: {cell['published']}" if cell["published"] else ""
    word = f"{cell['sign']} **{cell['word']}{unsure}**"
    return f"{word} {cell['number']}<br>{cell['range']}{published}"


def _published(rating: Fields) -> str:
    """Return how often the measured word is the published one."""
    cells = [cell for each in entries(rating, "strategies") for cell in entries(each, "cells")]
    published = sum(bool(part(cell, "published")) for cell in cells)
    same = published - len(entries(rating, "disagreements"))
    return (
        f"{count(len(cells), 'word')} measured; of {published} that were published, "
        f"{same} come out the same."
    )


def _columns(rating: Fields) -> list[dict[str, Any]]:
    """Return what is measured in each dimension, in words, and up to where it is good and fair."""
    columns = []
    for each in entries(rating, "dimensions"):
        good, fair = (number(each.get(name)) or 0.0 for name in ("good_to", "fair_to"))
        title, unit = text(each, "title"), text(each, "unit")
        named = f"{title}, {unit}" if unit else title
        columns.append(
            {
                "name": text(each, "name"),
                "asks": text(each, "asks"),
                "measured": f"{named}. {text(each, 'definition')}",
                "thresholds": f"good up to {good:g}, fair up to {fair:g}",
                "scenarios": texts(each, "scenarios"),
            }
        )
    return columns


def _rows(rating: Fields) -> list[dict[str, Any]]:
    """Return the strategies, each with a cell for every dimension."""
    rows = []
    for each in entries(rating, "strategies"):
        cells = entries(each, "cells")
        settings = part(part(cells[0], "rows"), "settings") if cells else {}
        details = [f"{key} = {value}" for key, value in settings.items()]
        rows.append({"name": text(each, "name"), "details": details, "cells": [*map(_cell, cells)]})
    return rows


def _cell(fields: Fields) -> dict[str, Any]:
    """Return one strategy in one dimension: a word, its number, and which rows it rests on."""
    word, published, rows = text(fields, "word"), part(fields, "published"), part(fields, "rows")
    tone, sign = TONES.get(word, ("unknown", "?"))
    never, failed = whole(fields, "never") or 0, whole(fields, "failed") or 0
    published_word = text(published, "word")
    return {
        "word": word,
        "tone": tone,
        "sign": sign,
        "number": figure(fields.get("estimate")),
        "range": between(fields.get("low"), fields.get("high")),
        # Another word is within the interval.
        "is_unsure": fields.get("is_sure") is False,
        "published": published_word,
        "says": text(published, "says"),
        "is_other": bool(published_word) and published_word != word,
        "rows": (
            f"{text(rows, 'number')} of {', '.join(texts(rows, 'scenarios'))}: "
            f"{count(whole(fields, 'runs') or 0, 'row')}"
            f"{f', {never} never' if never else ''}{f', {failed} failed' if failed else ''}"
        ),
        "because": text(fields, "because"),
    }
