"""A definition file → a published experiment, checked: what was done, what came out, what to try.

Definitions are TOML files, read and checked as scenarios are.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError
from trimtab.lab.simulate.scenario_keys import TABLE, TEXT, key, maybe, read
from trimtab.trials.reproduce.published import Published

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
    published: tuple[Published, ...]
    variants: tuple[Variant, ...]


def definition(text: str, name: str) -> Definition:
    """Read a definition.

    Args:
        text: a file in TOML.
        name: its name, for errors and for whoever asks for it.

    Raises:
        DefinitionError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    try:
        return _definition(Field(tomllib.loads(text)), name)
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError(f"{name}: expected TOML: {error}") from error
    except FieldError as error:
        raise told(name, error) from error


def told(name: str, error: FieldError) -> DefinitionError:
    """Say of which file an error is."""
    path = "the file" if error.path == "the line" else error.path
    return DefinitionError(f"{name}: {path}: found {error.found}, expected {error.expected}")


def _definition(given: Field, name: str) -> Definition:
    found = given.members(_NEEDED, _OPTIONAL)
    head = read(Head, found["experiment"])
    published = tuple(_published(item) for item in found["published"].items())
    if not published:
        raise found["published"].wrong("at least one number")
    variants = tuple(
        read(Variant, item)
        for item in found.get("variants", given.at("variants", value=[])).items()
    )
    _check_apart(found["published"], [each.number for each in published], "number")
    if variants:
        _check_apart(found["variants"], [each.name for each in variants], "name")
    return Definition(name, head, published, variants)


def _published(given: Field) -> Published:
    found = read(Published, given)
    if (found.accepted is None) == bool(found.because):
        raise FieldError(
            given.at("because").path,
            repr(found.because) if found.because else "nothing",
            "a reason where `accepted` is given, and none where it is not",
        )
    return found


def _check_apart(given: Field, names: list[str], of: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise FieldError(given.at(place, of).path, repr(name), "each once")
