"""The page of outcomes: every measure with its definition, from its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tools.catalogue import code, first_line, table
from trimtab.lab.outcomes import MEASURES, Measure, balance, moves, service, thrash
from trimtab.lab.outcomes.level import level
from trimtab.lab.outcomes.minimum_moves import counted_moves, minimum_moves
from trimtab.lab.outcomes.recording import recorded
from trimtab.lab.outcomes.spread import best_spread, inner_spread, spread

_FAMILIES = {"Balance": balance, "Moves": moves, "Service": service, "Thrash": thrash}
_GROUND = (level, spread, inner_spread, best_spread)
_SECTION = re.compile(r"^(Args|Returns|Raises|Properties):$")


def overview() -> str:
    """Return the list of measures."""
    return table(
        ("outcome", "unit", "is"),
        (
            (f"[{code(name)}](#{name})", measure.unit, first_line(measure.take))
            for name, measure in MEASURES.items()
        ),
    )


def ground() -> str:
    """Return what all measures stand on."""
    return "".join(_entry(function.__name__, function, "points") for function in _GROUND)


def families() -> str:
    """Return every measure, family by family."""
    parts = []
    for heading, module in _FAMILIES.items():
        parts.append(f"\n## {heading}\n\n{inspect.getdoc(module)}\n")
        parts.extend(
            _entry(name, measure.take, measure.unit) for name, measure in _measures_of(module)
        )
    return "".join(parts)


def least() -> str:
    """Return what is said of the smallest number of moves."""
    return "".join(_entry(f.__name__, f, "moves") for f in (minimum_moves, counted_moves))


def of_recordings() -> str:
    """Return what is said of recorded rounds."""
    return f"{_said(recorded)['']}\n"


def _measures_of(module: ModuleType) -> Iterator[tuple[str, Measure]]:
    for name, measure in MEASURES.items():
        if measure.take.__module__ == module.__name__:
            yield name, measure


def _entry(name: str, function: Callable[..., Any], unit: str) -> str:
    said = _said(function)
    parts = [f"\n### {name}\n\n"]
    if unit:
        parts.append(f"Unit: {unit}.\n\n")
    parts.append(f"{said['']}\n")
    if "Properties" in said:
        lines = re.sub(r"\n(?=\S)", "\n- ", inspect.cleandoc(said["Properties"]))
        parts.append(f"\nProperties:\n\n- {lines}\n")
    return "".join(parts)


def _said(function: Callable[..., Any]) -> dict[str, str]:
    """Cut a docstring at its headings; what stands before the first is under the empty one."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            heading = match.group(1)
            found[heading] = []
        else:
            found[heading].append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}
