"""What Java prints for a value: numbers, maps, lists and attributes, read back."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

#: A number as Java prints it: `36.58`, `4.4E-9`, `Infinity`.
NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|NaN|Infinity)"

#: What stands where there is no value.
ABSENT = frozenset({"null", "Optional.empty"})

#: An attribute behind a constant message: `bundle=a/b/0x0_0x1`, `brokers=[a, b]`.  Only the
#: beginning of a word is tried, or a long word would take the square of its length.
_ATTRIBUTE = re.compile(
    r'(?<![\w.])([A-Za-z_][\w.]*)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[^\s,}]+)'
)

#: A part of an extensible load report: `cpu= 0.00%`, `msgRateIn= 180.29`.
_LOAD_PART = re.compile(rf"\b(\w+)= ({NUMBER})(%?)")

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(NUMBER)
#: The inside of a printed map without anything odd, in an expression that never goes back.
_USUAL_ENTRY = r"[^=, ]++=[0-9]{1,20}+\.[0-9]{1,30}+(?:E-?[0-9]{1,2}+)?+"
_USUAL_MAP = re.compile(rf"{_USUAL_ENTRY}(?:, {_USUAL_ENTRY})*+")


def printed_number(text: str) -> float:
    """Return a number from text as Java prints it."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def printed_count(text: str) -> int:
    """Return a count that fits a table's 64 bits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError(f"{text!r} is not a count")
    return int(text)


def printed_map(text: str) -> dict[str, float]:
    """Return the map in the inside of Java's printed one: `b0:8080=0.1, b1:8080=0.2`.

    Raises:
        ValueError: a part is not `key=number`.
    """
    parts = (part.rpartition("=") for part in text.strip("{} ").split(", ") if part)
    return {key: printed_number(value) for key, _, value in parts}


def is_usual_map(text: str) -> bool:
    """Return whether the inside of a map is as Java prints numbers of everyday size."""
    return _USUAL_MAP.fullmatch(text) is not None


def printed_list(text: str) -> list[str]:
    """Return the list in the inside of Java's printed one: `b0:8080, b1:8080`."""
    return [item for item in text.strip("[] ").split(", ") if item]


def printed_load(text: str) -> dict[str, float]:
    """Return a load report of the extensible manager: `cpu= 0.00%, msgRateIn= 180.29`."""
    return {
        _snake(part) + "_percent" * bool(sign): float(number)
        for part, number, sign in _LOAD_PART.findall(text)
    }


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    """Return `msgRateIn` as `msg_rate_in`."""
    return _CAPITAL.sub("_", name).lower()


def attributes(text: str) -> dict[str, str]:
    """Return the attributes behind a constant message: `k=v, k=v`, `{k=v}`, or a JSON object."""
    text = text.strip(" \t:,;")
    if text.startswith('{"'):
        try:
            return {key: _plain(value) for key, value in json.loads(text).items()}
        except (ValueError, RecursionError):
            return {}
    return {name: value.strip('"') for name, value in _ATTRIBUTE.findall(text)}


def _plain(value: Any) -> str:
    """Return a JSON value as Java would print it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)
