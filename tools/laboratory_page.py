"""The generated part of docs/laboratory.md: the parameters of a simulated cluster."""

from __future__ import annotations

import dataclasses

from tools.catalogue import code, first_line, table
from trimtab.lab.simulate.parameters import Parameters


def parameters() -> str:
    """Lay out every parameter, a table for each of the scenario's."""
    parts = []
    for group in dataclasses.fields(Parameters):
        values = getattr(Parameters(), group.name)
        rows = [
            (
                code(field.name),
                _shown(getattr(values, field.name)),
                field.metadata["unit"],
                field.metadata["meaning"],
                field.metadata["origin"],
            )
            for field in dataclasses.fields(values)
        ]
        headings = ("parameter", "value", "unit", "meaning", "where it comes from")
        parts.append(f"### `[{group.name}]`\n\n{first_line(values)}\n\n{table(headings, rows)}")
    return "\n" + "\n".join(parts) + "\n"


def _shown(value: float | tuple[float, ...]) -> str:
    """Write a value as a person would."""
    if isinstance(value, tuple):
        return " to ".join(f"{part:g}" for part in value)
    return f"{value:g}"
