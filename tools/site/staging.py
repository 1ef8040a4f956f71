"""The pages as the site's generator takes them, with every link changed to where it leads there.

A page of docs/ may link to anything in the project.  The site has what lies in docs/, the pages
elsewhere that a door lists, and the sample reports; a link to anything else keeps its words and
leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path, PurePosixPath

#: The first page leads to these, and they to all others.
DOORS = ("start", "operate", "understand", "look-up")
#: Recordings whose report is in the site; a link to the folder of one leads to its report.
SAMPLES = ("threshold", "uniform", "avg")

_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
_LISTED = re.compile(r"(?m)^(?:- |\d+\. |\| ?)\[([^\]\n]*)\]\(([^)\s#]+\.md)\)")
_FENCED = re.compile(r"(?ms)^(```.*?^```$)")
_PICTURE = re.compile(
    r"""(?x) <picture>\s* <source\ [^>]*srcset="([^"]+)">\s*
    <img\ alt="([^"]+)"\ src="([^"]+)">\s* </picture>"""
)


def sample(recording: str) -> str:
    """Return where the report on a recording lies in the site."""
    return f"samples/{recording}.html"


def listed(page: str, text: str) -> dict[str, str]:
    """Return the pages that begin the lines of a page's lists and tables, with the links' words.

    Args:
        page: the path of the page, to which its links are relative.
        text: what stands on it.
    """
    links = [(_target(page, link), words) for words, link in _LISTED.findall(text)]
    titles: dict[str, str] = {}
    for path, words in links:
        titles.setdefault(path, words)
    return titles


def stage(root: Path, pages: Path) -> None:
    """Write what the site consists of, but for the sample reports, into a folder."""
    places = site_paths(root)
    for source, place in places.items():
        if (root / source).is_dir():
            continue
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".md"):
            text = (root / source).read_text(encoding="utf-8")
            (pages / place).write_text(linked(text, source, places), encoding="utf-8")
        else:
            shutil.copyfile(root / source, pages / place)


def site_paths(root: Path) -> dict[str, str]:
    """Return whatever the site has, by its path in the project: its path in the site."""
    files = sorted(path for path in (root / "docs").rglob("*") if path.is_file())
    inside = [path.relative_to(root / "docs").as_posix() for path in files]
    places = {f"docs/{path}": path for path in inside}
    for door in DOORS:
        page = f"docs/{door}.md"
        # The generator takes a page of this name for the heading of those behind it.
        places[page] = f"{door}/index.md"
        for path in listed(page, (root / page).read_text(encoding="utf-8")):
            # In small letters: README.md would be taken for a heading, too.
            places.setdefault(path, f"project/{path.lower().replace('/readme.md', '.md')}")
    return places | {f"recordings/{name}": sample(name) for name in SAMPLES}


def linked(text: str, page: str, places: dict[str, str]) -> str:
    """Return the text of a page with its links and pictures as they are in the site.

    Args:
        text: the page as it is in the project.
        page: where that is, from the project's root.
        places: what the site has, by its path in the project.
    """
    here = posixpath.dirname(places[page]) or "."

    def place(path: str) -> str | None:
        target = places.get(_target(page, path))
        return target and posixpath.relpath(target, here)

    def link(match: re.Match[str]) -> str:
        mark, words, address = match.groups()
        path, hash_, anchor = address.partition("#")
        if not path or "://" in path:
            return match[0]
        target = place(path)
        return f"{mark}[{words}]({target}{hash_}{anchor})" if target else words

    def picture(match: re.Match[str]) -> str:
        # The system's theme need not be the site's, which knows a picture's by its address.
        dark, words, light = match.groups()
        return f"![{words}]({place(light)}#only-light)![{words}]({place(dark)}#only-dark)"

    parts = _FENCED.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = _PICTURE.sub(picture, _LINK.sub(link, parts[i]))
    return "".join(parts)


def _target(page: str, link: str) -> str:
    """Return the path to which a link on a page leads, from the same root as the page's."""
    return posixpath.normpath(str(PurePosixPath(page).parent / link))
