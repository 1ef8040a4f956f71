"""The site's navigation: the doors, behind each the pages that it lists, in its order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tools.site.staging import DOORS, listed

#: A title with a page, or with the pages below it; a heading's own page stands among those bare.
Entry = str | dict[str, "str | list[Entry]"]

_TITLE = re.compile(r"(?m)^# (.+)$")


def navigation(pages: Path) -> list[Entry]:
    """Return the navigation of the site whose pages lie in a folder."""
    return [{"Home": "index.md"}, *(_entry(pages, f"{door}/index.md") for door in DOORS)]


def unlisted(pages: Path) -> list[str]:
    """Return the pages to which no door leads."""
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    return sorted(there - set(_paths(navigation(pages))))


def _entry(pages: Path, page: str) -> Entry:
    """Return a page, or with the name `index.md` a heading over the pages that it lists."""
    text = (pages / page).read_text(encoding="utf-8")
    title = _TITLE.search(text)
    if title is None:
        raise ValueError(f"{page}: found no heading, expected a line that begins with `# `")
    if not page.endswith("/index.md"):
        return {title[1]: page}
    return {title[1]: [page, *(_entry(pages, path) for path in listed(page, text))]}


def _paths(entries: Sequence[Entry]) -> list[str]:
    """Return the pages of a navigation, in its order."""
    paths: list[str] = []
    for entry in entries:
        for below in [entry] if isinstance(entry, str) else entry.values():
            paths += [below] if isinstance(below, str) else _paths(below)
    return paths
