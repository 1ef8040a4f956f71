"""One thing to change: what would have kept a kind of finding from coming up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from trimtab.diagnose.night import Finding, Night

#: How the advice of a finding begins where nothing is to be changed.
NOTHING = ("Nothing to set", "None,")


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
    #: Codes of the causes that it is against.
    against: tuple[str, ...] = ()
    #: Keys of broker.conf that it is about.
    settings: tuple[str, ...] = ()


class Proposal(NamedTuple):
    """What the texts of a cure name, in findings.toml."""

    #: Moves or rounds.
    concerned: int
    values: Mapping[str, Any]
    #: Of the wording of the cure.
    variant: str = "cure"


#: Night, and its findings by code → the proposal; None if there is nothing to cure.
Cure: TypeAlias = Callable[[Night, Mapping[str, Sequence[Finding]]], Proposal | None]
