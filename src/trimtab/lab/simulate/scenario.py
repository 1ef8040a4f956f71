"""A scenario file → a scenario, checked: what a cluster is made of, what happens, what is asked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, shown
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.scenario_checks import checked
from trimtab.lab.simulate.scenario_keys import read
from trimtab.lab.simulate.scenario_overrides import overridden
from trimtab.lab.simulate.scenario_tables import (
    HAPPENINGS,
    BundleGroup,
    Expectation,
    Happening,
    Length,
    MachineGroup,
    Scenario,
    Start,
    Traffic,
)
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.sequences.sequences import conf_text, known_release
from trimtab.pulsar.settings import SettingError, setting

_NEEDED = ("run", "machines", "bundles")
_OPTIONAL = ("traffic", "start", "events", "settings", "expect")
#: Tables that override parameters of the simulation.
OVERRIDES = ("physics", "measuring", "clients")

#: A release that has every key.
_NEWEST = "5.0"


class ScenarioError(TrimtabError, ValueError):
    """A file is no scenario; says where, what was found and what was expected."""


def scenario(given: str | Mapping[str, Any], origin: str) -> Scenario:
    """Read a scenario.

    Args:
        given: the text of a file in TOML, or what was made of it.
        origin: its name, for errors.

    Raises:
        ScenarioError: it is not TOML; a key is missing, misspelt or takes something else;
            or what it says cannot be, such as a broker that leaves and is not there.
    """
    try:
        value = tomllib.loads(given) if isinstance(given, str) else given
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{origin}: expected TOML: {error}") from error
    try:
        made = _scenario(Field(value), origin, question(given) if isinstance(given, str) else "")
        return checked(made, Field(value))
    except FieldError as error:
        path = "the file" if error.path == "the line" else error.path
        message = f"{origin}: {path}: found {error.found}, expected {error.expected}"
        raise ScenarioError(message) from error


def question(text: str) -> str:
    """Take the question of a scenario: the comment at the top, up to the first line without one."""
    lines = []
    for line in text.splitlines():
        said = line.removeprefix("#").strip()
        if not line.startswith("#") or not said:
            break
        lines.append(said)
    return " ".join(lines)


def _scenario(given: Field, origin: str, asked: str) -> Scenario:
    """Read each table by itself."""
    found = given.members(_NEEDED, (*_OPTIONAL, *OVERRIDES))
    none, empty = Field([]), Field({})
    length = read(Length, found["run"])
    known_release(found["run"].at("release", value=length.release))
    overrides = {name: found[name] for name in OVERRIDES if name in found}
    return Scenario(
        origin=origin,
        question=asked,
        run=length,
        machines=tuple(read(MachineGroup, item) for item in found["machines"].items()),
        bundles=tuple(read(BundleGroup, item) for item in found["bundles"].items()),
        traffic=read(Traffic, found.get("traffic", empty)),
        start=read(Start, found.get("start", empty)),
        events=tuple(_event(item) for item in found.get("events", none).items()),
        settings=_settings(found.get("settings", empty)),
        expectations=tuple(read(Expectation, item) for item in found.get("expect", none).items()),
        parameters=overridden(Parameters(), overrides),
    )


def _event(given: Field) -> tuple[str, Happening]:
    """Read an event as the table that its `what` calls for."""
    what = dict(given.entries()).get("what")
    if what is None:
        raise FieldError(given.at("what").path, "nothing", expected_name("", HAPPENINGS))
    if what.text() not in HAPPENINGS:
        raise what.wrong(expected_name(what.text(), HAPPENINGS))
    return what.text(), read(HAPPENINGS[what.text()], given, "what")


def _settings(given: Field) -> Mapping[str, str]:
    """Read keys of broker.conf as it would have them.

    Raises:
        FieldError: no release has the key, or it takes something else.
    """
    conf = {}
    for name, value in given.entries():
        if name not in KEYS:
            expected = expected_name(name, KEYS, "a key that Pulsar's load balancer reads")
            raise FieldError(value.path, shown(name), expected)
        conf[name] = conf_text(value, KEYS[name].kind)
        try:
            setting(conf, name, _NEWEST)
        except SettingError as error:
            raise value.wrong(error.expected) from error
    return conf
