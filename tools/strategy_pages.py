"""The pages of the strategies: each function returns Markdown, made from docstrings and tables.

What the code does not know, such as defects of Pulsar's classes, stands between the generated
parts of a page and is written by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.catalogue import code, defaults, first_line, table
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS
from trimtab.trials.decide import Question, decisions

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "strategies" / "examples"

_SECTION = re.compile(r"(Args|Returns|Raises|Properties|Quirks|Source|Example):")
# | AvgShedder | 4.0.8 | 355 | 1,776 | 346 | 189 | 0 |
_AGREEMENT = re.compile(r"(?m)^\| (\w+) \| ([\w.-]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|")

#: A strategy's function, and the (class, release from which on) pairs that it stands for.
Functions = Mapping[Callable[..., Any], list[tuple[str, str]]]


# ---------------------------------------------------------- who is on which page


def strategies() -> dict[str, Functions]:
    """Group the strategies by page.

    Returns:
        Name of the page, which is that of the module → its functions, shedders first, newest
        first, since older ones are described by what they do otherwise.  A class that sheds
        and places has one page.
    """
    pages: dict[str, dict[Callable[..., Any], list[tuple[str, str]]]] = {}
    for function, key in _entered():
        page = function.__module__.rpartition(".")[2]
        pages.setdefault(page, {}).setdefault(function, []).append(key)
    return {
        page: dict(sorted(functions.items(), key=lambda item: _newest_first(*item)))
        for page, functions in pages.items()
    }


def _entered() -> Iterator[tuple[Callable[..., Any], tuple[str, str]]]:
    """Yield each entry's function and key."""
    yield from ((entry.shed, key) for key, entry in SHEDDERS.items())
    yield from ((entry.shed, key) for key, entry in EXTENSIBLE_SHEDDERS.items())
    yield from ((entry.place, key) for key, entry in PLACERS.items())
    yield from ((entry.place, key) for key, entry in EXTENSIBLE_PLACERS.items())


def _newest_first(
    function: Callable[..., Any], keys: list[tuple[str, str]]
) -> tuple[bool, list[int]]:
    return _role(function) == "placer", [-part for part in release_order(keys[0][1])]


def _role(function: Callable[..., Any]) -> str:
    return "placer" if ".place." in function.__module__ else "shedder"


def spans(function: Callable[..., Any]) -> str:
    """Return in which releases a function decides: from which on, and until which one.

    A function that was replaced and came back, as in a line that got a fix late, has several.
    """
    class_name = next(key[0] for other, key in _entered() if other is function)
    line = sorted(
        (
            (since, other)
            for other, (name, since) in _entered()
            if name == class_name and _role(other) == _role(function)
        ),
        key=lambda entry: release_order(entry[0]),
    )
    found: list[list[str]] = []
    before: object = None
    for since, other in line:
        if other is function and before is not function:
            found.append([f"from {since} on"])
        if other is not function and before is function:
            found[-1].append(f"until {since}")
        before = other
    return ", and ".join(" ".join(words) for words in found)


def index() -> str:
    """Return the list of strategies."""
    rows = (
        (f"[{keys[0][0]}]({page}.md)", _role(function), spans(function), first_line(function))
        for page, functions in strategies().items()
        for function, keys in functions.items()
    )
    return table(("strategy", "is a", "releases", "does"), rows)


# ---------------------------------------------------------- a page, from its top


def top(page: str) -> str:
    """Return what stands above a page's text by hand: what it does, settings, examples."""
    functions = strategies()[page]
    main = _main(page)
    text = sections(inspect.getdoc(main) or "")[""]
    parts = [f"# {functions[main][0][0]}\n\n{_opening(functions)}\n\n{text}\n"]
    parts.append(f"\n## Settings\n\n{settings(functions)}")
    parts += _examples(page)
    return "".join(parts)


def _main(page: str) -> Callable[..., Any]:
    """Find the function that the others of a page are described by: that of its very name."""
    functions = strategies()[page]
    return next((f for f in functions if f.__name__ == page), next(iter(functions)))


def _opening(functions: Functions) -> str:
    """Return what the modules say of themselves, which is what Pulsar uses the class for."""
    modules = dict.fromkeys(inspect.getmodule(function) for function in functions)
    return "\n".join(first_line(module) for module in modules)


