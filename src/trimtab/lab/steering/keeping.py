"""What a strategy remembers ↔ arrays by name, as a file has them.

A memory is frozen dataclasses of arrays, numbers, names and further ones; which those are is read
off their types, so that a field more needs no line here.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

Arrays: typing.TypeAlias = Mapping[str, np.ndarray[Any, Any]]

_IS_THERE = "?"


def arrays(memory: Any) -> dict[str, np.ndarray[Any, Any]]:  # noqa: ANN401  # any dataclass of these
    """Return a memory as arrays by name; a part that may be absent says whether it is there."""
    named: dict[str, np.ndarray[Any, Any]] = {}
    for each in dataclasses.fields(memory):
        value = getattr(memory, each.name)
        if _optional(_hints(type(memory))[each.name]) is not None:
            named[f"{each.name}{_IS_THERE}"] = np.array(value is not None)
            if value is None:
                continue
        if dataclasses.is_dataclass(value):
            named |= {f"{each.name}.{key}": part for key, part in arrays(value).items()}
        else:
            named[each.name] = _array(value)
    return named


def remembered(kind: type[Any], named: Arrays) -> Any:  # noqa: ANN401  # what `kind` says
    """Return a memory of its arrays.

    Raises:
        ValueError: an array is missing or too many, or is of another kind; says which.
    """
    hints = _hints(kind)
    values = {each.name: _value(hints[each.name], each.name, named) for each in _fields(kind)}
    heads = {key.partition(".")[0].removesuffix(_IS_THERE) for key in named}
    if unknown := sorted(heads - values.keys()):
        raise ValueError(f"{unknown[0]}: found in the file, expected one of {', '.join(values)}")
    return kind(**values)


def _value(hint: Any, name: str, named: Arrays) -> Any:  # noqa: ANN401  # what `hint` says
    inner = _optional(hint)
    if inner is not None:
        if not bool(_one(named, f"{name}{_IS_THERE}")):
            return None
        hint = inner
    if dataclasses.is_dataclass(hint):
        parts = {
            key.removeprefix(f"{name}."): value
            for key, value in named.items()
            if key.startswith(f"{name}.")
        }
        assert isinstance(hint, type)
        return remembered(hint, parts)
    if hint is float:
        return float(_one(named, name))
    if hint is bool:
        return bool(_one(named, name))
    if hint is int:
        return int(_one(named, name))
    if typing.get_origin(hint) is tuple:
        return tuple(_one(named, name).tolist())
    return _one(named, name)


def _one(named: Arrays, name: str) -> np.ndarray[Any, Any]:
    if name not in named:
        raise ValueError(f"{name}: found nothing, expected an array")
    return named[name]


def _array(value: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401  # a leaf of a memory
    return np.array(value, np.str_) if isinstance(value, tuple) else np.asarray(value)


def _optional(hint: Any) -> Any:  # noqa: ANN401  # any type there is
    """Return what a type is if it is not None; None if it cannot be None."""
    if not isinstance(hint, types.UnionType):
        return None
    (inner,) = (each for each in typing.get_args(hint) if each is not types.NoneType)
    return inner


def _fields(kind: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)


def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)
