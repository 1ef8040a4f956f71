"""What to change, each beside what brokers used before and after a round that it is against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trimtab.report.brokers import Brokers, shortened
from trimtab.report.causes import Cause
from trimtab.report.input import Fields, entries, part, text, texts, whole
from trimtab.report.words import number, percent

#: Changes shown: a person on call can weigh five.
CHANGES_MAX = 5


@dataclass(frozen=True, slots=True)
class Usage:
    """What the busiest broker used before one round and after it, of 1."""

    round: int
    before: float
    after: float
    #: What the best of as many moves would have left; None if nobody judged.
    possible: float | None

    @property
    def words(self) -> str:
        """Say it in numbers."""
        best = "" if self.possible is None else f"; {percent(self.possible)} was possible"
        return f"{percent(self.before)} → {percent(self.after)}{best}"

    @property
    def tone(self) -> str:
        """Return how the round did: `useless` if it left the busiest broker no less busy."""
        return "good" if self.after < self.before else "useless"

    def width(self, usage: float) -> str:
        """Return how far a bar of this usage reaches, in percent of the longest."""
        return f"{100 * usage / (max(self.before, self.after, self.possible or 0.0) or 1.0):.1f}"


def advice_of(findings: Fields, causes: Sequence[Cause], brokers: Brokers) -> list[dict[str, Any]]:
    """Return the changes that are shown, each with the usage around a round that it is against.

    The round is the one of its causes in which most moves did no good, and of these the first.
    """
    by_code = {cause.code: cause for cause in causes}
    known = usages(findings)
    return [
        {
            **each,
            "title": shortened(text(each, "title"), brokers),
            "why": shortened(text(each, "why"), brokers),
            "against": texts(each, "against"),
            "usage": _usage([by_code[it] for it in texts(each, "against") if it in by_code], known),
        }
        for each in entries(findings, "changes")[:CHANGES_MAX]
    ]


def usages(findings: Fields) -> dict[int, Usage]:
    """Return what the busiest broker used around each round of which it is known, by its number.

    Where decisions were judged beside the best of as many moves, it is what was found there, else
    what was reported to this round and to the next.
    """
    judged = [_judged(each) for each in entries(part(findings, "regret"), "decisions")]
    listed = entries(findings, "round_list")
    reported = [_reported(*each) for each in pairwise(listed)]
    return {each.round: each for each in (*reported, *judged) if each is not None}


def _judged(decision: Fields) -> Usage | None:
    shares = (number(part(decision, it).get("percent")) for it in ("before", "after", "possible"))
    before, after, possible = (None if each is None else each / 100.0 for each in shares)
    at = whole(decision, "round")
    if at is None or before is None or after is None:
        return None
    return Usage(at, before, after, possible)


def _reported(this: Fields, following: Fields) -> Usage | None:
    at, before, after = whole(this, "round"), _busiest(this), _busiest(following)
    return None if at is None or before is None or after is None else Usage(at, before, after, None)


def _busiest(fields: Fields) -> float | None:
    reported = (number(each.get("usage")) for each in entries(fields, "brokers"))
    return max((each for each in reported if each is not None), default=None)


def _usage(causes: Sequence[Cause], known: Mapping[int, Usage]) -> Usage | None:
    """Return the usage around the round of some causes in which most moves did no good."""
    findings = [each for cause in causes for each in cause.findings]
    rounds = {at for each in findings for at in (each.round, *(it.round for it in each.rounds))}
    useless = Counter(
        move.round for each in findings for move in each.moves if move.tone == "useless"
    )
    of_them = [at for at in rounds if at is not None and at in known]
    worst = min(of_them, key=lambda at: (-useless[at], at), default=None)
    return None if worst is None else known[worst]