def settings(functions: Functions) -> str:
    """Return the keys of broker.conf that a strategy reads, with their defaults."""
    keys = _keys_read(functions)
    if not keys:
        return "None.\n"
    headings = ("key", "default", "unit", "decides")
    rows = ((code(name), defaults(KEYS[name]), KEYS[name].unit, _decides(name)) for name in keys)
    return table(headings, rows)


def _decides(name: str) -> str:
    """Return what a key decides, without naming the classes: the page is of one of them."""
    key = KEYS[name]
    return key.meaning + (f"; the same as {code(key.twin)}" if key.twin else "")


class _Asked(Mapping[str, str]):
    """A broker.conf in which nothing is set, and that notes what is looked up in it."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _keys_read(functions: Functions) -> list[str]:
    """Find the keys that are read in any release, in the order of KEYS."""
    asked = _Asked()
    entries: Mapping[tuple[str, str], Any] = {
        **SHEDDERS,
        **EXTENSIBLE_SHEDDERS,
        **EXTENSIBLE_PLACERS,
    }
    for registry in (entries, PLACERS):
        for key in registry.keys() & {key for keys in functions.values() for key in keys}:
            registry[key].settings(asked, key[1])
    return [name for name in KEYS if name in asked.names]


def _examples(page: str) -> Iterator[str]:
    """Return the examples of a page, as they stand in its file."""
    path = EXAMPLES / f"{page}.jsonl"
    if not path.exists():
        return
    shown = path.relative_to(ROOT)
    yield f"\n## Worked examples\n\n`trimtab decide --explain {shown}` tells them:\n"
    for answer in decisions(str(path), Question(is_explained=True, is_json=False)):
        if answer.is_error:
            raise ValueError(answer.text)
        head, _, told = answer.text.strip().partition("\n")
        name, _, class_and_release = head.rpartition(": ")
        yield f"\n### {name}\n\n```text\n{class_and_release}\n{told}\n```\n"


# ---------------------------------------------------------- a page, to its end


def rest(page: str) -> str:
    """Return what stands below: each release's quirks, and what it was checked against."""
    functions = strategies()[page]
    parts = ["## Release by release\n"]
    for function in functions:
        text = sections(inspect.getdoc(function) or "")
        where = code(f"{function.__module__}.{function.__name__}")
        does = "" if function is _main(page) else f"{text['']}\n\n"
        source = " ".join(text.get("Source", "").split())
        parts.append(f"\n### {_role(function).capitalize()} {spans(function)}\n\n{does}")
        parts.append(
            linked(f"{text.get('Quirks', '')}\n\nIn the code: {where}.\n\nSource: {source}\n")
        )
    return "".join([*parts, "\n## Checked against\n\n", _checked(functions)])


def _checked(functions: Functions) -> str:
    """Return how often each release's class was asked the same as ours."""
    classes = {name for keys in functions.values() for name, _ in keys}
    path = DOCS / "agreement.md"
    found = _AGREEMENT.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    rows = [row[1:] for row in found if row[0] in classes]
    if not rows:
        return "No runs of a class of Pulsar's are recorded.\n"
    text = (
        "Recorded answers of the class, all of which come out the same to the last bit, "
        "see [agreement](../agreement.md).\n\n"
    )
    return text + table(("release", "sequences", "rounds", "selections"), rows)


# ---------------------------------------------------------- text


def linked(text: str) -> str:
    """Link the numbers of Pulsar's issues and pull requests."""
    return re.sub(
        r"(?<![\w\[])#(\d{3,})", r"[#\1](https://github.com/apache/pulsar/issues/\1)", text
    )


def sections(docstring: str) -> dict[str, str]:
    """Cut a docstring into its sections, as Markdown.

    Returns:
        Heading → text; what stands before the first heading is under the empty one.
        Quirks become a list: a line that follows a full stop begins the next one.
    """
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in docstring.splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            heading = match.group(1)
            found[heading] = []
        else:
            found[heading].append(line.strip())
    quirks: list[str] = []
    for line in filter(None, found.pop("Quirks", [])):
        if quirks and not quirks[-1].endswith("."):
            quirks[-1] += f" {line}"
        else:
            quirks.append(f"- {line}")
    text = {name: "\n".join(lines).strip() for name, lines in found.items()}
    return {**text, "Quirks": "\n".join(quirks)} if quirks else text
