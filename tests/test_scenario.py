"""Scenario files: what is said of those that are wrong, and that those of trimtab are right."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.lab.outcomes import MEASURES
from trimtab.lab.scenarios import ALIASES, built_in, checked_outcomes, scenario_of, scenario_text
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.scenario import ScenarioError, question, scenario
from trimtab.lab.simulate.scenario_tables import HAPPENINGS, Scenario
from trimtab.lab.simulate.world import World

FIXTURE = Path(__file__).parent / "testdata" / "scenario" / "errors.txt"
BASE = {"run": {"minutes": 30}, "machines": [{"count": 3}], "bundles": [{"count": 12}]}


class Scenarios:
    """Scenario files, given whole or as what differs from a small one."""

    def scenario(self, lines: tuple[str, ...]) -> str:
        return self._told("\n".join(lines))

    def changed(self, lines: tuple[str, ...]) -> str:
        return self._told(BASE | tomllib.loads("\n".join(lines)))

    def drawn(self, lines: tuple[str, ...]) -> str:
        try:
            drawn(scenario(BASE | tomllib.loads("\n".join(lines)), "file.toml"), 0)
        except ValueError as error:
            return str(error)
        return "drawn"

    def found(self, *, name: str) -> str:
        try:
            return scenario_of(name).origin
        except ScenarioError as error:
            return str(error)

    def _told(self, given: str | dict[str, Any]) -> str:
        try:
            read = checked_outcomes(scenario(given, "file.toml"))
        except ScenarioError as error:
            return str(error)
        return f"{read.n_machines} machines, {read.n_bundles} bundles: {read.question}"


def test_what_is_said_of_files(tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(FIXTURE, Scenarios()),
        encoding="utf-8",
        fullpath=FIXTURE,
        obtained_filename=tmp_path / FIXTURE.name,
    )


# ------------------------------------------------------------------ those of trimtab


def test_there_are_scenarios_and_they_use_what_there_is() -> None:
    texts = "\n".join(map(scenario_text, built_in()))

    assert len(built_in()) >= 80
    assert [what for what in HAPPENINGS if f'what = "{what}"' not in texts] == []
    assert {"S01", "S17", "pd-stable", "rc-linear", "asim-rand"} <= set(built_in())


@pytest.mark.parametrize("name", built_in())
def test_scenario_asks_a_question_and_expects_something(name: str) -> None:
    found = scenario_of(name)

    assert found.question.endswith("?")
    assert len(found.question) > 40
    assert found.expectations
    assert {expectation.outcome for expectation in found.expectations} <= set(MEASURES)
    assert all(expectation.because for expectation in found.expectations)


def test_every_budget_is_for_a_strategy_that_sheds() -> None:
    """A budget that holds when nothing is shed is no expectation of anybody."""
    bounded = [
        (name, expectation.outcome)
        for name in built_in()
        for expectation in scenario_of(name).expectations
        if "none" in expectation.under
    ]

    assert bounded == []


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_other_names_lead_to_scenarios(alias: str) -> None:
    assert scenario_of(alias) == scenario_of(ALIASES[alias])
    assert alias not in built_in()


def same(one: World, other: World) -> bool:
    return spelt(one) == spelt(other)


def spelt(thing: object) -> object:
    """Spell a world with its arrays as bytes."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if dataclasses.is_dataclass(thing):
        return [spelt(getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    return [spelt(each) for each in thing] if isinstance(thing, tuple) else thing


@pytest.mark.slow
@pytest.mark.parametrize("name", built_in())
def test_scenario_is_drawn_the_same_from_a_seed_and_otherwise_from_another(name: str) -> None:
    found = scenario_of(name)
    world = drawn(found, 3)

    assert same(world, drawn(found, 3))
    assert not same(
        dataclasses.replace(world, seed=0), dataclasses.replace(drawn(found, 4), seed=0)
    )
    assert len(world.bundles.names) == len(set(world.bundles.names)) == found.n_bundles
    assert world.machines.is_up[world.bundles.owner].all()
    assert list(world.events) == sorted(world.events, key=lambda event: event.time_s)
    arrays = [getattr(world.bundles, field.name) for field in dataclasses.fields(world.bundles)][1:]
    assert all(len(array) == found.n_bundles and np.isfinite(array).all() for array in arrays)


# ------------------------------------------------------------------ reading


def small(**tables: Any) -> Scenario:
    return scenario(BASE | tables, "a test")


def test_the_question_is_the_comment_at_the_top() -> None:
    assert question("# How soon?\n# And why?\n\n# Not this.\n[run]\n") == "How soon? And why?"
    assert question("# One.\n#\n# Not this.\n") == "One."
    assert question("[run]\n# Not this.\n") == ""


def test_settings_are_as_broker_conf_has_them() -> None:
    settings = {
        "loadBalancerDistributeBundlesEvenlyEnabled": False,
        "loadBalancerSheddingIntervalMinutes": 2,
        "loadBalancerHistoryResourcePercentage": 0.5,
    }

    assert small(settings=settings).settings == {
        "loadBalancerDistributeBundlesEvenlyEnabled": "false",
        "loadBalancerSheddingIntervalMinutes": "2",
        "loadBalancerHistoryResourcePercentage": "0.5",
    }


def test_parameters_are_those_that_hold_otherwise_but_for_what_is_overridden() -> None:
    given = small(physics={"day_s": 43200}, clients={"session_s": [10, 12]}).parameters

    assert given == dataclasses.replace(
        Parameters(),
        physics=dataclasses.replace(Parameters().physics, day_s=43200.0),
        clients=dataclasses.replace(Parameters().clients, session_s=(10.0, 12.0)),
    )
    assert small().parameters == Parameters()


def test_a_path_is_read_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(scenario_text("S05"), encoding="utf-8")

    assert dataclasses.replace(scenario_of(str(path)), origin="S05") == scenario_of("S05")

    path.write_bytes(b"# \xff\n")
    with pytest.raises(ScenarioError, match=r"mine\.toml: expected text in UTF-8"):
        scenario_of(str(path))
    with pytest.raises(ScenarioError, match="Is a directory"):
        scenario_of(f"{tmp_path}/")
