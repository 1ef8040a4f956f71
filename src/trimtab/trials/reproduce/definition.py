"""A definition file → a published experiment, checked: what was done, what came out, what to try.

Definitions are TOML files, read and checked as scenarios are.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, in_file, toml_field
from trimtab.lab.simulate.scenario_keys import TABLE, TEXT, key, maybe, read
from trimtab.trials.reproduce.published_number import PublishedNumber

_NEEDED = ("experiment", "published")
_OPTIONAL = ("variants",)


class DefinitionError(TrimtabError, ValueError):
    """A file is no definition; says where, what was found and what was expected."""


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
    """Return the definition that a text holds.

    Args:
        text: a file in TOML.
        name: its name, for errors and for whoever asks for it.

    Raises:
        DefinitionError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    whole = toml_field(text, name, DefinitionError)
    try:
        return _definition(whole, name)
    except FieldError as error:
        raise DefinitionError(in_file(name, error)) from error


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
