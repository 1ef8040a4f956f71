"""A definition file → a published experiment, checked: what was done, what came out, what to try.

Definitions are TOML files, read and checked as scenarios are.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, in_file, shown, toml_field
from trimtab.lab.scenarios import ALIASES, built_in, scenario_text
from trimtab.lab.simulate.scenario import ScenarioError, question, scenario
from trimtab.lab.simulate.scenario_keys import TABLE, TEXT, key, maybe, read
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.trials.reproduce.published_number import PublishedNumber
from trimtab.trials.sweep.grid import Strategy, axes, strategies
from trimtab.trials.sweep.task import Task

#: What the first arm is called: the experiment as it was published, as far as is known.
AS_PUBLISHED = "as published"

_NEEDED = ("experiment", "published")
_OPTIONAL = ("variants",)
#: The experiments that trimtab brings, a file each.
_PUBLISHED = resources.files("trimtab.trials.reproduce").joinpath("published")


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


@dataclass(frozen=True, slots=True)
class Arm:
    """What is run, over all seeds."""

    name: str
    #: Continues "comes out only if"; empty of the first arm.
    condition: str
    #: As rows know it: the name of a scenario, and the variant if that changes it.
    scenario_name: str
    scenario: Scenario
    strategy: Strategy

    def task(self, seed: int) -> Task:
        """Return the task that runs it with a seed."""
        return Task(self.scenario_name, *self.strategy.key(self.scenario.run.release), seed)


def arms(of: Definition) -> tuple[Arm, ...]:
    """Return the arms of a definition, the experiment as published first.

    Raises:
        DefinitionError: there is no such scenario, strategy or setting, or a change makes a
            scenario one that cannot be.
    """
    first = Variant(name=AS_PUBLISHED, condition="")
    return tuple(
        _arm(of, variant, ("variants", place - 1) if place else ("experiment",))
        for place, variant in enumerate((first, *of.variants))
    )


def scenarios_of(arms: Sequence[Arm]) -> Mapping[str, Scenario]:
    """Return the scenarios of arms by the names that rows know.

    Raises:
        DefinitionError: two scenarios have the same name.
    """
    gathered: dict[str, Scenario] = {}
    for each in arms:
        first = gathered.setdefault(each.scenario_name, each.scenario)
        if first != each.scenario or first.parameters != each.scenario.parameters:
            raise DefinitionError(f"two scenarios are called {each.scenario_name!r}")
    return gathered


def _arm(of: Definition, variant: Variant, where: tuple[str | int, ...]) -> Arm:
    name = variant.scenario or of.head.scenario
    place = Field(name, (*where, "scenario") if variant.scenario else ("experiment", "scenario"))
    try:
        of_arm = _scenario(place, variant)
        strategy = _strategy(of, variant)
        strategy.check(strategy.release or of_arm.run.release)
    except FieldError as error:
        raise DefinitionError(in_file(of.name, error)) from error
    except ScenarioError as error:
        raise DefinitionError(f"{of.name}: {variant.name}: {error}") from error
    changed = "" if variant.changes is None else f" ({variant.name})"
    return Arm(variant.name, variant.condition, name + changed, of_arm, strategy)


def _scenario(named: Field, variant: Variant) -> Scenario:
    """Return a scenario with what a variant changes in it."""
    name = ALIASES.get(named.text(), named.text())
    if name not in built_in():
        raise named.wrong(expected_name(name, built_in(), "a scenario that trimtab brings"))
    text = scenario_text(name)
    if variant.changes is None:
        return scenario(text, name)
    changed = scenario(_changed(tomllib.loads(text), variant.changes), name)
    return dataclasses.replace(changed, question=question(text))


def _changed(tables: Mapping[str, Any], changes: Field) -> dict[str, Any]:
    """Return tables with changed keys; of a list of tables, each with them."""
    merged = dict(tables)
    for name, table in changes.entries():
        keys = {key: value.value for key, value in table.entries()}
        now = merged.get(name, {})
        is_list = isinstance(now, list)
        merged[name] = [{**each, **keys} for each in now] if is_list else {**now, **keys}
    return merged


def _strategy(of: Definition, variant: Variant) -> Strategy:
    """Return the strategy of an arm; no setting may be tried with several values."""
    settings: dict[str, str] = {}
    for each in (of.head.settings, variant.settings):
        values = {} if each is None else axes(each)
        for name, tried in values.items():
            if each is not None and len(tried) != 1:
                raise dict(each.entries())[name].wrong("one value")
            settings[name] = tried[0]
    where = Field(of.head.strategy, ("experiment", "strategy"))
    (strategy,) = strategies(where, None, Field(settings))
    return strategy
