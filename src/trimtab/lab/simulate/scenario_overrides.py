"""The tables of a scenario that override parameters of the simulation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from trimtab.files.fields import Field, FieldError
from trimtab.lab.simulate.parameters import Clients, Measuring, Parameters, Physics

Table = TypeVar("Table", Physics, Measuring, Clients)


def overridden(parameters: Parameters, given: Mapping[str, Field]) -> Parameters:
    """Put a scenario's own values in the place of parameters.

    Args:
        parameters: what holds otherwise.
        given: name of a table → its keys, which are the fields of those parameters.

    Raises:
        FieldError: there is no such parameter, or it is not of that kind.
    """
    changed = {name: _overridden(getattr(parameters, name), table) for name, table in given.items()}
    return dataclasses.replace(parameters, **changed)


def _overridden(table: Table, given: Field) -> Table:
    """Replace the fields of one table; each keeps the type that it has."""
    known = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    found = given.members((), known)
    taken: dict[str, Any] = {name: _like(known[name], value) for name, value in found.items()}
    try:
        return dataclasses.replace(table, **taken)
    except ValueError as error:
        # As the parameters say it: name, what was found, what was expected.
        name, _, rest = str(error).partition(": found ")
        value, _, expected = rest.partition(", expected ")
        raise FieldError(given.at(name).path, value, expected) from error


def _like(default: object, given: Field) -> object:
    """Take a value of the type that a default has."""
    if isinstance(default, bool):
        return given.flag()
    if isinstance(default, int):
        if not isinstance(given.value, int) or isinstance(given.value, bool):
            raise given.wrong("a whole number")
        return given.value
    if isinstance(default, tuple):
        return given.numbers((len(default),), f"a list of {len(default)} numbers")
    value = given.number()
    if not math.isfinite(value):
        raise given.wrong("a number that is finite")
    return value
