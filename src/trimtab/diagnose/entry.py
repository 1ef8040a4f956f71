"""All there is to say of a kind of finding, in one place: its entry.

Findings and their order, the verdicts on moves, what a recording leaves open, what to change,
the words of the report and the schema of findings.json are computed from the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from trimtab.diagnose.cure import Cure
from trimtab.diagnose.night import Finding, Night


class Need(Enum):
    """What a recording must hold before a kind of finding can be looked for."""

    #: What a leader logs of its rounds and of its elections.
    LEADER_LOGS = auto()
    #: Logs of the brokers that never led.
    OTHER_LOGS = auto()
    #: What was set; without it rounds are decided again by the defaults.
    SETTINGS = auto()
    #: Who owned a bundle before and after.
    OWNERS = auto()
    #: Who took a bundle, by the store or by a line of its new owner.
    TAKERS = auto()
    #: What brokers reported of the bundles that were moved.
    BUNDLE_REPORTS = auto()
    #: What brokers reported of themselves.
    BROKER_REPORTS = auto()
    #: Usage of any broker, whoever tells it.
    USAGE = auto()
    #: Rounds that were decided again.
    ROUNDS_DECIDED_AGAIN = auto()
    #: When which broker was elected.
    ELECTIONS = auto()
    #: Reported usage in the very round.
    USAGE_IN_THE_ROUND = auto()
    #: How far the candidates for a bundle were from the bar.
    PLACER_SCORES = auto()


class Words(NamedTuple):
    """What the report calls a verdict, and what is meant by it."""

    label: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Useless:
    """The moves of such a finding did no good."""

    #: Of several findings, the one with the lowest rank names the move: 11 to 19 what undid
    #: it, 21 to 29 what was wrong with its source, 31 to 39 with its destination.
    rank: int
    #: What such a move was, after the number of them, as the headline has it.
    saying: str
    #: Only findings of high severity make a move useless.
    only_high: bool = False

    def holds_for(self, finding: Finding) -> bool:
        """Return whether a finding makes its moves useless."""
        return finding.severity == "high" or not self.only_high


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """One kind of finding."""

    #: Night → findings; its name with hyphens is the finding's code.
    rule: Callable[[Night], list[Finding]]
    #: Of findings that begin at the same time, the one with the lower rank is listed first.
    rank: int
    #: What the rule cannot do without.
    needs: tuple[Need, ...]
    #: None: the report calls it by its code.
    words: Words | None
    #: What the rule can only partly do without: need → which part of its findings is missed.
    partly: Mapping[Need, str] = field(default_factory=dict)
    #: None: it makes no move useless.
    useless: Useless | None = None
    #: Names the moves of which it is not known that they did no good, the lowest rank first;
    #: None: it does not.
    doubtful: int | None = None
    cure: Cure | None = None
    #: Of high severity it is a fault by which the balancer does not work, and named first.
    is_fault: bool = False

    @property
    def code(self) -> str:
        """Return the code of the findings: `ping-pong`."""
        return self.rule.__name__.replace("_", "-")
