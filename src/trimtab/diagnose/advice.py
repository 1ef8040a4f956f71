"""The headline, and what to change: a few sentences with the numbers in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trimtab.diagnose.cure import NOTHING_TO_SET, Change
from trimtab.diagnose.failed_orders import failed_orders
from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.gravity import Cause
from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.undecidable import (
    absent_log,
    is_leader_known,
    leaders_without_log,
    possible_leaders,
)
from trimtab.diagnose.verdicts import DOUBTFUL, USELESS, Verdict, absent_loads
from trimtab.diagnose.wording import many, worded, wording

_CHANGES_MAX = 5
_NO_LEADER = "Only a leader's log tells of moves, and none of these is known to be one."
#: How moves are counted, in this order.
_WORTHS = ("useless", "doubtful", "lucky", "good", "not decidable")


def headline(
    night: Night, verdicts: Mapping[str, Verdict], causes: Sequence[Cause] = ()
) -> tuple[str, str]:
    """Return what happened, and what is behind it.

    A fault by which the balancer does not work comes first, before what was moved; any other
    gravest cause is named behind it, unless the useless moves have named it.

    Args:
        night: what happened.
        verdicts: move's id → verdict.
        causes: the causes, gravest first.
    """
    did, worth = _moved(night, verdicts)
    gravest = causes[0] if causes else None
    if gravest is None or gravest.severity == "low":
        return did, worth
    if gravest.is_fault:
        return _named(gravest), " ".join(filter(None, (did, worth)))
    is_named = gravest.code in {v.code for v in verdicts.values() if v.is_useless}
    return did, " ".join(filter(None, (worth, "" if is_named else _named(gravest))))


def _named(cause: Cause) -> str:
    """Return the title of a cause's gravest finding as a sentence, with how many there are."""
    others = len(cause.findings) - 1
    more = f" (and {many(others, 'finding')} more of `{cause.code}`)" if others else ""
    return f"{cause.findings[0].text('title')}{more}."


def _moved(night: Night, verdicts: Mapping[str, Verdict]) -> tuple[str, str]:
    """Return what was ordered, failed and moved, and why moves were useless."""
    orders = [(logged, move) for logged in night.rounds for move in logged.moves]
    if not orders:
        return _nothing(night)
    failed = failed_orders(night)
    moves = [(logged, move) for logged, move in orders if move.id not in failed]
    rounds = many(len({logged.number for logged, _ in orders}), "round")
    count = Counter(_worth(move, verdicts[move.id]) for _, move in moves)
    worths = [f"{count[worth]} {worth}" for worth in _WORTHS if count[worth]]
    tally = f": {', '.join(worths)}" if worths and count["not decidable"] < len(moves) else ""
    if len(worths) == 1 and tally and len(moves) > 1:
        tally = f", all {next(iter(count))}"
    were = many(len(moves), "bundle was", "bundles were")
    if not failed:
        return f"{were} moved in {rounds}{tally}.", _reasons(night, moves, verdicts)
    ordered = many(len(orders), "unload was", "unloads were")
    text = f"{ordered} ordered in {rounds}: {len(failed)} failed, {were} moved{tally}."
    return text, _reasons(night, moves, verdicts)


def _worth(move: Move, verdict: Verdict) -> str:
    """Return under which word of `_WORTHS` a move counts."""
    if verdict.is_useless is None:
        return "not decidable"
    if verdict.is_useless:
        return "useless"
    draw = move.draw
    if draw is not None and draw.is_fallback and (draw.count or 2) > 1:
        return "lucky"
    return "doubtful" if verdict.code in DOUBTFUL else "good"


def _reasons(
    night: Night, moves: Sequence[tuple[Round, Move]], verdicts: Mapping[str, Verdict]
) -> str:
    """Return why moves were useless, and what is missing where that cannot be decided."""
    causes = Counter(verdicts[m.id].code for _, m in moves if verdicts[m.id].is_useless)
    sentences = []
    if len(causes) == 1:
        sentences.append(f"Useless: {USELESS[next(iter(causes))].saying}.")
    elif causes:
        which = "; ".join(f"{n} {USELESS[code].saying}" for code, n in causes.most_common())
        sentences.append(f"Useless: {which}.")
    unknown = [(logged, move) for logged, move in moves if verdicts[move.id].is_useless is None]
    absent = dict.fromkeys(
        load for logged, move in unknown for load in absent_loads(night, logged, move)
    )
    if absent:
        what = " and ".join(absent)
        who = "the moves" if len(unknown) == len(moves) else many(len(unknown), "move")
        sentences.append(
            f"What {who} did cannot be decided: the {what} at that time "
            f"{'is' if len(absent) == 1 else 'are'} not in the recording (store/ or "
            "load-reports.jsonl would have it)."
        )
    return " ".join(sentences)


def _nothing(night: Night) -> tuple[str, str]:
    """Return the two sentences where nothing was moved: only the leader logs moves."""
    if night.logs is None:
        return "The balancer moved nothing.", ""
    if who := leaders_without_log(night):
        why = absent_log(night, who)
        return "No move is known.", f"{why[0].upper()}{why[1:]}."
    if not is_leader_known(night):
        return "No move is known.", _NO_LEADER
    if who := possible_leaders(night):
        return "No move is known.", f"{who} may have led: no log of it and no election is there."
    return "The balancer moved nothing.", ""


def changes(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str], causes: Sequence[Cause]
) -> list[Change]:
    """Return at most five changes, those against the gravest causes first.

    Where a cause is of high severity, nothing is proposed against causes of lower severity.

    Args:
        night: what happened.
        findings: all findings.
        places: setting → file:line where it is written.
        causes: the causes, gravest first.
    """
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_code[finding.code].append(finding)
    gravest = [cause for cause in causes if cause.severity == causes[0].severity]
    proposals = [change for cause in gravest for change in _against(night, by_code, places, cause)]
    return proposals[:_CHANGES_MAX]


def _against(
    night: Night, findings: Mapping[str, list[Finding]], places: Mapping[str, str], cause: Cause
) -> Iterator[Change]:
    """Yield what to change against one cause: counted where it has a cure, else as advised."""
    cure = FINDINGS[cause.code].cure
    finding = cause.findings[0]
    advice = finding.text("advice")
    if cure is not None:
        if (proposal := cure(night, findings)) is not None:
            yield _change(f"{cause.code}.{proposal.variant}", proposal.values, places)
    elif cause.severity != "low" and not advice.startswith(NOTHING_TO_SET):
        line = finding.evidence[0] if finding.evidence else None
        yield Change(
            title=advice,
            why=f"{finding.text('title')}.",
            effect=f"It is against `{cause.code}`: {many(len(cause.findings), 'finding')}.",
            evidence=f"{line.file}:{line.line}" if line else "",
            confidence="follows from the cause; what it brings was not counted",
        )


def _change(name: str, values: Mapping[str, Any], places: Mapping[str, str]) -> Change:
    texts = wording(name)
    known = {"setting": texts.get("setting", ""), **values}
    title, why, effect = (worded(texts, each, known) for each in ("title", "why", "effect"))
    place = places.get(known["setting"], "not set: the default")
    return Change(title, why, effect, texts.get("evidence", place), texts["confidence"])
