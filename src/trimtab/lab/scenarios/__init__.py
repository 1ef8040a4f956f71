"""Where scenarios come from: those that trimtab brings, by name; others by their path."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from trimtab.files.fields import expected_name
from trimtab.files.whole_files import read_text
from trimtab.lab.outcomes import MEASURES
from trimtab.lab.simulate.scenario import ScenarioError, scenario
from trimtab.lab.simulate.scenario_tables import Scenario

_SUFFIX = ".toml"

#: Other names, under which some of them are spoken of.
ALIASES: Mapping[str, str] = {
    "100plus100": "S09",
    "book-5x3tasks": "S01-staggered",
    "book-hetero4": "S03",
    "book-onoff": "S04",
    "deadzone-other-process": "S16",
    "hot-bundle-indivisible": "S17",
}


def built_in() -> tuple[str, ...]:
    """Return the names of the scenarios that trimtab brings, in order."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(_SUFFIX) for f in files if f.name.endswith(_SUFFIX)))


def scenario_text(name: str) -> str:
    """Return the text of a scenario that trimtab brings."""
    return resources.files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def scenario_of(name: str) -> Scenario:
    """Return the scenario of a name or a file.

    Args:
        name: of one that trimtab brings, or the path of a file: whatever has a slash or
            ends in .toml is a path.

    Raises:
        ScenarioError: there is none, or it is not one, or it expects what is no outcome.
    """
    if "/" in name or name.endswith(_SUFFIX):
        return checked_outcomes(scenario(read_text(name, ScenarioError), name))
    known = ALIASES.get(name, name)
    if known not in built_in():
        expected = expected_name(name, [*built_in(), *ALIASES], "one that trimtab brings")
        raise ScenarioError(f"scenario {name!r}: expected {expected}, or the path of a file")
    return checked_outcomes(scenario(scenario_text(known), known))


def checked_outcomes(read: Scenario) -> Scenario:
    """Return a scenario whose expectations are about outcomes that there are."""
    for i, expectation in enumerate(read.expectations):
        if expectation.outcome not in MEASURES:
            expected = expected_name(expectation.outcome, MEASURES)
            raise ScenarioError(
                f"{read.origin}: expect[{i}].outcome: found {expectation.outcome!r}, "
                f"expected {expected}"
            )
    return read
