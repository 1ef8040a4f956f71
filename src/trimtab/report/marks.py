"""The part of a page of the docs that a command has measured: found between two marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trimtab.files.errors import TrimtabError
from trimtab.report.input import Fields, text, whole

BEGINS = "<!-- measured -->"
ENDS = "<!-- end of what was measured -->"


class NoMarksError(TrimtabError, ValueError):
    """A page has no place for what was measured."""


def replaced(page: str, part: str) -> str:
    """Put what was measured into its place on a page.

    Raises:
        NoMarksError: the page does not have both marks, once each and in this order.
    """
    if page.count(BEGINS) != 1 or page.count(ENDS) != 1 or page.index(BEGINS) > page.index(ENDS):
        raise NoMarksError(f"expected {BEGINS} and behind it {ENDS}, once each")
    before, _, rest = page.partition(BEGINS)
    return f"{before}{BEGINS}\n\n{part.strip()}\n\n{ENDS}{rest.partition(ENDS)[2]}"


def opening(document: Fields, date: str, headline: str) -> str:
    """Return when and how it was measured, without the folder that somebody wrote into."""
    command = text(document, "command").partition(" -o ")[0]
    return (
        f"Measured on {date} with trimtab {text(document, 'trimtab')} over "
        f"{whole(document, 'seeds')} seeds:\n\n```\n{command}\n```\n\n{headline}\n"
    )


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(map(_cell, cells))} |\n" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
