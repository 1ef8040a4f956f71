"""One thing to change: what would have kept a kind of finding from coming up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.diagnose.night import Finding, Night

#: How the advice of a finding begins where no setting would have helped.
NOTHING_TO_SET = "Nothing to set"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change."""

    title: str
    why: str
    #: What would have been different, counted on this recording.
    effect: str
    #: file:line of the setting, where it is written.
    evidence: str
    #: How far the effect can be trusted.
    confidence: str


#: Night, all findings, and setting → file:line where it is written → how many moves or rounds
#: are concerned, and the change; None if there is nothing to cure.
Propose: TypeAlias = Callable[
    [Night, Sequence[Finding], Mapping[str, str]], tuple[int, Change] | None
]


@dataclass(frozen=True, slots=True)
class Cure:
    """A change that is proposed where a finding came up."""

    #: Of changes that concern equally many, the one with the lower rank is named first.
    rank: int
    propose: Propose


def many(count: int, one: str, more: str | None = None) -> str:
    """Return a count with its noun: `1 move`, `3 moves`, `2 bundles were`."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def place(places: Mapping[str, str], setting: str) -> str:
    """Return where a setting is written, as file:line."""
    return places.get(setting, "not set: the default")
