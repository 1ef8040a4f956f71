"""The headline, and what to change: a few sentences with the numbers in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.diagnose.cure import Change
from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.undecidable import is_leader_known, leaders_without_log
from trimtab.diagnose.verdicts import USELESS, Verdict
from trimtab.diagnose.wording import many, rows, worded, wording

_CHANGES_MAX = 5
_CURES = sorted(
    ((code, entry.cure) for code, entry in FINDINGS.items() if entry.cure is not None),
    key=lambda cure: rows()[cure[0]]["cure"]["rank"],
)
_NO_LEADER = "Only a leader's log tells of moves, and none of these is known to be one."


def headline(night: Night, verdicts: Mapping[str, Verdict]) -> tuple[str, str]:
    """Return two sentences: what the balancer did, and what it was worth."""
    moves = night.moves()
    if not moves:
        return _nothing(night)
    active = sum(bool(logged.moves) for logged in night.rounds)
    text = f"{many(len(moves), 'bundle was', 'bundles were')} moved in {many(active, 'round')}."
    causes = Counter(verdicts[move.id].code for move in moves if verdicts[move.id].is_useless)
    useless = sum(causes.values())
    if not useless:
        unknown = sum(verdicts[move.id].code == "not-decidable" for move in moves)
        if unknown == len(moves):
            return text, "What the moves were worth cannot be told from this recording."
        return text, f"None of the moves was found useless.{_luck(night, verdicts)}"
    which = "; ".join(f"{n} {USELESS[code].saying}" for code, n in causes.most_common())
    if len(causes) == 1:
        which = USELESS[next(iter(causes))].saying
    how_many = "All" if useless == len(moves) else f"{useless} of the {len(moves)}"
    return text, f"{how_many} did no good: {which}.{_luck(night, verdicts)}"


def _nothing(night: Night) -> tuple[str, str]:
    """Return the two sentences where nothing was moved: only the leader logs moves."""
    if night.logs is None:
        return "The balancer moved nothing.", ""
    if who := leaders_without_log(night):
        return "No move is known.", f"No log of {who} is in the recording."
    if not is_leader_known(night):
        return "No move is known.", _NO_LEADER
    return "The balancer moved nothing.", ""


def _luck(night: Night, verdicts: Mapping[str, Verdict]) -> str:
    """Return a sentence about the draws that fell well: nothing but luck spoke for them."""
    lucky = sum(
        move.draw is not None
        and move.draw.is_fallback
        and (move.draw.count or 2) > 1
        and not verdicts[move.id].is_useless
        for move in night.moves()
    )
    if not lucky:
        return ""
    more = " more" if any(verdict.is_useless for verdict in verdicts.values()) else ""
    return f" {lucky}{more} {'was' if lucky == 1 else 'were'} drawn by lot and fell well."


def changes(night: Night, findings: Sequence[Finding], places: Mapping[str, str]) -> list[Change]:
    """Return at most five changes, most moves concerned first; `places`: setting → file:line."""
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_code[finding.code].append(finding)
    proposed = [
        (proposal.concerned, _change(f"{code}.{proposal.variant}", proposal.values, places))
        for code, cure in _CURES
        if (proposal := cure(night, by_code)) is not None
    ]
    proposed.sort(key=lambda entry: -entry[0])
    return [change for _, change in proposed[:_CHANGES_MAX]]


def _change(name: str, values: Mapping[str, Any], places: Mapping[str, str]) -> Change:
    texts = wording(name)
    known = {"setting": texts.get("setting", ""), **values}
    title, why, effect = (worded(texts, each, known) for each in ("title", "why", "effect"))
    place = places.get(known["setting"], "not set: the default")
    return Change(title, why, effect, texts.get("evidence", place), texts["confidence"])
