"""All there is to say of a kind of finding, in one place: its entry.

Findings and their order, the verdicts on moves, what a recording leaves open, what to change,
the words of the report and the schema of findings.json are computed from the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from trimtab.diagnose.cure import Cure
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.wording import rows


class Need(Enum):
    """What a recording must hold before a kind of finding is looked for; see findings.toml."""

    LEADER_LOGS, OTHER_LOGS, SETTINGS, OWNERS, TAKERS, BUNDLE_REPORTS = range(6)
    BROKER_REPORTS, USAGE, ROUNDS_DECIDED_AGAIN, ELECTIONS = range(6, 10)
    USAGE_IN_THE_ROUND, PLACER_SCORES, ANSWERS = range(10, 13)
    BUNDLE_STATES, PRESENCE, TRANSFERS, CHANNEL_ACTS = range(13, 17)


class Words(NamedTuple):
    """What the report calls a verdict, and what is meant by it."""

    label: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Useless:
    """The moves of such a finding did no good."""

    rank: int
    saying: str
    only_high: bool

    def holds_for(self, finding: Finding) -> bool:
        """Return whether a finding makes its moves useless."""
        return finding.severity == "high" or not self.only_high


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """One kind of finding: its rule, and its row of findings.toml, which says what each means."""

    #: Night → findings; its name with hyphens is the finding's code.
    rule: Callable[[Night], list[Finding]]
    rank: int
    needs: tuple[Need, ...]
    #: None: the report calls it by its code.
    words: Words | None
    #: Need → which part of its findings is missed without.
    partly: Mapping[Need, str]
    #: None: it makes no move useless.
    useless: Useless | None
    doubtful: int | None
    cure: Cure | None
    #: Of high severity it is a fault by which the balancer does not work, and named first.
    is_fault: bool
    #: The headline tells of it in any case.
    is_context: bool

    @property
    def code(self) -> str:
        """Return the code of the findings: `ping-pong`."""
        return self.rule.__name__.replace("_", "-")


def entry(rule: Callable[[Night], list[Finding]], cure: Cure | None) -> FindingEntry:
    """Return the entry of a rule, with what findings.toml says of it.

    Raises:
        KeyError: the file has no row of it, or the row no rank or needs.
    """
    row = rows()[rule.__name__.replace("_", "-")]
    useless = row.get("useless")
    return FindingEntry(
        rule=rule,
        rank=row["rank"],
        needs=tuple(Need[name] for name in row["needs"]),
        words=Words(row["label"], row["meaning"]) if "label" in row else None,
        partly={Need[name]: part for name, part in row.get("partly", {}).items()},
        useless=useless and Useless(useless, row["saying"], row.get("only_high", False)),
        doubtful=row.get("doubtful"),
        cure=cure,
        is_fault=row.get("fault", False),
        is_context=row.get("context", False),
    )
