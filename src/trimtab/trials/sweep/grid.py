"""A grid file → what is to be run: scenarios × strategies × releases × settings × seeds."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import Field, FieldError
from trimtab.trials.sweep.strategies import Strategy, strategies
from trimtab.trials.sweep.task import Task, settings_text

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
        """List what is to be run.

        Args:
            releases: name of each scenario → the release that it is about.

        Raises:
            GridError: a release has no such strategy, or no such key.
        """
        return frozenset(
            self._task(scenario, strategy, seed, strategy.release or release)
            for scenario, release in releases.items()
            for strategy in self.strategies
            for seed in self.seeds
        )

    def _task(self, scenario: str, strategy: Strategy, seed: int, release: str) -> Task:
        try:
            strategy.check(release)
        except FieldError as error:
            raise GridError(f"{self.origin}: {error}") from error
        settings = settings_text(strategy.settings)
        return Task(scenario, strategy.shedder, strategy.placement, release, settings, seed)


def grid(text: str, origin: str) -> Grid:
    """Read a grid.

    Args:
        text: a file in TOML.
        origin: its name, for errors.

    Raises:
        GridError: it is not TOML; or a key is missing, misspelt or takes something else.
    """
    try:
        return _grid(Field(tomllib.loads(text)), origin)
    except tomllib.TOMLDecodeError as error:
        raise GridError(f"{origin}: expected TOML: {error}") from error
    except FieldError as error:
        raise GridError(f"{origin}: {error}") from error


def read_grid(path: Path) -> Grid:
    """Read a grid from a file.

    Raises:
        GridError: the file cannot be read, or is no grid.
    """
    try:
        return grid(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise GridError(f"{path}: expected text in UTF-8: {error}") from error
    except OSError as error:
        raise GridError(f"{path}: {error.strerror}") from error


def seeds(given: Field) -> tuple[int, ...]:
    """Read seeds: a list, or how many, from 0.

    Raises:
        FieldError: it is neither, or a seed is below 0 or no whole number.
    """
    if isinstance(given.value, list):
        found = tuple(dict.fromkeys(_whole(item, 0, _SEED_MAX) for item in given.items()))
        if not found:
            raise given.wrong("at least one seed")
        return found
    return tuple(range(_whole(given, 1, _SEEDS_MAX)))


def _grid(given: Field, origin: str) -> Grid:
    found = given.members(_NEEDED, _OPTIONAL)
    scenarios = tuple(dict.fromkeys(found["scenarios"].names()))
    if not scenarios:
        raise found["scenarios"].wrong("at least one scenario")
    common = found.get("releases"), found.get("settings")
    chosen = [each for item in found["strategies"].items() for each in strategies(item, *common)]
    if not chosen:
        raise found["strategies"].wrong("at least one strategy")
    limit_s = _limit(found["time_limit_s"]) if "time_limit_s" in found else TIME_LIMIT_S
    return Grid(scenarios, tuple(chosen), seeds(found["seeds"]), limit_s, origin)


def _whole(given: Field, least: int, most: int) -> int:
    value = given.value
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise given.wrong(f"a whole number from {least} to {most}")
    return value


def _limit(given: Field) -> float:
    limit_s = given.number()
    if not (limit_s > 0 and math.isfinite(limit_s)):
        raise given.wrong("seconds, more than none")
    return limit_s
