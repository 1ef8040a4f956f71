"""A grid file → what is to be run: scenarios × strategies × releases × settings × seeds.

A strategy is a shedder with a placer, spelt `ThresholdShedder+LeastLongTermMessageRate`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, expected_name, shown, toml_field
from trimtab.files.whole_files import read_text
from trimtab.lab.steering import STRATEGIES, StrategyError, bare, is_own, own
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.place import PLACERS, placer
from trimtab.pulsar.sequences.sequences import conf_text, known_release
from trimtab.pulsar.settings import SettingError, setting
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS, extensible_shedder, shedder
from trimtab.trials.sweep.task import NOBODY, StrategyKey, Task, settings_text

#: Joins a shedder and its placer.
JOINT = "+"
#: Pulsar's placer where none is named, unless the shedder is one too.
USUAL_PLACER = "LeastLongTermMessageRate"
#: The pairs that make sense, Pulsar's default first, and nobody shedding.
USUAL = (
    "ThresholdShedder+LeastLongTermMessageRate",
    "ThresholdShedder+LeastResourceUsageWithWeight",
    "UniformLoadShedder+LeastLongTermMessageRate",
    "OverloadShedder+LeastLongTermMessageRate",
    "AvgShedder+AvgShedder",
    "none+LeastLongTermMessageRate",
)

#: Simple names of Pulsar's classes, of whichever releases, and of nobody; trimtab's own shed.
SHEDDER_NAMES = frozenset(name for name, _ in (*SHEDDERS, *EXTENSIBLE_SHEDDERS)) | {
    NOBODY,
    *STRATEGIES,
}
#: The shedders of the extensible load manager, and the placer that it has beside them.
_EXTENSIBLE = frozenset(name for name, _ in EXTENSIBLE_SHEDDERS)
_EXTENSIBLE_PLACER = "LeastResourceUsageWithWeight"
PLACER_NAMES = frozenset(name for name, _ in PLACERS)
#: A release that has every key.
_NEWEST = "5.0"

#: s that a run may take where the grid says nothing.
TIME_LIMIT_S = 600.0

_NEEDED = ("scenarios", "seeds", "strategies")
_OPTIONAL = ("releases", "settings", "time_limit_s")
_SEED_MAX = 2**32 - 1
_SEEDS_MAX = 100_000


class GridError(TrimtabError, ValueError):
    """A file is no grid; says where, what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A shedder with a placer, in one release and under one choice of settings."""

    shedder: str
    placement: str
    #: None stands for the scenario's.
    release: str | None
    #: broker.conf's keys, as text.
    settings: Mapping[str, str]
    #: Where it stands, for errors.
    where: Field = field(compare=False)

    def check(self, release: str) -> None:
        """Check that a release has all of it.

        Raises:
            FieldError: it has no such strategy, or no such key.
        """
        has = [
            (self.shedder, can_shed(self.shedder, release)),
            (self.placement, can_place(self.placement, release)),
            *((name, KEYS[name].default(release) is not None) for name in self.settings),
        ]
        for name, is_there in has:
            if not is_there:
                raise FieldError(self.where.path, name, f"something that Pulsar {release} has")

    def key(self, release: str) -> StrategyKey:
        """Return it as rows know it, in a release if it has none of its own."""
        settings = settings_text(self.settings)
        return StrategyKey(self.shedder, self.placement, self.release or release, settings)


def usual(releases: Iterable[str]) -> tuple[str, ...]:
    """Return the pairs of `USUAL` that every one of some releases has."""
    return tuple(
        name
        for name in USUAL
        for sheds, places in (pair(Field(name)),)
        if all(can_shed(sheds, each) and can_place(places, each) for each in releases)
    )


def pair(field: Field) -> tuple[str, str]:
    """Return a shedder and its placer: `AvgShedder`, `OverloadShedder+RoundRobinBrokerSelector`.

    `none` for a shedder stands for nobody shedding.

    Raises:
        FieldError: there is no such strategy.
    """
    first, joint, second = field.text().partition(JOINT)
    sheds = class_name(field, first.strip(), SHEDDER_NAMES)
    if not joint:
        return sheds, usual_placer(sheds)
    return sheds, placer_name(field, second.strip(), sheds)


def usual_placer(sheds: str) -> str:
    """Return the shedder itself if it places, too: AvgShedder knows where its bundles belong."""
    if sheds in _EXTENSIBLE:
        return _EXTENSIBLE_PLACER
    return sheds if sheds in PLACER_NAMES or is_own(sheds) else USUAL_PLACER


def class_name(field: Field, name: str, known: Iterable[str]) -> str:
    """Return the name of a class if it is a known one, or a strategy of trimtab's own.

    Raises:
        FieldError: it is not.
    """
    try:
        own(name)
    except StrategyError as error:
        raise field.wrong(error.expected) from error
    if bare(name) not in set(known):
        raise field.wrong(expected_name(name, known))
    return name


def placer_name(field: Field, name: str, sheds: str) -> str:
    """Return the name of a placer: one of Pulsar's, or trimtab's own where it sheds, too.

    Raises:
        FieldError: it is not.
    """
    if sheds in _EXTENSIBLE:
        return class_name(field, name, [_EXTENSIBLE_PLACER])
    return name if is_own(name) and name == sheds else class_name(field, name, PLACER_NAMES)


def strategies(
    entry: Field, releases: Field | None, settings: Field | None
) -> tuple[Strategy, ...]:
    """Return the strategies of one entry of a grid: the text of a pair, or a table.

    The entry's own releases replace those of the whole grid, and its settings key by key.

    Returns:
        A strategy for each release and each choice of settings.

    Raises:
        FieldError: something is misspelt, of a wrong type or unknown.
    """
    common = {} if settings is None else axes(settings)
    if isinstance(entry.value, str):
        named = pair(entry)
    else:
        table = entry.members(("shedder",), ("placement", "releases", "settings"))
        named = _pair_of(table)
        releases = table.get("releases", releases)
        common |= axes(table["settings"]) if "settings" in table else {}
    return tuple(
        Strategy(*named, release, conf, entry)
        for release in _releases(releases)
        for conf in choices(common)
    )


def settings_by_key(texts: Sequence[str]) -> Field:
    """Return the texts `key=value` of --set by key; all values of a key that comes again.

    Raises:
        FieldError: a text has no `=`.
    """
    where = ("--set",)
    values: dict[str, list[str]] = {}
    for each in texts:
        key, equals, value = each.partition("=")
        if not equals:
            raise Field(each, where).wrong("key=value")
        values.setdefault(key.strip(), []).append(value.strip())
    return Field(values, where)


def axes(settings: Field) -> dict[str, tuple[str, ...]]:
    """Return the values to try of each setting: a key of broker.conf and one value, or a list.

    Raises:
        FieldError: no release has the key, or it takes something else.
    """
    of_key = {}
    for name, value in settings.entries():
        if name not in KEYS:
            expected = expected_name(name, KEYS, "a key that Pulsar's load balancer reads")
            raise FieldError(value.path, shown(name), expected)
        values = tuple(value.items()) if isinstance(value.value, list) else (value,)
        if not values:
            raise value.wrong("a value, or a list of some")
        of_key[name] = tuple(dict.fromkeys(_conf_value(name, each) for each in values))
    return of_key


def choices(values: Mapping[str, Iterable[str]]) -> Iterator[Mapping[str, str]]:
    """Return every choice of one value for each key."""
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def can_shed(sheds: str, release: str) -> bool:
    """Return whether a release has a shedder, or none is needed."""
    if sheds in _EXTENSIBLE:
        return extensible_shedder(sheds, release) is not None
    return sheds == NOBODY or is_own(sheds) or shedder(sheds, release) is not None


def can_place(places: str, release: str) -> bool:
    """Return whether a release has a placer, or it is trimtab's own."""
    return is_own(places) or placer(places, release) is not None


