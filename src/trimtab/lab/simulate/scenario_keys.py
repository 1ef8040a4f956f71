"""What stands in a table of a scenario file: keys that say what they take and what they mean.

A table is a frozen dataclass whose fields are the keys, named as in the file.  What reads the
file, what checks it and what writes the page about it all go by these fields.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from trimtab.files.fields import Field, FieldError, expected_name

Value = TypeVar("Value")
Table = TypeVar("Table")

#: A number, or the bounds between which it is drawn evenly.
Span: TypeAlias = tuple[float, float]

_KIND, _MEANING = "kind", "meaning"
#: Stands for the default of a key that has none.
NEEDED = "needed"
_RANGE = re.compile(r"(\d+) to (\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind(Generic[Value]):
    """What a key takes."""

    #: Takes it out of the file; raises FieldError if it is something else.
    take: Callable[[Field], Value]
    #: Says what it takes.
    says: str


def key(kind: Kind[Value], meaning: str, *default: Value) -> Value:
    """Return the field of a table that stands for one key; without a default it is needed."""
    metadata = {_KIND: kind, _MEANING: meaning}
    field: Any = (
        dataclasses.field(default=default[0], metadata=metadata)
        if default
        else dataclasses.field(metadata=metadata)
    )
    value: Value = field
    return value


def read(table: type[Table], document: Field, *besides: str) -> Table:
    """Return a table, read from a document; keys `besides` are read by somebody else.

    Raises:
        FieldError: a key is missing, misspelt or takes something else.
    """
    fields = {field.name: field for field in _fields(table)}
    needed = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
    members = document.members(needed, [*fields, *besides])
    values = {
        name: fields[name].metadata[_KIND].take(value)
        for name, value in members.items()
        if name in fields
    }
    return table(**values)


def described(table: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the keys of a table: name, what it takes, default, meaning."""
    for field in _fields(table):
        kind: Kind[Any] = field.metadata[_KIND]
        default = NEEDED if field.default is dataclasses.MISSING else _shown(field.default)
        yield field.name, kind.says, default, field.metadata[_MEANING]


def _fields(table: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(table)


def _shown(default: object) -> str:
    """Return a default as it would stand in the file; nothing for what is then not there."""
    if isinstance(default, tuple):
        if not default:
            return ""
        is_span = len(default) == 2 and default[0] == default[1]
        return _shown(default[0]) if is_span else f"[{', '.join(map(_shown, default))}]"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f'"{default}"' if default else ""
    return "" if default is None else f"{default:g}"


# ------------------------------------------------------------------ kinds


def whole(least: int) -> Kind[int]:
    """Return the kind of a whole number."""
    says = f"a whole number from {least} on"

    def take(field: Field) -> int:
        value = field.value
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise field.wrong(says)
        return value

    return Kind(take, says)


def number(least: float = -math.inf, most: float = math.inf) -> Kind[float]:
    """Return the kind of a number within bounds."""
    says = _bounds(least, most)
    return Kind(lambda field: _number(field, least, most, says), says)


def positive() -> Kind[float]:
    """Return the kind of a number above 0."""
    says = "a number above 0"
    return Kind(lambda field: _number(field, math.ulp(0.0), math.inf, says), says)


def maybe(kind: Kind[Value]) -> Kind[Value | None]:
    """Return the kind that takes what another takes; left out it is nothing."""
    return Kind(kind.take, kind.says)


def span(kind: Kind[float]) -> Kind[Span]:
    """Return the kind of a number, or of the bounds between which it is drawn."""
    says = f"{kind.says}, or [from, to]"

    def take(field: Field) -> Span:
        if not isinstance(field.value, list):
            single = kind.take(field)
            return single, single
        ends = tuple(kind.take(item) for item in field.items())
        if len(ends) != 2 or ends[0] > ends[1]:
            raise FieldError(field.path, str(field.value), says)
        return ends[0], ends[1]

    return Kind(take, says)


def bounds(kind: Kind[float]) -> Kind[Span]:
    """Return the kind of two numbers, the smaller first."""
    says = f"[from, to], each {kind.says}"
    both = span(kind)

    def take(field: Field) -> Span:
        if not isinstance(field.value, list):
            raise field.wrong(says)
        return both.take(field)

    return Kind(take, says)


def listed(kind: Kind[Value]) -> Kind[tuple[Value, ...]]:
    """Return the kind of a list of what a kind takes, or one of it for a list of one."""
    says = f"{kind.says}, or a list of such"

    def take(field: Field) -> tuple[Value, ...]:
        items = field.items() if isinstance(field.value, list) else iter((field,))
        return tuple(kind.take(item) for item in items)

    return Kind(take, says)


def tables(table: type[Table], says: str) -> Kind[tuple[Table, ...]]:
    """Return the kind of a list of tables."""
    return Kind(lambda field: tuple(read(table, item) for item in field.items()), says)


def one_of(choices: Iterable[str]) -> Kind[str]:
    """Return the kind of one of a few words."""
    known = tuple(choices)
    says = "one of " + ", ".join(f'"{choice}"' for choice in known)

    def take(field: Field) -> str:
        if field.text() not in known:
            raise FieldError(field.path, repr(field.text()), expected_name(field.text(), known))
        return field.text()

    return Kind(take, says)


def _number(field: Field, least: float, most: float, says: str) -> float:
    if not isinstance(field.value, int | float) or isinstance(field.value, bool):
        raise field.wrong(says)
    number = field.number()
    if not (math.isfinite(number) and least <= number <= most):
        raise field.wrong(says)
    return number


def _bounds(least: float, most: float) -> str:
    if math.isinf(least):
        return "a number"
    return f"a number from {least:g} " + ("on" if math.isinf(most) else f"to {most:g}")


def _positions(field: Field) -> tuple[int, ...]:
    """Return positions: one, a list of them, or a range in words."""
    if isinstance(field.value, str):
        match = _RANGE.fullmatch(field.value)
        if not match or int(match[1]) > int(match[2]):
            raise field.wrong(POSITIONS.says)
        return tuple(range(int(match[1]), int(match[2]) + 1))
    return listed(whole(0)).take(field)


def _table(field: Field) -> Field:
    """Return the field if it is a table; what stands in it is somebody else's matter."""
    for _ in field.entries():
        break
    return field


TEXT: Kind[str] = Kind(Field.text, "text")
POSITIONS: Kind[tuple[int, ...]] = Kind(
    _positions, 'a whole number from 0 on, a list of such, or "first to last"'
)
#: A table that somebody else reads: it keeps the way to where it stands.
TABLE: Kind[Field] = Kind(_table, "a table")
FLAG: Kind[bool] = Kind(Field.flag, "true or false")
SHARE: Kind[float] = number(0.0, 1.0)
PERCENT: Kind[float] = number(0.0, 100.0)
AT_LEAST_0: Kind[float] = number(0.0)


def every_of(count: int, wanted: Sequence[int] | None) -> tuple[int, ...]:
    """Return positions: those wanted, or all if none are named."""
    return tuple(range(count)) if wanted is None else tuple(wanted)
