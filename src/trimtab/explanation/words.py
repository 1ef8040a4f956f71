"""What a word means: the page of a finding or a strategy, a section or a row of another page.

The pages are those of docs/, which the wheel brings along; the scenarios are files anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from trimtab.files.errors import TrimtabError

#: Words suggested where one is not known, and how alike they have to be, of 1.
_SUGGESTED = 3
_ALIKE = 0.6

_PACKAGE = Path(__file__).resolve().parent.parent
_SCENARIOS = _PACKAGE / "lab" / "scenarios"
_COMMENT = re.compile(r"(?s)<!--.*?-->\n?")
_HEADING = re.compile(r"\A\s*#+ (.+)\n+")
_LINK_WITHIN = re.compile(r"\[([^\]\n]+)\]\((?!https?:)[^)\s]+\)")
_TABLE = re.compile(r"(?m)(?:^\|.*\|$\n?)+")
_ROW = re.compile(r"(?m)^\|(.+)\|$")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


class WordError(TrimtabError):
    """A word that has no page; the message names the nearest that have one."""


def known_words() -> dict[str, dict[str, str]]:
    """Return every word that has a page: by what it is, by the word, the page in Markdown."""
    return {
        "finding": finding_pages(),
        "strategy": _by_page("strategies"),
        "setting": _by_row("settings.md", _setting),
        "outcome": _by_section("outcomes.md", "### "),
        "scenario": {path.stem: _scenario(path) for path in sorted(_SCENARIOS.glob("*.toml"))},
        "rule of lint": _by_section("lint.md", "### "),
        "log message": _by_section("log-messages.md", "## "),
        "table": _by_section("tables.md", "## "),
        "word of the glossary": _by_row("glossary.md", _glossary_entry),
    }


def finding_pages() -> dict[str, str]:
    """Return the page of every finding, in Markdown, by its code."""
    return _by_page("findings")


def pages_of(word: str, texts_by_kind: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the pages of a word, in Markdown; it may be a finding and a rule of lint at once.

    Args:
        word: what was asked for; capitals, hyphens and the package of a class do not count.
        texts_by_kind: as `known_words` returns them.

    Raises:
        WordError: nothing has this name.
    """
    letters = _letters(word.rpartition(".")[2])
    pages = [
        f"# {name}\n\n{kind.capitalize()}.\n\n{_for_terminal(text)}\n"
        for kind, texts in texts_by_kind.items()
        for name, text in texts.items()
        if _letters(name) == letters
    ]
    if pages:
        return pages
    names = {_letters(name): name for texts in texts_by_kind.values() for name in texts}
    close = get_close_matches(letters, names, n=_SUGGESTED, cutoff=_ALIKE)
    nearest = ", ".join(names[each] for each in close) or "none that is alike"
    raise WordError(f"found {word!r}, expected a word of `trimtab help`; nearest: {nearest}")


def _letters(name: str) -> str:
    """Return what two spellings of one name have in common."""
    return re.sub(r"[\W_]", "", name.lower())


def _for_terminal(text: str) -> str:
    """Return Markdown without what a terminal cannot show: links to other pages, wide tables."""
    return _TABLE.sub(_listed, _LINK_WITHIN.sub(r"\1", text)).strip()


def _listed(table: re.Match[str]) -> str:
    """Return a table as a list, with an entry for each row."""
    headings, *rows = _rows(table[0])
    entries = []
    for first, *others in rows:
        cells = zip(headings[1:], others, strict=True)
        entries.append("; ".join([first, *(f"{name}: {cell}" for name, cell in cells if cell)]))
    return "".join(f"- {entry}\n" for entry in entries)


def _rows(table: str) -> list[list[str]]:
    """Return the cells of a table in Markdown, without the line below its headings."""
    rows = [_BETWEEN_CELLS.split(row) for row in _ROW.findall(table)]
    cells = [[cell.strip().replace(r"\|", "|") for cell in row] for row in rows]
    return [row for row in cells if set("".join(row)) != {"-"}]


# ------------------------------------------------------- where pages come from


def _page(name: str) -> str:
    """Return the text of a page of docs/, without the recipes of what is generated."""
    # In a clone the pages lie beside the sources.
    brought = _PACKAGE / "docs" / name
    path = brought if brought.is_file() else _PACKAGE.parent.parent / "docs" / name
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))


def _by_page(folder: str) -> dict[str, str]:
    """Return the pages that the list of a folder names, by their headings."""
    pages = re.findall(r"(?m)^\| \[[^]]+\]\(([\w-]+\.md)\)", _page(f"{folder}/index.md"))
    return dict(_headed(_page(f"{folder}/{name}")) for name in pages)


def _headed(text: str) -> tuple[str, str]:
    """Return the heading of a page or a section, and the rest of it."""
    heading = _HEADING.match(text)
    assert heading is not None, f"no heading in {text[:80]!r}"
    return heading[1].strip("`"), text[heading.end() :]


def _by_section(page: str, mark: str) -> dict[str, str]:
    """Return the sections of a page by their headings, as far as these are names."""
    # A section ends where one of its own rank or of a higher one begins.
    _, *sections = re.split(rf"(?m)^(?={mark}|# |## )", _page(page))
    headed = [_headed(section) for section in sections if section.startswith(mark)]
    return {name: text for name, text in headed if re.fullmatch(r"[a-z][a-z0-9_-]*", name)}


def _by_row(page: str, text: Callable[[list[str]], str]) -> dict[str, str]:
    """Return what the rows of a page's table say, by their first cells."""
    _, *rows = _rows(_page(page))
    return {cells[0].strip("`"): text(cells) for cells in rows}


def _setting(cells: list[str]) -> str:
    """Return the page of a key of broker.conf."""
    _, default, unit, value, dynamic, decides = cells
    lines = (
        f"- Decides: {decides}.",
        f"- Default: {default}{f' ({unit})' if unit else ''}.",
        f"- Takes: {value}.",
        f"- Can be changed on a running cluster: {dynamic or 'no'}.",
    )
    return "\n".join(lines)


def _glossary_entry(cells: list[str]) -> str:
    """Return the page of a word of the glossary."""
    _, means, code = cells
    return f"{means}\n\nIn the code: {code or 'no name of its own'}."


def _scenario(path: Path) -> str:
    """Return the page of a scenario that trimtab brings: its file, which says what it asks."""
    return f"```toml\n{path.read_text(encoding='utf-8').strip()}\n```"
