"""What the journal of a rolling restart holds: what was meant before it was done, what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, get_args

from trimtab.live.control.entries import Begun, Done, Stopped, named, read_kind


@dataclass(frozen=True, slots=True)
class Paused:
    """Pulsar's own shedding is about to be switched off; written before it is."""

    time_s: float
    #: In effect before.
    value: str


@dataclass(frozen=True, slots=True)
class PutBack:
    """Pulsar's own shedding is as it was; if it is not quite, says why."""

    time_s: float
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Emptying:
    """A broker is about to be emptied."""

    time_s: float
    broker: str
    moves: int
    #: From now until it is back and warm, as foretold.
    expected_s: float


@dataclass(frozen=True, slots=True)
class Emptied:
    """A broker was emptied, but for what came meanwhile."""

    time_s: float
    broker: str
    moves: int
    left: int


@dataclass(frozen=True, slots=True)
class Hindered:
    """A broker could not be emptied, or filled again; it is tried once more, a few times."""

    time_s: float
    broker: str
    why: str


@dataclass(frozen=True, slots=True)
class Handed:
    """A broker is about to be handed over to be restarted; written before, and never repeated."""

    time_s: float
    broker: str
    #: When its process began, s since 1970, as it says itself: another one tells of a new process.
    started_s: float


@dataclass(frozen=True, slots=True)
class HookEnded:
    """The command that was to restart it came to an end."""

    time_s: float
    broker: str
    status: int


@dataclass(frozen=True, slots=True)
class Again:
    """Somebody said that a broker is to be handed over once more."""

    time_s: float
    broker: str


@dataclass(frozen=True, slots=True)
class Back:
    """Another process of a broker serves, and is healthy."""

    time_s: float
    broker: str
    started_s: float


@dataclass(frozen=True, slots=True)
class Filled:
    """A broker has its bundles back, as far as the plan has it: it is done."""

    time_s: float
    broker: str
    moves: int
    remark: str = ""


#: An entry of one broker.
OfBroker: TypeAlias = Emptying | Emptied | Hindered | Handed | HookEnded | Again | Back | Filled
RolloutEntry: TypeAlias = Begun | Paused | PutBack | OfBroker | Stopped | Done

_KINDS: Mapping[str, type[RolloutEntry]] = named(get_args(RolloutEntry))


def read_rollout_entry(line: str) -> RolloutEntry:
    """Return the entry of a line of the journal of a rolling restart.

    Raises:
        FieldError: it is no entry; says what was found and what was expected.
    """
    return read_kind(line, _KINDS)
