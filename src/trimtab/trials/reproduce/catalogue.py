"""The published experiments that trimtab brings: a TOML file each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from trimtab.files.fields import FieldError, expected_name, shown
from trimtab.trials.reproduce.definition import Definition, definition

_SUFFIX = ".toml"
_FOLDER = "published"


def names() -> tuple[str, ...]:
    """Return the names of the experiments, in the order of their files."""
    files = resources.files("trimtab.trials.reproduce").joinpath(_FOLDER).iterdir()
    file_names = sorted(file.name for file in files if file.name.endswith(_SUFFIX))
    # A number before the name keeps the order, and is no part of it.
    return tuple(name.removesuffix(_SUFFIX).partition("-")[2] for name in file_names)


def chosen(only: Sequence[str]) -> tuple[Definition, ...]:
    """Return the experiments that are asked for, or all if none are named.

    Raises:
        FieldError: there is none of that name.
        DefinitionError: a file is no definition.
    """
    choices = names()
    for name in only:
        if name not in choices:
            raise FieldError("--only", shown(name), expected_name(name, choices))
    return tuple(_definition(name) for name in choices if not only or name in only)


def _definition(name: str) -> Definition:
    folder = resources.files("trimtab.trials.reproduce").joinpath(_FOLDER)
    file = next(file for file in folder.iterdir() if file.name.endswith(f"-{name}{_SUFFIX}"))
    return definition(file.read_text(encoding="utf-8"), name)
