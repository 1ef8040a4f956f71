"""A definition file → a published experiment, checked: what was done, what came out, what to try.

Definitions are TOML files, read and checked as scenarios are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, in_file, shown, toml_field
from trimtab.lab.simulate import scenario_keys
from trimtab.lab.simulate.scenario_keys import (
    FLAG,
    TABLE,
    TEXT,
    Kind,
    Span,
    bounds,
    key,
    maybe,
    one_of,
    read,
    span,
)
from trimtab.trials.reproduce.numbers import MEANINGS

_NEEDED = ("experiment", "published")
_OPTIONAL = ("variants",)
#: The experiments that trimtab brings, a file each.
_PUBLISHED = resources.files("trimtab.trials.reproduce").joinpath("published")


class DefinitionError(TrimtabError, ValueError):
    """A file is no definition; says where, what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How far from a published number a reproduction may lie."""

    #: Share of the number, and what is allowed at least.
    share: float
    least: float
    #: As a person would say it.
    says: str


#: The name of something that is taken of a run; there are too many to be listed.
NUMBER_NAME: Kind[str] = Kind(one_of(MEANINGS).take, "the name of an outcome, or of a number")
#: Under another name, as `number` is a key.
_NUMBER = scenario_keys.number()
_PERCENT = Rule(0.0, 7.5, "7.5 points more or less: half of the spread that counts as balanced")
#: Unit → rule.
RULES: Mapping[str, Rule] = {
    "": Rule(0.5, 1.0, "half as many more or less, and one at least"),
    "1/h": Rule(0.5, 1.0, "half as many more or less, and one at least"),
    "min": Rule(0.5, 2.0, "half as long more or less, and two minutes at least"),
    "%": _PERCENT,
    "points": _PERCENT,
    "times": Rule(0.2, 0.0, "a fifth more or less"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """`[[published]]`: one number of the published experiment."""

    number: str = key(NUMBER_NAME, "what of a run it is held against")
    value: Span = key(span(_NUMBER), "what was published")
    or_more: bool = key(FLAG, "that much or more was published", False)
    says: str = key(TEXT, "how it was said")
    accepted: Span | None = key(
        maybe(bounds(_NUMBER)), "what counts as reached; what the rule for its unit says", None
    )
    because: str = key(TEXT, "why that counts, where it is given", "")

    def limits(self) -> Span:
        """Return between what a reproduction has reached the number.

        Properties:
            The published number lies within, unless the definition says otherwise.
        """
        if self.accepted is not None:
            return self.accepted
        low, high = tolerated(MEANINGS[self.number].unit, self.value)
        return low, math.inf if self.or_more else high


def tolerated(unit: str, value: Span) -> Span:
    """Return a published number, or range of numbers, widened by the rule for its unit.

    >>> tolerated("", (8.0, 8.0)), tolerated("min", (2.5, 2.5)), tolerated("%", (56.0, 60.0))
    ((4.0, 12.0), (0.5, 4.5), (48.5, 67.5))
    """
    rule = RULES.get(unit, RULES[""])
    low, high = value
    return low - max(rule.least, rule.share * low), high + max(rule.least, rule.share * high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """`[experiment]`: what was published, and what stands for it here."""

    title: str = key(TEXT, "what was done, in a few words")
    source: str = key(TEXT, "where it was published, in words")
    scenario: str = key(TEXT, "the scenario that comes nearest to it")
    strategy: str = key(TEXT, "shedder and placer, as in a sweep")
    settings: Field | None = key(maybe(TABLE), "keys of broker.conf besides the scenario's", None)
    remark: str = key(TEXT, "what to know when reading the numbers", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """`[[variants]]`: the same under another assumption, the weakest first."""

    name: str = key(TEXT, "two or three words")
    condition: str = key(TEXT, "continues 'comes out only if'")
    scenario: str = key(TEXT, "another scenario; that of the experiment", "")
    settings: Field | None = key(
        maybe(TABLE), "keys of broker.conf besides, or instead of, the experiment's", None
    )
    changes: Field | None = key(
        maybe(TABLE), "tables of the scenario, with the keys that are changed in each of them", None
    )


@dataclass(frozen=True, slots=True)
class Definition:
    """A published experiment."""

    name: str
    head: Head
    published: tuple[PublishedNumber, ...]
    variants: tuple[Variant, ...]


def definition(text: str, name: str) -> Definition:
    """Return the definition that a text in TOML holds, under a name.

    Raises:
        DefinitionError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    whole = toml_field(text, name, DefinitionError)
    try:
        return _definition(whole, name)
    except FieldError as error:
        raise DefinitionError(in_file(name, error)) from error


def names() -> tuple[str, ...]:
    """Return the names of the experiments that trimtab brings, in the order of their files."""
    # A number before the name keeps the order, and is no part of it.
    files = sorted(file.name.removesuffix(".toml") for file in _PUBLISHED.iterdir())
    return tuple(name.partition("-")[2] for name in files)


def chosen(only: Sequence[str]) -> tuple[Definition, ...]:
    """Return the experiments of these names, or all if none are named.

    Raises:
        FieldError: there is none of that name.
        DefinitionError: a file is no definition.
    """
    choices = names()
    for name in only:
        if name not in choices:
            raise FieldError("--only", shown(name), expected_name(name, choices))
    texts = sorted((file.name, file.read_text(encoding="utf-8")) for file in _PUBLISHED.iterdir())
    return tuple(
        definition(text, name)
        for name, (_, text) in zip(choices, texts, strict=True)
        if not only or name in only
    )


def _definition(file: Field, name: str) -> Definition:
    tables = file.members(_NEEDED, _OPTIONAL)
    head = read(Head, tables["experiment"])
    published = tuple(_published(item) for item in tables["published"].items())
    if not published:
        raise tables["published"].wrong("at least one number")
    variants = tuple(
        read(Variant, item)
        for item in tables.get("variants", file.at("variants", value=[])).items()
    )
    _check_apart(tables["published"], [each.number for each in published], "number")
    if variants:
        _check_apart(tables["variants"], [each.name for each in variants], "name")
    return Definition(name, head, published, variants)


def _published(table: Field) -> PublishedNumber:
    number = read(PublishedNumber, table)
    if (number.accepted is None) == bool(number.because):
        raise FieldError(
            table.at("because").path,
            repr(number.because) if number.because else "nothing",
            "a reason where `accepted` is given, and none where it is not",
        )
    return number


def _check_apart(tables: Field, names: list[str], of: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise FieldError(tables.at(place, of).path, repr(name), "each once")
