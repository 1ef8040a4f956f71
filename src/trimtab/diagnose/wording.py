"""Texts with numbers in them: those of findings.toml, and how numbers are written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any


@lru_cache
def rows() -> Mapping[str, dict[str, Any]]:
    """Return findings.toml: code of a finding → all that there is to say of its kind."""
    return tomllib.loads(files("trimtab.diagnose").joinpath("findings.toml").read_text("utf-8"))


def wording(name: str) -> dict[str, Any]:
    """Return the texts of a finding: those of its code, with those of its variants in their place.

    Args:
        name: the code, and behind dots the variants: `throughput-floor.logged`.
    """
    code, *variants = name.split(".")
    texts = dict(rows()[code])
    for variant in variants:
        texts |= rows()[code][variant]
    return texts


def worded(texts: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> str:
    """Return one of some texts, with the values that it names.

    Args:
        texts: of one wording; they may name each other.
        name: of the text.
        values: by name.  Besides what Python knows they may be written as a `percent`, as
            `points` between two, in millions (`mega.1f`), or counted (`bundle|bundles`).
    """
    return _Texts(texts).vformat(texts[name], (), values)


class _Texts(Formatter):
    def __init__(self, texts: Mapping[str, Any]) -> None:
        self.texts = texts

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = str(key)
        return kwargs[name] if name in kwargs else worded(self.texts, name, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "percent":
            return percent(value)
        if format_spec == "points":
            return points(value)
        if format_spec.startswith("mega"):
            return format(value / 1e6, format_spec.removeprefix("mega"))
        if "|" in format_spec:
            return many(value, *format_spec.split("|"))
        return format(value, format_spec)


def percent(fraction: float) -> str:
    """Return a fraction as text: 0.3453 is 34.5 %."""
    return f"{fraction * 100:.1f} %"


def points(fraction: float) -> str:
    """Return a distance between two fractions as text: 0.012 is 1.2 points."""
    return f"{fraction * 100:.1f} points"


def many(count: int, one: str, more: str | None = None) -> str:
    """Return a count with its noun: `1 move`, `3 moves`, `2 bundles were`."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def clock(time: datetime) -> str:
    """Return the time of day as text, in UTC: 06:37:22."""
    return f"{time.astimezone(UTC):%H:%M:%S}"


def iso_time(time: datetime) -> str:
    """Return a time as findings.json has it: ISO 8601 in UTC, to the millisecond."""
    utc = time if time.tzinfo is UTC else time.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
