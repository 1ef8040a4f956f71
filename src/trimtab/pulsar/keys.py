"""Every key of broker.conf that the load balancer reads: type, unit, meaning, defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pkgutil import get_data
from typing import TypeAlias

from trimtab.pulsar.releases import release_order

#: The oldest release whose settings were read.
_OLDEST = "2.10.0"

Value: TypeAlias = bool | int | float | str


class Kind(StrEnum):
    """What a key's text must be."""

    BOOL = "true or false"
    INT = "a whole number of 32 bits"
    LONG = "a whole number of 64 bits"
    FLOAT = "a number"
    OPTIONAL_FLOAT = "a number, or nothing"
    TEXT = "text"
    CLASS = "a Java class name"
    LIST = "a comma-separated list"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of broker.conf."""

    #: The key, as written in broker.conf.
    name: str
    #: What its text must be.
    kind: Kind
    #: Release from which on → default, oldest first; no key before the first.  Releases
    #: are those in which the default was first seen, where Pulsar's notes name none.
    defaults: Mapping[str, Value]
    #: What it decides, in half a sentence.
    meaning: str
    #: Unit in broker.conf; empty where there is none.
    unit: str = ""
    #: Can be changed without a restart.
    is_dynamic: bool = False
    #: The same key in its other spelling.
    twin: str = ""

    @property
    def since(self) -> str:
        """Return the first release that is known to have it."""
        return next(iter(self.defaults))

    def default(self, release: str) -> Value | None:
        """Return the default in a release or release line; None if it has no such key.

        Quirks:
            What the oldest release has whose settings were read, those before it count as
            having too.
        """
        wanted = release_order(release)
        default = self.defaults.get(_OLDEST) if self.since == _OLDEST else None
        for since, value in self.defaults.items():
            if release_order(since) <= wanted:
                default = value
        return default


def _key(line: str) -> Key:
    """Return what a line of keys.txt says."""
    name, kind, defaults, unit, dynamic, twin, meaning = map(str.strip, line.split("|"))
    pairs = (default.partition(":") for default in defaults.split("; "))
    return Key(
        name=name,
        kind=Kind[kind],
        defaults={since: _value(Kind[kind], text.strip()) for since, _, text in pairs},
        meaning=meaning,
        unit=unit,
        is_dynamic=bool(dynamic),
        twin=twin,
    )


def _value(kind: Kind, text: str) -> Value:
    if kind is Kind.BOOL:
        return text == "true"
    if kind in (Kind.INT, Kind.LONG):
        return int(text)
    return float(text) if kind is Kind.FLOAT else text


# A part of the package, which is loaded as its code is.
_LINES = (get_data("trimtab.pulsar", "keys.txt") or b"").decode("utf-8").splitlines()
#: Key → what is known of it, in the order of the settings page.
KEYS: Mapping[str, Key] = {
    key.name: key for key in (_key(line) for line in _LINES if line and not line.startswith("#"))
}
