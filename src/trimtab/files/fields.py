"""A value out of JSON with the path that leads to it, checked as it is taken."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from trimtab.files.errors import TrimtabError

#: What `json.loads` makes of a number.
Number: TypeAlias = int | float

# A key that needs no quotes, or an option of the command line.
_PLAIN = re.compile(r"(?:--)?[A-Za-z_]\w*", re.ASCII)
_SHOWN_MAX = 60
# One more than the largest whole number of 64 bits.
_LONG = 2**63


class FieldError(TrimtabError, ValueError):
    """A value is not what it should be; says which, what was found, what was expected."""

    def __init__(self, path: str, found: str, expected: str) -> None:
        """Keep the path, the value in words and what was expected."""
        super().__init__(f"{path}: found {found}, expected {expected}")
        self.path, self.found, self.expected = path, found, expected


@dataclass(frozen=True, slots=True)
class Field:
    """One value and where it stands."""

    value: object
    #: Keys and positions that lead there from the whole.
    trail: tuple[str | int, ...] = ()

    @property
    def path(self) -> str:
        """Return the trail as in `rounds[0].brokers["broker-1:8080"].cpu`."""
        path = "".join(map(_step, self.trail)).removeprefix(".")
        return path or "the line"

    def at(self, *trail: str | int, value: object = None) -> Field:
        """Return what stands, or would have to stand, further inside."""
        return Field(value, (*self.trail, *trail))

    def wrong(self, expected: str) -> FieldError:
        """Return the error that the value is not what was expected."""
        return FieldError(self.path, shown(self.value), expected)

    def members(self, required: Collection[str], optional: Collection[str]) -> Mapping[str, Field]:
        """Return the members of an object whose keys are known.

        Raises:
            FieldError: it is no object, a key is missing, or one is unknown.
        """
        members = dict(self.entries())
        for key, field in members.items():
            if key not in required and key not in optional:
                expected = expected_name(key, [*required, *optional])
                raise FieldError(field.path, shown(key), expected)
        for key in required:
            if key not in members:
                raise FieldError(self.at(key).path, "nothing", "a value")
        return members

    def entries(self) -> Iterator[tuple[str, Field]]:
        """Return the names and values of an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for key, value in self.value.items():
            if not key.isascii():
                Field(key, (*self.trail, key)).text()
            yield key, Field(value, (*self.trail, key))

    def items(self) -> Iterator[Field]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        for i, value in enumerate(self.value):
            yield Field(value, (*self.trail, i))

    def names(self) -> tuple[str, ...]:
        """Return a list of names."""
        return tuple(item.text() for item in self.items())

    def text(self) -> str:
        """Return text; half a character of two halves, which JSON can spell, is none."""
        if not isinstance(self.value, str):
            raise self.wrong("text")
        if not self.value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in self.value):
            raise self.wrong("text of whole characters")
        return self.value

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def number(self) -> float:
        """Return a number, as 64 bits."""
        numbers = _floats([self.value])
        if numbers is None:
            raise self.wrong("a number")
        return numbers[0]

    def whole(self) -> int:
        """Return a whole number of 64 bits."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not -_LONG <= value < _LONG:
            raise self.wrong("a whole number")
        return value

    def numbers(self, counts: Collection[int], expected: str) -> tuple[float, ...]:
        """Return a list of so many numbers."""
        if not isinstance(self.value, list) or len(self.value) not in counts:
            raise self.wrong(expected)
        numbers = _floats(self.value)
        # If one is none, the search for it says which.
        return numbers or tuple(item.number() for item in self.items())


def expected_name(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """Return the one of some names that resembles a name most; if none does, all of them.

    Args:
        name: the name found.
        names: those that there are.
        otherwise: says what was expected where they are too many to be named.
    """
    choices = sorted(set(names))
    close = get_close_matches(name, choices, n=1)
    if close:
        return f"'{close[0]}'"
    return otherwise or (f"one of {', '.join(choices)}" if choices else "none")


def shown(value: object) -> str:
    """Return a value in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{shown(key)}]"


def _floats(values: Iterable[object]) -> tuple[float, ...] | None:
    """Return numbers in 64 bits; None if one is no number."""
    floats = []
    for value in values:
        if isinstance(value, float):
            floats.append(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            floats.append(_float(value))
        else:
            return None
    return tuple(floats)


def _float(value: int) -> float:
    """Return a whole number in 64 bits, as Java does: too large a one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def toml_field(text: str, name: str, wrong: Callable[[str], TrimtabError]) -> Field:
    """Return the whole of a file in TOML.

    Raises:
        TrimtabError: what `wrong` makes of a message; it is no TOML.
    """
    try:
        return Field(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise wrong(f"{name}: expected TOML: {error}") from error


def in_file(name: str, error: FieldError) -> str:
    """Return the message of an error with the name of the file that it is about."""
    path = "the file" if error.path == "the line" else error.path
    return f"{name}: {path}: found {error.found}, expected {error.expected}"
