"""Reading keys of broker.conf: text → value, with the default of each release."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.pulsar.keys import KEYS, Kind, Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
Reading = TypeVar("Reading")

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
# As Double.parseDouble takes them, which knows NaN and Infinity by these names alone.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|Infinity)", re.ASCII)
_BITS = {Kind.INT: 32, Kind.LONG: 64}

# Of the other keys of a 4.0.8 broker none resembles a load-balancing key by more than 0.80
# (exposeManagedLedgerMetricsInPrometheus); a slip of one or two letters stays above 0.9.
_RESEMBLANCE_MIN = 0.9

# A key that begins like a load-balancing key is told anyway; below this no guess is made.
_GUESS_MIN = 0.8


class SettingError(TrimtabError, ValueError):
    """A key's value cannot be read; says which key, what was found, what was expected."""

    def __init__(self, key: str, found: str, expected: str) -> None:
        """Say what is wrong with the value."""
        super().__init__(f"{key}: found {found!r}, expected {expected}")
        self.key, self.found, self.expected = key, found, expected


def setting(conf: Mapping[str, str], name: str, release: str) -> Value | None:
    """Return one key, or its default in that release; None if the release has no such key.

    A blank value counts as not set, as in Pulsar.

    Args:
        conf: key → text, as in broker.conf.
        name: a key of KEYS.
        release: a Pulsar release or a release line.

    Raises:
        SettingError: the text is not what the key takes.
    """
    key = KEYS[name]
    default = key.default(release)
    text = conf.get(name, "").strip()
    if default is None or not text:
        return default
    return _parsed(name, key.kind, text)


def unknown_keys(conf: Mapping[str, str]) -> tuple[tuple[str, str | None], ...]:
    """Return the keys that are meant for the load balancer and that no release knows.

    A key counts as meant for it if it begins like one (`loadBalance`) or is close to one;
    the other hundreds of keys of a broker.conf are passed over.

    Returns:
        Unknown key and the known one that it resembles most, if any, in the order of `conf`.
    """
    unknown: list[tuple[str, str | None]] = []
    for name in conf:
        if name in KEYS:
            continue
        close = _nearest(name, _RESEMBLANCE_MIN)
        if close:
            unknown.append((name, close))
        elif name.lower().startswith("loadbalance"):
            unknown.append((name, _nearest(name, _GUESS_MIN)))
    return tuple(unknown)


@lru_cache(maxsize=4096)
def _nearest(name: str, share: float) -> str | None:
    """Return the known key that a name resembles most, None if none by at least this share."""
    letters, length = _letters(name), len(name)
    possible = [
        key
        for key, has in _KEY_LETTERS.items()
        # Two names share no more letters than either has of the other's: most are left out so.
        if 2 * min(length - (letters & ~has).bit_count(), len(key) - (has & ~letters).bit_count())
        >= share * (length + len(key))
    ]
    close = get_close_matches(name, possible, n=1, cutoff=share)
    return close[0] if close else None


def _letters(name: str) -> int:
    """Return the letters of a name, a bit each."""
    bits = 0
    for letter in set(name):
        bits |= 1 << ord(letter)
    return bits


_KEY_LETTERS = {key: _letters(key) for key in KEYS}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads keys of one broker.conf as the types that the settings have."""

    conf: Mapping[str, str]
    release: str

    def number(self, name: str, before: float | None = None) -> float:
        """Return a number; `before` is what releases did that had no such key yet."""
        return float(self._value(name, before))

    def percent(self, name: str) -> float:
        """Return a whole percentage as a fraction."""
        # As the Java converts; multiplying by 0.01 would round differently.
        return int(self._value(name)) / 100.0

    def flag(self, name: str, before: bool | None = None) -> bool:
        """Return a flag; `before` as for numbers."""
        return bool(self._value(name, before))

    def text(self, name: str, before: str | None = None) -> str:
        """Return text; `before` as for numbers."""
        return str(self._value(name, before))

    def _value(self, name: str, before: Value | None = None) -> Value:
        value = setting(self.conf, name, self.release)
        if value is None:
            value = before
        if value is None:
            raise SettingError(name, self.release, "a release that has this key")
        return value


def settings_of(kind: type[Settings], conf: Mapping[str, str], release: str) -> Settings:
    """Return settings of a kind whose fields say how each is read, in their order.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    readings = _readings(kind)
    return kind(**{name: value(read) for name, value in readings})


@cache
def _readings(kind: type[DataclassInstance]) -> tuple[tuple[str, Callable[[Reader], Any]], ...]:
    return tuple((each.name, each.metadata["read"]) for each in fields(kind))


def by(read: Callable[[Reader], Reading]) -> Reading:
    """Return a field of settings that is what a function reads."""
    reading: Reading = field(metadata={"read": read})
    return reading


def number(name: str, unit: float = 1.0, before: float | None = None) -> float:
    """Return a field that is a number of `unit`; `before` as in `Reader`."""
    return by(lambda read: read.number(name, before) * unit)


def whole(name: str) -> int:
    """Return a field that is a whole number."""
    return by(lambda read: int(read.number(name)))


def percent(name: str) -> float:
    """Return a field that is a percentage as a fraction."""
    return by(lambda read: read.percent(name))


def flag(name: str, before: bool | None = None) -> bool:
    """Return a field that is a flag; `before` as in `Reader`."""
    return by(lambda read: read.flag(name, before))


def text(name: str) -> str:
    """Return a field that is text."""
    return by(lambda read: read.text(name))


def names(name: str) -> frozenset[str]:
    """Return a field that is a set of names, empty in releases that have no such key."""
    return by(
        lambda read: frozenset(filter(None, map(str.strip, read.text(name, before="").split(","))))
    )


def _parsed(name: str, kind: Kind, text: str) -> Value:
    """Return a value's text as what its kind says."""
    if kind is Kind.BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in _BITS and _WHOLE.fullmatch(text):
        value = int(text)
        if -(2 ** (_BITS[kind] - 1)) <= value < 2 ** (_BITS[kind] - 1):
            return value
    if kind in (Kind.FLOAT, Kind.OPTIONAL_FLOAT) and _NUMBER.fullmatch(text):
        return float(text)
    if kind in (Kind.TEXT, Kind.CLASS, Kind.LIST):
        return text
    raise SettingError(name, text, kind.value)
