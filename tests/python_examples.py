"""The examples of the docs: which there are, what they print, and whose names they use."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

_FENCED = re.compile(r"(?ms)^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?")


@dataclass(frozen=True, slots=True)
class Example:
    """Python in a page."""

    source: str
    #: What the page says that it prints; None where it says nothing.
    printed: str | None


def pages() -> list[Path]:
    """List every page that may have examples."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def examples(page: Path) -> list[Example]:
    """Return the examples of a page in Markdown, in their order."""
    text = page.read_text(encoding="utf-8")
    return [Example(found[1], found[2]) for found in _FENCED.finditer(text)]


def sources() -> Iterator[tuple[str, str]]:
    """List every Python source of the docs, with where it stands."""
    for page in pages():
        for number, example in enumerate(examples(page), start=1):
            yield f"{page.relative_to(ROOT)} {number}", example.source
    for notebook in sorted(DOCS.rglob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        for number, cell in enumerate(code, start=1):
            yield f"{notebook.relative_to(ROOT)} {number}", "".join(cell["source"])


def imported_of_us(source: str) -> Iterator[str]:
    """List what a source imports or uses of this package: `trimtab.explain`, `trimtab.files`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("trimtab."))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.partition(".")[0] == "trimtab":
                yield from (f"{module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "trimtab":
            yield f"trimtab.{node.attr}"


def ran(found: list[Example]) -> list[str]:
    """Run examples one after the other as one program, and return what each prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, example in enumerate(found, start=1):
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(example.source, f"example {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed
