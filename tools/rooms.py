"""The map of the package: its rooms by floor, each with the sentence of its docstring."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "trimtab"


def floors() -> Iterator[tuple[str, ...]]:
    """Return the rooms of each floor from the top down, as import-linter checks them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (one_way,) = (each for each in contracts if each["id"] == "one-way")
    for layer in one_way["layers"]:
        yield tuple(layer.split(" | "))


def sentence(room: str) -> str:
    """Return the first sentence of a room's docstring, which is what the map says of it."""
    path = PACKAGE / room / "__init__.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]


def rooms() -> str:
    """Return the map as a table in Markdown, a line a room, from the top floor down."""
    lines = ["| floor | room | what comes in → what goes out |", "|---|---|---|"]
    packages = [floor for floor in floors() if floor != ("__main__",)]
    for i, floor in enumerate(packages):
        for room in floor:
            link = f"[`{room}`](src/trimtab/{room})"
            lines.append(f"| {len(packages) - i} | {link} | {sentence(room)} |")
    return "\n".join(lines)
