"""Reproductions in, the measured part of their page of the docs out, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.report.contenders import unit_of
from trimtab.report.input import Given, text
from trimtab.report.marks import markdown_table, opening
from trimtab.report.reproductions import Shown, headline, shown_of

#: Folder of the pictures, as seen from the page.
_PICTURES = "reproductions"


def reproductions_text(found: Given, date: str) -> str:
    """Lay out reproductions as Markdown.

    Args:
        found: as in `reproductions.json`.
        date: on which it was measured.
    """
    shown = shown_of(found)
    parts = [
        opening(found, date, headline(found)),
        markdown_table(
            ("experiment", "verdict"),
            (
                (f"[{each.title}](#{_anchor(each)})", f"{each.sign} {each.sentence}")
                for each in shown
            ),
        ),
        *(
            _experiment(each, text(given, "name"))
            for each, given in zip(shown, found["experiments"], strict=True)
        ),
    ]
    return "\n".join(parts)


def _experiment(shown: Shown, name: str) -> str:
    return "\n".join(
        [
            f"## {shown.title}\n",
            f"{shown.sign} **It {shown.sentence}.**\n",
            f"{shown.source}.",
            f"{shown.strategy}, Pulsar {shown.release}.",
            *([shown.remark] if shown.remark else []),
            "",
            markdown_table(
                ("arm", *(f"{each.title}{unit_of(each)}" for each in shown.numbers), "all at once"),
                _rows(shown),
            ),
            *(
                [f"![Usage and unloads of one run]({_PICTURES}/{name}.svg)\n\n{shown.caption}\n"]
                if shown.wide
                else []
            ),
        ]
    )


def _rows(shown: Shown) -> Iterator[tuple[str, ...]]:
    yield ("published", *(f"**{each.value}**" for each in shown.numbers), "")
    yield ("counts as reached", *(each.accepted for each in shown.numbers), "")
    for arm in shown.arms:
        cells = (f"{cell.sign} {cell.median} ({cell.range})" for cell in arm.cells)
        yield (f"{arm.sign} {arm.name}", *cells, arm.at_once)


def _anchor(shown: Shown) -> str:
    """Give the name that a heading has on a page: as GitHub and most others make it."""
    kept = (sign for sign in shown.title.lower() if sign.isalnum() or sign in " -_")
    return "".join(kept).replace(" ", "-")
