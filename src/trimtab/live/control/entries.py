"""What a journal holds, a line each: what was meant before it was done, and what was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

from trimtab.files.fields import Field, FieldError, expected_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

E = TypeVar("E")

#: The cluster did what it was asked, and said so.
ACCEPTED = "accepted"
#: It refused, and did nothing.
REFUSED = "refused"
#: There was no answer that says which: it may have been done, be still in doing, or not.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Begun:
    """A run of the plan began, or was taken up again."""

    time_s: float
    #: Tells the plan from every other.
    plan: str
    #: The lock's number: whoever has a higher one came later.
    token: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A bundle is about to be unloaded; written before the call."""

    time_s: float
    move: int
    bundle: str
    #: Its owner, as seen.
    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The call came to an end."""

    time_s: float
    move: int
    status: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A bundle without an owner was looked up, upon which Pulsar gives it one."""

    time_s: float
    move: int


@dataclass(frozen=True, slots=True)
class Verified:
    """The bundle was seen at its destination."""

    time_s: float
    move: int


@dataclass(frozen=True, slots=True)
class Astray:
    """The bundle did not arrive, and is owned by another broker."""

    time_s: float
    move: int
    owner: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was to be done."""

    time_s: float
    move: int
    why: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of a move, in the usage of both brokers."""

    time_s: float
    move: int
    source_percent: float
    destination_percent: float
    #: Empty if it is as expected.
    surprise: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run ended before the plan did."""

    time_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Done:
    """The plan is done."""

    time_s: float


#: An entry of one move.
OfMove: TypeAlias = Asked | Answered | LookedUp | Verified | Astray | Skipped | Effect
Entry: TypeAlias = Begun | OfMove | Stopped | Done


def named(kinds: Iterable[type[E]]) -> Mapping[str, type[E]]:
    """Return kinds of entries by their names in a journal: `looked_up`."""
    return {_name(kind): kind for kind in kinds}


def _name(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_KINDS: Mapping[str, type[Entry]] = named(get_args(Entry))


def entry_line(entry: DataclassInstance) -> str:
    """Return an entry as a line of JSON, without its end.

    >>> entry_line(Done(12.5))
    '{"entry": "done", "time_s": 12.5}'
    """
    return json.dumps({"entry": _name(type(entry)), **asdict(entry)})


def read_entry(line: str) -> Entry:
    """Return the entry of a line of the journal of a plan.

    Raises:
        FieldError: it is no entry; says what was found and what was expected.

    Properties:
        `read_entry(entry_line(entry)) == entry`.
    """
    return read_kind(line, _KINDS)


def read_kind(line: str, kinds: Mapping[str, type[E]]) -> E:
    """Return the entry of a line of a journal that has entries of some kinds, by their names.

    Raises:
        FieldError: it is no entry; says what was found and what was expected.
    """
    try:
        whole = Field(json.loads(line))
    except ValueError:
        raise FieldError("the line", "no JSON", "an entry of a journal") from None
    name = dict(whole.entries()).get("entry", whole.at("entry")).text()
    if name not in kinds:
        raise FieldError("entry", repr(name), expected_name(name, kinds))
    kind: Any = kinds[name]
    types = {each.name: each.type for each in fields(kind)}
    optional = [each.name for each in fields(kind) if each.default is not MISSING]
    given = whole.members(["entry", *(key for key in types if key not in optional)], optional)
    values = {key: _TAKE[types[key]](given[key]) for key in given if key != "entry"}
    entry: E = kind(**values)
    return entry


_TAKE: Mapping[Any, Any] = {"float": Field.number, "int": Field.whole, "str": Field.text}
