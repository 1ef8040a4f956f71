"""One run of a sweep: what is run, by which its row is known, and what comes of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from trimtab.lab.outcomes.intervals import Interval, Summary

#: One row of the outcomes table.
Row: TypeAlias = Mapping[str, Any]

#: A number → as JSON has it.
Spelt: TypeAlias = Callable[[float], float | str | None]

#: Stands where no class sheds.
NOBODY = "none"


class StrategyKey(NamedTuple):
    """What a row is a run of, besides its scenario and its seed."""

    #: Simple name of Pulsar's class, or `NOBODY`.
    shedder: str
    #: Simple name of Pulsar's class.
    placement: str
    #: A Pulsar release or release line.
    release: str
    #: broker.conf's keys that depart from the release's defaults, as `settings_text` has it.
    settings: str

    @staticmethod
    def of(row: Row) -> StrategyKey:
        """Return the strategy whose row it is."""
        return StrategyKey(*(row[name] for name in StrategyKey._fields))

    @property
    def label(self) -> str:
        """Return its name for a person, without release and settings.

        >>> StrategyKey("AvgShedder", "AvgShedder", "4.0", "{}").label
        'AvgShedder'
        >>> StrategyKey("none", "LeastLongTermMessageRate", "4.0", "{}").label
        'no shedding'
        """
        if self.shedder == NOBODY:
            return "no shedding"
        if self.shedder == self.placement:
            return self.shedder
        return f"{self.shedder} + {self.placement}"


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """What is run; two runs of equal tasks give equal rows.

    Tasks sort as the rows of the outcomes table do.
    """

    #: Name of the scenario.
    scenario: str
    #: As in `StrategyKey`.
    shedder: str
    placement: str
    release: str
    settings: str
    #: With the scenario it fixes everything random, so that strategies meet the same luck.
    seed: int

    @staticmethod
    def of(row: Row) -> Task:
        """Return the task whose row it is."""
        return Task(**{name: row[name] for name in Task.__slots__})


class Status(StrEnum):
    """What became of a run."""

    #: It ran to its end.
    OK = "ok"
    #: The run ended itself before its time: its outcomes are not to be relied on.
    CUT = "cut"
    #: It failed; the column `error` says how.
    ERROR = "error"
    #: It took longer than a run may.
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run that did not fail gives."""

    #: Columns of the outcomes table; those that are not there are null.
    outcomes: Mapping[str, float]
    is_cut: bool = False
    #: The table's column of that name, for what has no column of its own.
    numbers: Mapping[str, float] | None = None


#: Runs a task.  It travels to the workers, so it can be pickled; what it gives depends on
#: the task and on nothing else.
Work: TypeAlias = Callable[[Task], Ran]

#: Tasks that no partition takes apart.
Group: TypeAlias = tuple[Task, ...]

#: Tasks → groups in the order in which they are begun.
Order: TypeAlias = Callable[[Iterable[Task]], tuple[Group, ...]]

# Tasks of a seed in a group: more share what is worked out for one seed, fewer let cores end
# together.
_OF_SEED_MAX = 4


def settings_text(settings: Mapping[str, str]) -> str:
    """Return settings as text, such that equal ones are equal texts.

    >>> settings_text({"b": "2", "a": "1"})
    '{"a": "1", "b": "2"}'
    """
    return json.dumps(dict(sorted(settings.items())))


def failures(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return what became of the runs that failed, as JSON has it."""
    return [
        {"seed": row["seed"], "status": row["status"], "error": row["error"]}
        for row in rows
        if row["status"] != Status.OK
    ]


def json_number(value: float) -> float | str | None:
    """Return a number as JSON can spell it: it has no infinity, and what is not known is null.

    >>> json_number(0.5), json_number(float("nan")), json_number(float("inf"))
    (0.5, None, 'Infinity')
    """
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def plain_numbers(
    numbers: Interval | Summary, spelt: Spelt = json_number
) -> dict[str, float | str | None]:
    """Return the numbers of an interval or of a summary by their names, as JSON has them."""
    return {name: spelt(value) for name, value in asdict(numbers).items()}


def shuffled(tasks: Iterable[Task]) -> tuple[Group, ...]:
    """Return tasks, each alone, ordered by a hash, so that long ones do not stand together.

    Properties:
        The order is the same for the same tasks, however they were ordered.
    """
    return tuple((task,) for task in sorted(tasks, key=_digest))


def by_seed(tasks: Iterable[Task]) -> tuple[Group, ...]:
    """Return groups of tasks of one seed, for work of which a seed's runs share some.

    Properties:
        The groups are the same for the same tasks, however they were ordered.
    """
    ordered = sorted(tasks, key=lambda task: (task.seed, _digest(task)))
    of_seeds = (tuple(tasks) for _, tasks in groupby(ordered, key=lambda task: task.seed))
    return tuple(
        mine[at : at + _OF_SEED_MAX]
        for mine in of_seeds
        for at in range(0, len(mine), _OF_SEED_MAX)
    )


def _digest(task: Task) -> bytes:
    return hashlib.blake2b(repr(astuple(task)).encode(), digest_size=16).digest()
