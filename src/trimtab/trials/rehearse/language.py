"""The small language of what may be planned: a line, or a list of them in TOML → statements.

lose broker-3 at 20:00
lose rack=a
remove broker-*
add 2 at +30m
restart all every 10m down 90s
traffic shop/* x1.5 from 20:00 to 21:00
set loadBalancerBrokerOverloadedThresholdPercentage=70
release 5.0.1
strategy AvgShedder
split shop/orders/0x00000000_0x40000000
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, shown, toml_field

_AT, _FROM, _TO, _EVERY, _DOWN = "at", "from", "to", "every", "down"
_CLAUSES = (_AT, _FROM, _TO, _EVERY, _DOWN)
#: Verb → what stands behind it, and the clauses that it may have besides a time.
VERBS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "lose": ("brokers, such as broker-3, broker-* or rack=a", ()),
    "remove": ("brokers, such as broker-3, broker-* or rack=a", ()),
    "add": ("how many brokers, such as 2", ()),
    "restart": ("brokers, such as all, broker-* or rack=a", (_EVERY, _DOWN)),
    "traffic": ("bundles and a factor, such as shop/* x1.5", (_TO,)),
    "set": ("KEY=VALUE", ()),
    "release": ("a release like 4.0.8", ()),
    "strategy": ("a shedder, such as AvgShedder", ()),
    "split": ("bundles, such as shop/orders/0x00000000_0x40000000", ()),
}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)([smh])", re.ASCII)
_FACTOR = re.compile(r"[x×](\d+(?:\.\d+)?)", re.ASCII)
_COUNT = re.compile(r"[1-9]\d{0,3}", re.ASCII)
#: Seconds that a broker is down where nobody says.
_DOWN_S, _EVERY_S = 60.0, 300.0

#: What a bar limits.
LIMITS = ("peak_percent", "over_min", "topics", "ownerless_s")


class PlanError(TrimtabError, ValueError):
    """A file is no plan; says where, what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is planned, as far as it can be read without the recording."""

    #: As it is written, and where it stands.
    text: str
    path: str
    verb: str
    #: What stands behind the verb: brokers, bundles, a number, KEY=VALUE …
    what: str
    factor: float = 1.0
    every_s: float = _EVERY_S
    down_s: float = _DOWN_S
    #: A time as it is spelt, or blank.
    from_text: str = ""
    to_text: str = ""

    def wrong(self, value: str, expected: str) -> FieldError:
        """Return the error that a part of it is not what was expected."""
        return FieldError(self.path, shown(value), expected)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a file or a command line plans."""

    statements: tuple[Statement, ...]
    #: Name of a rack → patterns of its brokers.
    racks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Limits of the bar that are given.
    bar: Mapping[str, float] = field(default_factory=dict)


def statement(where: Field) -> Statement:
    """Return what a text plans; one of the command line is its own place.

    Raises:
        FieldError: it is nothing that can be planned.
    """
    text = " ".join(where.text().split())
    verb, _, rest = text.partition(" ")
    path = where.path if where.trail else f'"{text}"'
    if verb not in VERBS:
        known = expected_name(verb, VERBS)
        raise FieldError(
            path, shown(verb) if verb else "nothing", f'{known}, as in "lose broker-3"'
        )
    example, more = VERBS[verb]
    what, clauses = _clauses(path, rest.split(), (_AT, _FROM, *more))
    factor = 1.0
    if verb == "traffic" and what:
        factor = _factor(path, what.pop())
    if len(what) != 1:
        raise FieldError(path, shown(" ".join(what)) if what else "nothing", example)
    if verb == "add" and not _COUNT.fullmatch(what[0]):
        raise FieldError(path, shown(what[0]), example)
    if verb == "set" and "=" not in what[0]:
        raise FieldError(path, shown(what[0]), example)
    return Statement(
        text=text,
        path=path,
        verb=verb,
        what=what[0],
        factor=factor,
        every_s=_length(path, clauses.get(_EVERY), _EVERY_S),
        down_s=_length(path, clauses.get(_DOWN), _DOWN_S),
        from_text=clauses.get(_AT, clauses.get(_FROM, "")),
        to_text=clauses.get(_TO, ""),
    )


def plan_file(text: str, origin: str) -> Planned:
    """Return what a file in TOML plans: `events`, and `[racks]` and `[bar]` if it has them.

    Raises:
        PlanError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    whole = toml_field(text, origin, PlanError)
    try:
        tables = whole.members(("events",), ("racks", "bar"))
        empty = Field({})
        racks = tables.get("racks", empty).entries()
        bar = tables.get("bar", empty).members((), LIMITS)
        return Planned(
            statements=tuple(statement(each) for each in tables["events"].items()),
            racks={name: listed.names() for name, listed in racks},
            bar={name: _limit(limit) for name, limit in bar.items()},
        )
    except FieldError as error:
        raise PlanError(f"{origin}: {error}") from error


def rack(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a rack of the command line, `a=broker-1,broker-2`.

    Raises:
        FieldError: it is none.
    """
    name, equals, brokers = text.partition("=")
    patterns = tuple(filter(None, map(str.strip, brokers.split(","))))
    if not (name and equals and patterns):
        raise FieldError(
            "--rack", shown(text), "a rack and its brokers, such as a=broker-1,broker-2"
        )
    return name, patterns


def _clauses(
    path: str, words: Sequence[str], allowed: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the words before the first clause, and what each clause says."""
    first = next((i for i, word in enumerate(words) if word in _CLAUSES), len(words))
    clauses: dict[str, str] = {}
    for i in range(first, len(words), 2):
        name = words[i]
        if name not in allowed:
            raise FieldError(path, shown(name), f"one of {', '.join(allowed)}")
        value = words[i + 1] if i + 1 < len(words) else ""
        if not value or value in _CLAUSES:
            raise FieldError(path, f"nothing after {name!r}", "a time or a length")
        is_second = name in clauses or {name, *clauses} >= {_AT, _FROM}
        if is_second:
            raise FieldError(path, f"{name!r} as well", "one time")
        clauses[name] = value
    return list(words[:first]), clauses


def _factor(path: str, word: str) -> float:
    match = _FACTOR.fullmatch(word)
    if match is None:
        raise FieldError(path, shown(word), "a factor such as x1.5")
    return float(match.group(1))


def _length(path: str, text: str | None, otherwise: float) -> float:
    """Return seconds of a length such as 90s, 10m or 1h30m."""
    if text is None:
        return otherwise
    parts = _LENGTH.findall(text)
    length_s = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or length_s <= 0:
        raise FieldError(path, shown(text), "a length such as 90s, 10m or 1h30m")
    return length_s


def length_s(path: str, text: str) -> float:
    """Return seconds of a length such as 90s, 10m or 1h30m.

    Raises:
        FieldError: it is none.
    """
    return _length(path, text, 0.0)


def _limit(limit: Field) -> float:
    value = limit.number()
    if not (value >= 0 and math.isfinite(value)):
        raise limit.wrong("a number that is at least 0")
    return value
