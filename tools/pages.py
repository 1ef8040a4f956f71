"""Write what is generated in docs/ and on the map, or check that it is what the code says now.

A page holds its own recipe between cog's markers, and may hold text by hand outside of
them; only a page for a new strategy is made from nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cogapp import Cog

from tools.findings_schema import SCHEMA, findings_schema
from tools.strategy_pages import strategies

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

_NEW_PAGE = """<!-- [[[cog
import cog
from tools import strategy_pages
cog.out(strategy_pages.top("{name}"))
]]] -->
<!-- [[[end]]] -->

<!-- [[[cog
cog.out(strategy_pages.rest("{name}"))
]]] -->
<!-- [[[end]]] -->
"""


def missing() -> list[Path]:
    """List the strategy pages that are not there yet."""
    paths = (DOCS / "strategies" / f"{name}.md" for name in strategies())
    return [path for path in paths if not path.exists()]


def stray() -> list[Path]:
    """List the strategy pages that no strategy has any more."""
    known = {*strategies(), "index"}
    return [path for path in (DOCS / "strategies").glob("*.md") if path.stem not in known]


def generated() -> list[str]:
    """List the pages that hold a recipe."""
    pages = [ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]
    return [str(page) for page in pages if "[[[cog" in page.read_text(encoding="utf-8")]


def schema_is_old() -> bool:
    """Return whether the schema of findings.json lists other codes than there are."""
    text = SCHEMA.read_text(encoding="utf-8")
    return findings_schema(text) != text


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` say which are not what they should be."""
    is_check = arguments == ["--check"]
    if arguments and not is_check:
        print("usage: python -m tools.pages [--check]")
        return 2
    for path in stray():
        print(f"{path.relative_to(ROOT)}: belongs to no strategy; remove it")
    for path in missing():
        print(f"{path.relative_to(ROOT)}: {'missing; run `make docs`' if is_check else 'new'}")
        if not is_check:
            path.write_text(_NEW_PAGE.format(name=path.stem), encoding="utf-8")
    is_old = schema_is_old()
    if is_old and is_check:
        print(f"{SCHEMA.relative_to(ROOT)}: lists other findings than there are; run `make docs`")
    elif is_old:
        SCHEMA.write_text(findings_schema(SCHEMA.read_text("utf-8")), encoding="utf-8")
    is_wrong = bool(stray() or missing() or (is_old and is_check))
    mode = ["--check", "--diff"] if is_check else ["-r"]
    status = Cog().main(["cog", *mode, "--verbosity=1", "-I", str(ROOT), *generated()])
    return 1 if status or is_wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
