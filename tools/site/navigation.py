"""The site's navigation: the doors, behind each the pages that it lists, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.site.staging import DOORS, listed

#: A title with a page, or with the pages below it; a heading's own page stands among those bare.
Entry = str | dict[str, "str | list[Entry]"]


def navigation(pages: Path) -> list[Entry]:
    """Return the navigation of the site whose pages lie in a folder."""
    doors = {f"{door}/index.md": door.replace("-", " ").capitalize() for door in DOORS}
    return [{"Home": "index.md"}, *(_entry(pages, *door) for door in doors.items())]


def unlisted(pages: Path) -> list[str]:
    """Return the pages to which no door leads."""
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    return sorted(there - set(_paths(navigation(pages))))


def _entry(pages: Path, page: str, title: str) -> Entry:
    """Return a page, or with the name `index.md` a heading over the pages that it lists."""
    if not page.endswith("/index.md"):
        return {title: page}
    below = listed(page, (pages / page).read_text(encoding="utf-8"))
    return {title: [page, *(_entry(pages, *each) for each in below.items())]}


def _paths(entries: Sequence[Entry]) -> list[str]:
    """Return the pages of a navigation, in its order."""
    paths: list[str] = []
    for entry in entries:
        for below in [entry] if isinstance(entry, str) else entry.values():
            paths += [below] if isinstance(below, str) else _paths(below)
    return paths
