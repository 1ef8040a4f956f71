"""A grid file → what is to be run: scenarios × strategies × releases × settings × seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError, toml_field
from trimtab.files.whole_files import read_text
from trimtab.trials.sweep.strategies import Strategy, strategies
from trimtab.trials.sweep.task import StrategyKey, Task

#: s that a run may take where the grid says nothing.
TIME_LIMIT_S = 600.0

_NEEDED = ("scenarios", "seeds", "strategies")
_OPTIONAL = ("releases", "settings", "time_limit_s")
_SEED_MAX = 2**32 - 1
_SEEDS_MAX = 100_000


class GridError(TrimtabError, ValueError):
    """A file is no grid; says where, what was found and what was expected."""


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
    limit_s = _limit(tables["time_limit_s"]) if "time_limit_s" in tables else TIME_LIMIT_S
    return Grid(scenarios, tuple(chosen), seeds(tables["seeds"]), limit_s, origin)


def _whole(field: Field, least: int, most: int) -> int:
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise field.wrong(f"a whole number from {least} to {most}")
    return value


def _limit(field: Field) -> float:
    limit_s = field.number()
    if not (limit_s > 0 and math.isfinite(limit_s)):
        raise field.wrong("seconds, more than none")
    return limit_s
