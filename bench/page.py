"""docs/performance.md: a section a benchmark, each with its date and its machine."""

from __future__ import annotations

import platform
import re
from datetime import date
from pathlib import Path

import numpy as np

from bench.machine import machine, work_beside
from bench.table import Table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"

_HEAD = """\
# Performance

`make bench` rewrites this page, `python -m bench --only NAME` one section of it.
The figures are of one machine on one day, so nothing checks them.
Each benchmark is a file of [bench](../bench).
"""


def write(title: str, table: Table, order: list[str]) -> None:
    """Put a benchmark's section into the page, in place of an older one.

    Args:
        title: the section's heading.
        table: what was found.
        order: of all sections that the page may have; others are left out.
    """
    sections = _sections() | {title: _section(table)}
    text = "".join(f"\n## {name}\n\n{sections[name]}" for name in order if name in sections)
    PAGE.write_text(_HEAD + text, encoding="utf-8")


def _sections() -> dict[str, str]:
    """Read the sections that are there, by heading."""
    if not PAGE.exists():
        return {}
    parts = re.split(r"(?m)^## (.+)\n\n", PAGE.read_text(encoding="utf-8"))[1:]
    return {
        title: text.rstrip("\n") + "\n" for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def _section(table: Table) -> str:
    versions = [f"Python {platform.python_version()}", f"numpy {np.__version__}", *table.versions]
    where = f"{machine()} ({work_beside()})"
    measured = f"Measured on {date.today()}: {where}; {', '.join(versions)}.\n"
    return f"{table.text}{measured}\n{table.markdown()}"
