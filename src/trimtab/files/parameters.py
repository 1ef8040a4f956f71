"""Parameters of the public functions: checked, and named in errors as Python spells them."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trimtab.files.errors import TrimtabError, system_fault
from trimtab.files.fields import FieldError
from trimtab.files.places import is_store, place_of

#: An option of the command line as errors name it.
_OPTION = re.compile(r"(?<![^\s(])--([a-z][a-z-]*)")


class ParameterError(TrimtabError):
    """A parameter is not what it should be; the cause is the error that a command prints."""


@contextmanager
def plain_errors(**parameters: str) -> Iterator[None]:
    """Run a block from which whatever a user can mend comes out as one TrimtabError.

    Args:
        parameters: option → parameter, where Python spells it in another way.

    Raises:
        TrimtabError: the block raised it, or the system refused something.
        ParameterError: the block raised one that names an option of the command line.
    """
    try:
        yield
    except TrimtabError as error:
        message = _OPTION.sub(lambda option: _parameter(option[1], parameters), str(error))
        if message == str(error):
            raise
        raise ParameterError(message) from error
    except (OSError, MemoryError, ModuleNotFoundError) as error:
        fault = system_fault(error)
        if fault is None:
            raise
        raise TrimtabError(fault) from error


def _parameter(option: str, parameters: Mapping[str, str]) -> str:
    return parameters.get(option, option.replace("-", "_"))


def path_of(name: str, value: object) -> Path:
    """Return a parameter as a path of this machine.

    Raises:
        FieldError: it is none.
        PlaceError: it is the address of nothing that is known.
    """
    path = place_at(name, value)
    if is_store(path):
        raise FieldError(name, str(path), "a path of this machine")
    return path


def place_at(name: str, value: object) -> Path:
    """Return a parameter as a path, or as a place in a store by its URI.

    Raises:
        FieldError: it is none.
        PlaceError: it is the address of nothing that is known.
    """
    if isinstance(value, str | os.PathLike) and str(value):
        return place_of(value)
    raise FieldError(name, repr(value), "a path")


def text_of(name: str, value: object) -> str | None:
    """Return a parameter as text, None where it is left out.

    Raises:
        FieldError: it is something else.
    """
    if value is None or isinstance(value, str):
        return value or None
    raise FieldError(name, repr(value), "text")


def needed(name: str, value: object) -> str:
    """Return a parameter as a name or a path.

    Raises:
        FieldError: it is neither.
    """
    if isinstance(value, str | os.PathLike) and str(value):
        return str(value)
    raise FieldError(name, repr(value), "a name or a path")


def names_of(name: str, value: object) -> tuple[str, ...]:
    """Return a parameter as several names or paths, of which there may be one alone.

    Raises:
        FieldError: it is something else, or nothing.
    """
    if isinstance(value, str | os.PathLike) or not isinstance(value, Iterable):
        return (needed(name, value),)
    names = tuple(needed(name, each) for each in value)
    if not names:
        raise FieldError(name, repr(value), "at least one name or path")
    return names


def line_of(name: str, value: object) -> bytes | dict[str, object]:
    """Return a parameter as a line of JSON, or as what JSON would make of one.

    Raises:
        FieldError: it is neither.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    raise FieldError(name, repr(value), "an object, or a line of JSON")


def choice_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return a parameter as one of several words.

    Raises:
        FieldError: it is none of them.
    """
    known = [str(each) for each in choices]
    if value in known:
        return str(value)
    raise FieldError(name, repr(value), f"one of {', '.join(known)}")


def texts_of(name: str, value: object) -> tuple[str, ...]:
    """Return a parameter as several texts; one text lists them with commas, as an option does.

    Raises:
        FieldError: it is something else.
    """
    if isinstance(value, str):
        return tuple(filter(None, map(str.strip, value.split(","))))
    texts = tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(each, str) for each in texts):
        raise FieldError(name, repr(value), "texts")
    return texts


def whole_of(name: str, value: object, least: int) -> int:
    """Return a parameter as a whole number.

    Raises:
        FieldError: it is none, or too small.
    """
    expected = f"a whole number from {least} on"
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # that is what is tried
    except TypeError:
        raise FieldError(name, repr(value), expected) from None
    if isinstance(value, bool) or number < least:
        raise FieldError(name, repr(value), expected)
    return number


def positive(name: str, value: object) -> float:
    """Return a parameter as a number above 0.

    Raises:
        FieldError: it is none, or not above 0, or infinite.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < math.inf:  # type: ignore[arg-type]  # is a number
        raise FieldError(name, repr(value), "a number above 0")
    return float(value)  # type: ignore[arg-type]  # is a number


def settings_of(name: str, value: object) -> tuple[str, ...]:
    """Return settings by key as the `key=value` of the command line, a pair for each value.

    Raises:
        FieldError: it is no mapping of keys to text, numbers, flags, or lists of these.
    """
    if not isinstance(value, Mapping):
        raise FieldError(name, repr(value), "a mapping of keys of broker.conf to values")
    return tuple(
        f"{key}={_spelt(f'{name}[{key!r}]', each)}"
        for key, given in value.items()
        for each in (given if isinstance(given, list | tuple) else (given,))
    )


def _spelt(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise FieldError(name, repr(value), "text, a number, True or False")
