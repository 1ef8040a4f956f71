"""What is asked on a command line → a scenario, its world and the strategies that steer it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from trimtab.files.fields import Field, FieldError, expected_name, shown
from trimtab.files.version import __version__
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario_tables import Scenario
from trimtab.lab.simulate.world import World
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.sequences.sequences import known_release
from trimtab.pulsar.settings import SettingError, setting
from trimtab.trials.sweep.grid import (
    SHEDDER_NAMES,
    can_place,
    can_shed,
    class_name,
    placer_name,
    usual_placer,
)
from trimtab.trials.sweep.task import NOBODY


@dataclass(frozen=True, slots=True)
class Question:
    """One experiment, as asked."""

    #: Name of a scenario that trimtab brings, or path of a file.
    scenario: str
    #: Simple name of Pulsar's class, or `NOBODY`; with a placer behind a plus sign, or
    #: without.
    strategy: str
    #: Simple name of Pulsar's class; None for the usual one.
    placement: str | None = None
    #: Pulsar's; None for the scenario's.
    release: str | None = None
    #: `key=value` of broker.conf, in addition to the scenario's.
    settings: tuple[str, ...] = ()
    seed: int = 0
    #: None for as long as the scenario has it.
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A question that can be answered."""

    question: Question
    scenario: Scenario
    world: World
    balancer: Balancer

    @property
    def shedder(self) -> str:
        """Return the class that sheds, or `none`."""
        return self.balancer.shedder or NOBODY

    @property
    def name(self) -> str:
        """Return the classes that shed and place; one name if they are one class."""
        sheds, places = self.balancer.shedder, self.balancer.placer
        if sheds == places:
            return places
        return f"{sheds or 'nobody sheds'} + {places}"

    @property
    def command(self) -> str:
        """Return the command that gives the same again, whatever the defaults will be."""
        question, balancer = self.question, self.balancer
        words = ["trimtab", "simulate", question.scenario, "--strategy", self.shedder]
        words += ["--placement", balancer.placer, "--release", balancer.release]
        for pair in question.settings:
            words += ["--set", pair]
        words += ["--seed", str(question.seed)]
        if question.minutes is not None:
            words += ["--minutes", f"{question.minutes:g}"]
        return f"{shlex.join(words)}  # trimtab {__version__}"


def experiment_of(question: Question) -> Experiment:
    """Return the experiment that a question asks for.

    Raises:
        ScenarioError: there is no such scenario, or it is not one.
        FieldError: a strategy, release or setting that there is not, or a world that cannot
            be drawn.
    """
    scenario = scenario_of(question.scenario)
    release = question.release or scenario.run.release
    known_release(Field(release, ("--release",)))
    sheds, _, joined = question.strategy.partition("+")
    places = question.placement or joined or usual_placer(sheds)
    if joined and question.placement not in (None, joined):
        raise FieldError("--placement", shown(places), f"{joined}, as --strategy has it")
    class_name(Field(sheds, ("--strategy",)), sheds, SHEDDER_NAMES)
    placer_name(Field(places, ("--placement",)), places, sheds)
    if not can_shed(sheds, release):
        raise FieldError("--strategy", sheds, f"a class that Pulsar {release} has")
    if not can_place(places, release):
        raise FieldError("--placement", places, f"a class that Pulsar {release} has")
    conf = {**scenario.settings, **_settings(question.settings, release)}
    world = drawn(scenario, question.seed)
    return Experiment(
        question=question,
        scenario=scenario,
        world=world if question.minutes is None else _cut(world, question.minutes),
        balancer=Balancer(None if sheds == NOBODY else sheds, places, release, conf),
    )


def _settings(pairs: tuple[str, ...], release: str) -> dict[str, str]:
    """Return the settings of `key=value` pairs.

    Raises:
        FieldError: it is no pair, or the release has no such key, or it takes something else.
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise FieldError("--set", shown(pair), "key=value")
        if name not in KEYS:
            expected = expected_name(name, KEYS, "a key that Pulsar's load balancer reads")
            raise FieldError("--set", shown(name), expected)
        if KEYS[name].default(release) is None:
            raise FieldError("--set", name, f"a key that Pulsar {release} has")
        settings[name] = text
        try:
            setting(settings, name, release)
        except SettingError as error:
            raise FieldError(f"--set {name}", shown(text), error.expected) from error
    return settings


def _cut(world: World, minutes: float) -> World:
    """Return a world for another time than the scenario has."""
    event_min = world.event_s / 60
    if minutes <= event_min:
        expected = f"more than {event_min:g}, since outcomes count from there"
        raise FieldError("--minutes", f"{minutes:g}", expected)
    return replace(world, duration_s=60.0 * minutes)
