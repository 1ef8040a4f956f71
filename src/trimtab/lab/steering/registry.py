"""A strategy of trimtab's own by its name, with its settings → what is to be run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Generic, TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.lab.costs import Knowledge
from trimtab.lab.steering import busiest_share, foresee
from trimtab.lab.steering.view import Answer, Asked, Sight, View

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")

# What separates a name from its sight, and both from settings.
_SIGHT, _SETTING = "@", "/"
_EVERY = "every_s"
_SPELT = {"on": True, "off": False}


class StrategyError(TrimtabError, LookupError):
    """A strategy of trimtab's own is misspelt; says what was found and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        """Take both as text."""
        super().__init__(f"found {found!r}, expected {expected}")
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Entry(Generic[Memory, Settings]):
    """One strategy.

    Both functions are pure: they look at no clock and draw nothing, and what they remember is
    given and returned.  It survives a change of leader and a restart of the program.
    """

    #: Takes a view, the memory (None: nothing yet) and settings.
    step: Callable[[View, Memory | None, Settings], tuple[Answer, Memory]]
    #: Takes what is asked; returns one of the candidates.
    place: Callable[[Asked, Memory | None, Settings], tuple[int, Memory | None]]
    #: A dataclass whose defaults are those of the strategy.
    settings: type[Settings]
    #: A frozen dataclass, so that it can be kept.
    memory: type[Memory]
    #: What it has learned of costs, of its memory; None for one that learns none.
    knowledge: Callable[[Memory], Knowledge] | None = None
    #: Other defaults, by what it sees the cluster by.
    by_sight: Mapping[Sight, Mapping[str, Any]] = field(default_factory=dict)


#: Name → strategy.
STRATEGIES: Mapping[str, Entry[Any, Any]] = {
    "Foresee": Entry(
        foresee.foresee,
        foresee.place,
        foresee.Settings,
        foresee.Memory,
        attrgetter("known"),
        # Thirteen polls are as long as four windows of a minute, and say as much; and after four
        # it is known what moves did.
        {
            Sight.POLLED: {"windows": 13, "evidence": 12.0, "settle_s": 80.0, "in_doubt": 0.2},
            Sight.STORE: {"calm": True, "unseen_s": 200.0, "sound_s": 60.0},
        },
    ),
    "BusiestShare": Entry(
        busiest_share.busiest_share,
        busiest_share.place,
        busiest_share.Settings,
        busiest_share.Memory,
    ),
}

#: s between steps, by sight.
EVERY_S: Mapping[Sight, float] = {Sight.STORE: 20.0, Sight.REPORTS: 20.0, Sight.POLLED: 20.0}


@dataclass(frozen=True, slots=True)
class Named:
    """A strategy with everything that decides what it does."""

    entry: Entry[Any, Any]
    settings: Any
    sight: Sight
    #: s from the end of one step to the next.
    every_s: float


def is_own(text: str) -> bool:
    """Return whether a text begins with the name of a strategy of trimtab's own."""
    return bare(text) in STRATEGIES


def bare(text: str) -> str:
    """Return the name of a strategy without its sight and settings.

    >>> bare("Foresee@store/episodes=off"), bare("AvgShedder")
    ('Foresee', 'AvgShedder')
    """
    return text.partition(_SETTING)[0].partition(_SIGHT)[0]


def named(text: str) -> Named:
    """Return what `Foresee`, `Foresee@polled` or `Foresee@store/episodes=off/trigger=12` names.

    Behind `@` stands what it sees the cluster by, behind each `/` a setting of its own.

    Raises:
        StrategyError: there is no such strategy, sight or setting, or a value is none.
    """
    head, *pairs = text.split(_SETTING)
    name, at, sight_name = head.partition(_SIGHT)
    if name not in STRATEGIES:
        raise StrategyError(name, f"one of {', '.join(STRATEGIES)}")
    entry = STRATEGIES[name]
    sights = [each.value for each in Sight]
    if at and sight_name not in sights:
        raise StrategyError(text, f"one of {', '.join(sights)} behind {_SIGHT}")
    sight = Sight(sight_name) if at else Sight.REPORTS
    values = dict(entry.by_sight.get(sight, {}))
    values |= dict(_pair(pair, entry.settings, text) for pair in pairs)
    every_s = values.pop(_EVERY, EVERY_S[sight])
    return Named(entry, entry.settings(**values), sight, every_s)


def own(text: str) -> Named | None:
    """Return what a text names; None if it is no strategy of trimtab's own.

    Raises:
        StrategyError: it is one, with a sight or a setting that there is not.
    """
    return named(text) if is_own(text) else None


def _pair(pair: str, settings: type[Any], text: str) -> tuple[str, Any]:
    """Return the name of a setting and its value, of the type of its default."""
    name, _, value = pair.partition("=")
    kinds: dict[str, type[Any]] = {
        each.name: type(getattr(settings(), each.name)) for each in dataclasses.fields(settings)
    }
    kinds[_EVERY] = float
    if name not in kinds:
        raise StrategyError(text, f"one of {', '.join(kinds)} behind {_SETTING}")
    if kinds[name] is bool:
        if value not in _SPELT:
            raise StrategyError(text, f"{name}=on or {name}=off")
        return name, _SPELT[value]
    try:
        number = kinds[name](value)
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf") or (name == _EVERY and number < 1):
        raise StrategyError(text, f"{name}= with a number of 0 or more")
    return name, number
