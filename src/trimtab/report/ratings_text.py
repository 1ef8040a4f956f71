"""A rating in, the measured part of its page of the docs out, as Markdown."""

from __future__ import annotations

from trimtab.report.input import Given, entries, text
from trimtab.report.marks import markdown_table, opening
from trimtab.report.ratings import Cell, headline, shown_of


def ratings_text(found: Given, date: str) -> str:
    """Lay out a rating as Markdown.

    Args:
        found: as in `ratings.json`.
        date: on which it was measured.
    """
    dimensions, strategies = shown_of(found)
    parts = [
        opening(found, date, headline(found)),
        "## The rating\n",
        markdown_table(
            ("strategy", *(each.name for each in dimensions)),
            ((f"**{each.name}**", *map(_cell, each.cells)) for each in strategies),
        ),
        "## Where it is not what was published\n",
        "".join(f"- {text(each, 'sentence')}\n" for each in entries(found, "disagreements"))
        or "Nowhere.\n",
        "## What each cell rests on\n",
        markdown_table(
            ("strategy", "dimension", "rows of outcomes.parquet"),
            (
                (each.name, dimension.name, cell.rows)
                for each in strategies
                for dimension, cell in zip(dimensions, each.cells, strict=True)
            ),
        ),
    ]
    return "\n".join(parts)


def _cell(cell: Cell) -> str:
    unsure = "?" if cell.is_unsure else ""
    published = f"<br>published: {cell.published}" if cell.published else ""
    return f"{cell.sign} **{cell.word}{unsure}** {cell.number}<br>{cell.range}{published}"
