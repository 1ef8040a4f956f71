"""Run the notebook of the docs cell by cell, and write what comes out into it, or check it.

Cells are plain Python; each is run after the ones before it, in the root of the repository.
What it prints and the value of its last line are its output, as in Jupyter.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from trimtab.files.whole_files import write_whole

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "tables.ipynb"


def executed(text: str) -> str:
    """Run a notebook's cells, and return it with what came out.

    Raises:
        SyntaxError: a cell is not Python.
        Exception: whatever a cell raises.
    """
    notebook = json.loads(text)
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    with chdir(ROOT):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                cell["execution_count"] = number
                cell["outputs"] = _outputs("".join(cell["source"]), names, number)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run one cell."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)  # what it is for
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed)})
    if value is not None:
        outputs.append(
            {
                "data": _shown(value),
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def _lines(printed: io.StringIO) -> list[str]:
    return printed.getvalue().splitlines(keepends=True)


def _shown(value: object) -> Mapping[str, Any]:
    """Show a value as Jupyter would: as a picture or a table if it is one, and as text."""
    shown: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    for kind, method in (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_")):
        picture = getattr(value, method, None)
        if picture is not None and (drawn := picture()) is not None:
            shown[kind] = drawn.splitlines(keepends=True)
    return shown


def main() -> None:
    """Write the notebook, or check it with --check."""
    before = NOTEBOOK.read_text(encoding="utf-8")
    after = executed(before)
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if before == after else f"{NOTEBOOK.relative_to(ROOT)}: run make notebook")
    write_whole(NOTEBOOK, after)


if __name__ == "__main__":
    main()
