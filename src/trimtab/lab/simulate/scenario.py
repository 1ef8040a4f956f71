"""A scenario file → a scenario, checked: what a cluster is made of, what happens, what is asked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, in_file, shown, toml_field
from trimtab.lab.simulate.parameters import Clients, Measuring, Parameters, Physics
from trimtab.lab.simulate.scenario_checks import checked
from trimtab.lab.simulate.scenario_keys import read
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

Overridden = TypeVar("Overridden", Physics, Measuring, Clients)

_NEEDED = ("run", "machines", "bundles")
_OPTIONAL = ("traffic", "start", "events", "settings", "expect")
#: Tables that override parameters of the simulation.
OVERRIDES = ("physics", "measuring", "clients")

#: A release that has every key.
_NEWEST = "5.0"


class ScenarioError(TrimtabError, ValueError):
    """A file is no scenario; says where, what was found and what was expected."""


def scenario(source: str | Mapping[str, Any], origin: str) -> Scenario:
    """Return the scenario that a text or a table describes.

    Raises:
        ScenarioError: it is not TOML; a key is missing, misspelt or takes something else;
            or what it says cannot be, such as a broker that leaves and is not there.
    """
    if isinstance(source, str):
        whole, comment = toml_field(source, origin, ScenarioError), question(source)
    else:
        whole, comment = Field(source), ""
    try:
        return checked(_scenario(whole, origin, comment), whole)
    except FieldError as error:
        raise ScenarioError(in_file(origin, error)) from error


def question(text: str) -> str:
    """Return a scenario's question: the comment at the top, up to the first line without one."""
    lines = []
    for line in text.splitlines():
        words = line.removeprefix("#").strip()
        if not line.startswith("#") or not words:
            break
        lines.append(words)
    return " ".join(lines)


def _scenario(document: Field, origin: str, question: str) -> Scenario:
    """Return a scenario, each table read by itself."""
    tables = document.members(_NEEDED, (*_OPTIONAL, *OVERRIDES))
    none, empty = Field([]), Field({})
    length = read(Length, tables["run"])
    known_release(tables["run"].at("release", value=length.release))
    parameters = Parameters()
    overrides = {
        name: _overridden(getattr(parameters, name), tables[name])
        for name in OVERRIDES
        if name in tables
    }
    return Scenario(
        origin=origin,
        question=question,
        run=length,
        machines=tuple(read(MachineGroup, item) for item in tables["machines"].items()),
        bundles=tuple(read(BundleGroup, item) for item in tables["bundles"].items()),
        traffic=read(Traffic, tables.get("traffic", empty)),
        start=read(Start, tables.get("start", empty)),
        events=tuple(_event(item) for item in tables.get("events", none).items()),
        settings=_settings(tables.get("settings", empty)),
        expectations=tuple(read(Expectation, item) for item in tables.get("expect", none).items()),
        parameters=dataclasses.replace(parameters, **overrides),
    )


def _event(table: Field) -> tuple[str, Happening]:
    """Return an event, read as the table that its `what` calls for."""
    what = dict(table.entries()).get("what")
    if what is None:
        raise FieldError(table.at("what").path, "nothing", expected_name("", HAPPENINGS))
    if what.text() not in HAPPENINGS:
        raise what.wrong(expected_name(what.text(), HAPPENINGS))
    return what.text(), read(HAPPENINGS[what.text()], table, "what")


def _settings(table: Field) -> Mapping[str, str]:
    """Return keys of broker.conf as it would have them.

    Raises:
        FieldError: no release has the key, or it takes something else.
    """
    conf = {}
    for name, value in table.entries():
        if name not in KEYS:
            expected = expected_name(name, KEYS, "a key that Pulsar's load balancer reads")
            raise FieldError(value.path, shown(name), expected)
        conf[name] = conf_text(value, KEYS[name].kind)
        try:
            setting(conf, name, _NEWEST)
        except SettingError as error:
            raise value.wrong(error.expected) from error
    return conf


def _overridden(table: Overridden, keys: Field) -> Overridden:
    """Return parameters with the fields of one table replaced; each keeps the type that it has."""
    known = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    members = keys.members((), known)
    values: dict[str, Any] = {name: _like(known[name], value) for name, value in members.items()}
    try:
        return dataclasses.replace(table, **values)
    except ValueError as error:
        # As the parameters say it: name, what was found, what was expected.
        name, _, rest = str(error).partition(": found ")
        value, _, expected = rest.partition(", expected ")
        raise FieldError(keys.at(name).path, value, expected) from error


def _like(default: object, field: Field) -> object:
    """Return a value of the type that a default has."""
    if isinstance(default, bool):
        return field.flag()
    if isinstance(default, int):
        if not isinstance(field.value, int) or isinstance(field.value, bool):
            raise field.wrong("a whole number")
        return field.value
    if isinstance(default, tuple):
        return field.numbers((len(default),), f"a list of {len(default)} numbers")
    value = field.number()
    if not math.isfinite(value):
        raise field.wrong("a number that is finite")
    return value