def _pair_of(table: Mapping[str, Field]) -> tuple[str, str]:
    if "placement" not in table:
        return pair(table["shedder"])
    sheds = class_name(table["shedder"], table["shedder"].text(), SHEDDER_NAMES)
    return sheds, placer_name(table["placement"], table["placement"].text(), sheds)


def _releases(field: Field | None) -> tuple[str | None, ...]:
    if field is None:
        return (None,)
    releases = tuple(known_release(item) for item in field.items())
    if not releases:
        raise field.wrong("a list of releases")
    return releases


def _conf_value(name: str, value: Field) -> str:
    """Return a value as broker.conf would have it, read as a broker would."""
    text = conf_text(value, KEYS[name].kind)
    try:
        setting({name: text}, name, _NEWEST)
    except SettingError as error:
        raise value.wrong(error.expected) from error
    return text


@dataclass(frozen=True, slots=True)
class Grid:
    """What is swept over."""

    #: Names or paths, as given.
    scenarios: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    seeds: tuple[int, ...]
    #: s that a run may take.
    time_limit_s: float = TIME_LIMIT_S
    #: Where it was read, for errors.
    origin: str = field(default="", compare=False)

    def tasks(self, releases: Mapping[str, str]) -> frozenset[Task]:
        """Return what is to be run.

        Raises:
            GridError: a release has no such strategy, or no such key.
        """
        return frozenset(
            Task(scenario, *self._key(strategy, release), seed)
            for scenario, release in releases.items()
            for strategy in self.strategies
            for seed in self.seeds
        )

    def _key(self, strategy: Strategy, release: str) -> StrategyKey:
        try:
            strategy.check(strategy.release or release)
        except FieldError as error:
            raise GridError(f"{self.origin}: {error}") from error
        return strategy.key(release)


