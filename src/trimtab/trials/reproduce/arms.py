"""A definition → its arms: which scenario, changed in what, under which strategy."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.files.fields import Field, FieldError, expected_name, in_file
from trimtab.lab.scenarios import ALIASES, built_in, scenario_text
from trimtab.lab.simulate.scenario import ScenarioError, question, scenario
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.trials.reproduce.definition import Definition, DefinitionError, Variant
from trimtab.trials.sweep.strategies import Strategy, axes, strategies
from trimtab.trials.sweep.task import Task

#: What the first arm is called: the experiment as it was published, as far as is known.
AS_PUBLISHED = "as published"


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
        for key, tried in values.items():
            if each is not None and len(tried) != 1:
                raise dict(each.entries())[key].wrong("one value")
            settings[key] = tried[0]
    where = Field(of.head.strategy, ("experiment", "strategy"))
    (strategy,) = strategies(where, None, Field(settings))
    return strategy
