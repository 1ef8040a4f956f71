"""The tables of a scenario that override parameters of the simulation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from trimtab.files.fields import Field, FieldError
from trimtab.lab.simulate.parameters import Clients, Measuring, Parameters, Physics

Table = TypeVar("Table", Physics, Measuring, Clients)


def overridden(parameters: Parameters, tables: Mapping[str, Field]) -> Parameters:
    """Return parameters with a scenario's own values in their place.

    Args:
        parameters: what holds otherwise.
        tables: name of a table → its keys, which are the fields of those parameters.

    Raises:
        FieldError: there is no such parameter, or it is not of that kind.
    """
    changed = {
        name: _overridden(getattr(parameters, name), table) for name, table in tables.items()
    }
    return dataclasses.replace(parameters, **changed)


def _overridden(table: Table, keys: Field) -> Table:
    """Return parameters with the fields of one table replaced; each keeps the type that it has."""
    known = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    members = keys.members((), known)
    values: dict[str, Any] = {name: _like(known[name], value) for name, value in members.items()}
    try:
        return dataclasses.replace(table, **values)
    except ValueError as error:
        # As the parameters say it: name, what was found, what was expected.
        name, _, rest = str(error).partition(": found ")
        value, _, expected = rest.partition(", expected ")
        raise FieldError(keys.at(name).path, value, expected) from error


def _like(default: object, field: Field) -> object:
    """Return a value of the type that a default has."""
    if isinstance(default, bool):
        return field.flag()
    if isinstance(default, int):
        if not isinstance(field.value, int) or isinstance(field.value, bool):
            raise field.wrong("a whole number")
        return field.value
    if isinstance(default, tuple):
        return field.numbers((len(default),), f"a list of {len(default)} numbers")
    value = field.number()
    if not math.isfinite(value):
        raise field.wrong("a number that is finite")
    return value
