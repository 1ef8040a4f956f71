"""What a message of Pulsar's log is, and how its printed form becomes columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

from msgspec import Struct, toml
from msgspec.structs import force_setattr

from trimtab.ingest.messages.java_text import (
    ABSENT,
    attributes,
    printed_count,
    printed_list,
    printed_load,
    printed_map,
    printed_number,
)
from trimtab.ingest.messages.template import kept_values, needle_of, shape


class Message(Struct, frozen=True, eq=False, dict=True, forbid_unknown_fields=True):
    """One message of the load balancer, of ownership or of a broker's life."""

    #: What the row is called; several printed forms may share a kind.
    kind: str
    #: Simple names of the classes that print it.
    loggers: tuple[str, ...]
    #: Printed form, see `shape`.
    template: str
    #: A line of it, with everything in front.
    example: str
    #: Where it was seen in a log, or `by the source` where only the code says so.
    releases: str
    #: What it says, one sentence.
    meaning: str
    #: For a constant message: the names of its attributes, all required, and their groups.
    attributes: Mapping[str, str] = {}
    #: Literal part of the template: a line without it is not this message.  Said only where
    #: the one that `needle_of` chooses stands in other messages of the class, too.
    needle: str = ""
    #: A line with the needle that does not fit the pattern is broken, not another message.
    #: Without values there is nothing that could be broken.
    is_telling: bool = True

    def __post_init__(self) -> None:
        """Fill in what follows from the template.

        Raises:
            ValueError: the template has a placeholder that there is not.
        """
        force_setattr(self, "needle", self.needle or needle_of(self.template))
        force_setattr(self, "is_telling", self.is_telling and bool(kept_values(self.template)))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the template as an expression; its groups are columns, see `columns`."""
        return shape(self.template)

    def read(self, text: str) -> dict[str, Any] | None:
        """Return the message's columns from the text behind the prefix; None if it is another.

        Raises:
            ValueError: the text has the message's form, but a value in it is broken.
        """
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        groups: Mapping[str, str | None] = match.groupdict()
        if self.attributes:
            values = attributes(match["attributes"])
            missing = [name for name in self.attributes if name not in values]
            if missing:
                raise ValueError(f"no attribute {missing[0]!r} in {match['attributes'].strip()!r}")
            groups = {group: values[name] for name, group in self.attributes.items()}
        return columns(groups)


class _Family(Struct, forbid_unknown_fields=True):
    message: tuple[Message, ...]


def messages_in(file: str) -> tuple[Message, ...]:
    """Return the messages of a family of classes, in the order of their file.

    Raises:
        ValidationError: an entry lacks a key, or has one that is unknown or of another type.
    """
    text = files("trimtab.ingest.messages").joinpath(file).read_bytes()
    return toml.decode(text, type=_Family).message


def columns(groups: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the columns of `log_events` of the groups of a message.

    Numbers go to `numbers` under their name without `n_`, true and false as 1 and 0; a map
    to `scores`, a second one to `numbers` with `low:` in front of each key; a list to
    `brokers`.  Java's `null` is null.

    Raises:
        ValueError: a map's value or a count is not a number.
    """
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    numbers: dict[str, float] = {}
    for name, value in groups.items():
        if value is None or value in ABSENT:
            continue
        if name in _SINGLE:
            column, convert = _SINGLE[name]
            row[column] = convert(value)
        elif name.startswith("n_"):
            numbers[name[2:]] = printed_number(value)
        else:
            numbers.update(_numbers(name, value))
    row["numbers"] = numbers or None
    return row


def converters(message: Message) -> dict[str, Callable[[str], Any]] | None:
    """Return how each group of a message becomes a column, or a number if it begins with `n_`.

    Whoever has many lines of a message calls them instead of `columns`, but for
    `printed_map`: many maps are read all at once.

    Returns:
        None for a message some part of which becomes several numbers.
    """
    by_group: dict[str, Callable[[str], Any]] = {}
    for name in message.pattern.groupindex:
        if name in _SINGLE:
            column, by_group[column] = _SINGLE[name]
        elif name.startswith("n_"):
            # The pattern has seen to it that it is one.
            by_group[name] = float
        else:
            return None
    return by_group


def _numbers(name: str, value: str) -> dict[str, float]:
    """Return the entries of the column `numbers` of one group."""
    if name == "load":
        return printed_load(value)
    if name == "low":
        return {f"low:{broker}": number for broker, number in printed_map(value).items()}
    return {name: float(value == "true")}


def _simple(name: str) -> str:
    """Return the last part of a class name."""
    return name.rpartition(".")[2]


#: Group → (column, how its text becomes the column's value).
_SINGLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "strategy": ("strategy", _simple),
    "broker": ("broker", str),
    "bundle": ("bundle", str),
    "target": ("target", str),
    "count": ("count", printed_count),
    "map": ("scores", printed_map),
    "list": ("brokers", printed_list),
}
#: Columns that a message may fill.
COLUMNS = (*(column for column, _ in _SINGLE.values()), "numbers")