def grid(text: str, origin: str) -> Grid:
    """Return the grid that a text holds.

    Raises:
        GridError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    whole = toml_field(text, origin, GridError)
    try:
        return _grid(whole, origin)
    except FieldError as error:
        raise GridError(f"{origin}: {error}") from error


def read_grid(path: Path) -> Grid:
    """Return the grid of a file.

    Raises:
        GridError: the file cannot be read, or is no grid.
    """
    return grid(read_text(path, GridError), str(path))


def seeds(field: Field) -> tuple[int, ...]:
    """Return seeds: a list, or how many, from 0.

    Raises:
        FieldError: it is neither, or a seed is below 0 or no whole number.
    """
    if isinstance(field.value, list):
        several = tuple(dict.fromkeys(_whole(item, 0, _SEED_MAX) for item in field.items()))
        if not several:
            raise field.wrong("at least one seed")
        return several
    return tuple(range(_whole(field, 1, _SEEDS_MAX)))


def _grid(field: Field, origin: str) -> Grid:
    tables = field.members(_NEEDED, _OPTIONAL)
    scenarios = tuple(dict.fromkeys(tables["scenarios"].names()))
    if not scenarios:
        raise tables["scenarios"].wrong("at least one scenario")
    common = tables.get("releases"), tables.get("settings")
    chosen = [each for item in tables["strategies"].items() for each in strategies(item, *common)]
    if not chosen:
        raise tables["strategies"].wrong("at least one strategy")
    limit_s = TIME_LIMIT_S
    if "time_limit_s" in tables:
        limit_s = tables["time_limit_s"].number()
        if not (limit_s > 0 and math.isfinite(limit_s)):
            raise tables["time_limit_s"].wrong("seconds, more than none")
    return Grid(scenarios, tuple(chosen), seeds(tables["seeds"]), limit_s, origin)


def _whole(field: Field, least: int, most: int) -> int:
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise field.wrong(f"a whole number from {least} to {most}")
    return value
