"""The headline, and what to change: a few sentences with the numbers in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trimtab.diagnose.cure import NOTHING, Change
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
from trimtab.diagnose.wording import clock, many, worded, wording

_CHANGES_MAX = 5
#: Keys of broker.conf, as texts name them; and those by which the strategies are chosen.
_KEY = re.compile(r"\b[a-z]+[A-Z]\w+")
_STRATEGIES = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy")
#: Levers that change everything a balancer does.
_GENERIC = frozenset(
    {
        *_STRATEGIES,
        "loadBalancerHistoryResourcePercentage",
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage",
    }
)
#: Causes in the headline.
_CAUSES_MAX = 3
_NO_LEADER = "Only a leader's log tells of moves, and none of these is known to be one."
_NO_ROUND = (
    "It ends before the first round was due, counted from its beginning or the leader's election."
)
#: Lines that say that bundles were to go, and of themselves not that they went.
_CHOICES = frozenset(
    {
        "uniform-shed-rate",
        "uniform-shed-throughput",
        "avg-bundle-found",
        "no-broker-available",
        "same-destination",
        "transfer-decided",
    }
)
#: Changes of owners that are named.
_CHANGES_NAMED = 3
#: How moves are counted, in this order.
_WORTHS = ("useless", "doubtful", "lucky", "good", "not decidable")


def headline(
    night: Night, verdicts: Mapping[str, Verdict], causes: Sequence[Cause] = ()
) -> tuple[str, str]:
    """Return the gravest cause with what comes of it, and what was moved; both as sentences.

    Where nothing of weight was found, what was moved comes first.

    Args:
        night: what happened.
        verdicts: move's id → verdict.
        causes: the causes, gravest first.
    """
    did, worth = _moved(night, verdicts)
    if not causes:
        return did, worth
    if all(cause.severity == "low" for cause in causes):
        small = (f"Of little weight: {_named(cause)}" for cause in causes[:_CAUSES_MAX])
        return did, " ".join(filter(None, (worth, *small)))
    return _named(causes[0]), " ".join(filter(None, (*_beside(causes), did, worth)))


def _beside(causes: Sequence[Cause]) -> Iterator[str]:
    """Yield what is told beside the gravest cause: what comes of it, and what is next to it.

    Args:
        causes: gravest first, one at least.
    """
    first, *others = causes
    brought = [cause for cause in others if first.explains(cause)]
    for cause in brought[:1]:
        yield f"It led to this: {_named(cause)}"
    more = _CAUSES_MAX - 1 - len(brought[:1])
    apart = [cause for cause in others if cause not in brought]
    context = [cause for cause in apart[more:] if FINDINGS[cause.code].is_context]
    for cause in (*apart[:more], *context):
        yield f"Also: {_named(cause)}"


def _named(cause: Cause) -> str:
    """Return the title of a cause's gravest finding as a sentence, with how many others."""
    finding, *others = cause.findings
    place = wording(finding.wording)["place"]
    noun = "tenure" if place == "leader" else place
    too = f"; {many(len(others), f'other {noun}')} too" if others else ""
    return f"{finding.text('title')}{too}."


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
    why = _reasons(night, moves, verdicts)
    if night.unexplained:
        why = " ".join(filter(None, (why, *_without_order(night))))
    if not failed:
        return f"{were} moved in {rounds}{tally}.", why
    ordered = many(len(orders), "unload was", "unloads were")
    return f"{ordered} ordered in {rounds}: {len(failed)} failed, {were} moved{tally}.", why


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
    if night.unexplained:
        return _without_order(night)
    choices = sum(any(event.kind in _CHOICES for event in each.events) for each in night.rounds)
    if choices:
        text = f"Bundles were chosen in {many(choices, 'round')}, and no line says that one moved."
        return text, ""
    if night.logs is None:
        return "The balancer moved nothing.", ""
    if absent := _absent(night):
        return "No move is known.", absent
    if not is_leader_known(night):
        return "No move is known.", _NO_LEADER
    if misread := _misread(night):
        return "No move is known.", misread
    if who := possible_leaders(night):
        return "No move is known.", f"{who} may have led: no log of it and no election is there."
    if not night.rounds and not night.decisions.times and _is_short(night):
        return "No round of the balancer is known.", _NO_ROUND
    return "The balancer moved nothing.", ""


def _without_order(night: Night) -> tuple[str, str]:
    """Return the two sentences where bundles changed owners and no line says why."""
    changes = night.unexplained
    told = "; ".join(
        f"{each.bundle} went from {each.source} to {each.target} at {clock(each.time)}"
        for each in changes[:_CHANGES_NAMED]
    )
    more = len(changes) - _CHANGES_NAMED
    rest = f"; and {many(more, 'more', 'more')}" if more > 0 else ""
    text = f"Moves were made that no log explains: {many(len(changes), 'change')} of owners."
    return text, " ".join(filter(None, (f"{told}{rest}.", _misread(night), _absent(night))))


def _absent(night: Night) -> str:
    """Return which leaders' logs are not in the recording; empty if none is missing."""
    who = leaders_without_log(night)
    if not who:
        return ""
    why = absent_log(night, who)
    return f"{why[0].upper()}{why[1:]}."


def _misread(night: Night) -> str:
    """Return that lines which would tell of moves could not be read; empty if all could be."""
    logs = ", ".join(sorted(map(night.broker, night.misread)))
    lines = many(sum(night.misread.values()), "line")
    return (
        f"{lines} of the log of {logs} would tell of moves and could not be read." if logs else ""
    )


def _is_short(night: Night) -> bool:
    """Return whether a recording ends before a round would have been due."""
    starts = [time for time in (night.begin, min(night.elected.values(), default=None)) if time]
    if night.end is None or not starts:
        return False
    return (night.end - max(starts)).total_seconds() < night.interval_s


def changes(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str], causes: Sequence[Cause]
) -> list[Change]:
    """Return at most five changes, those against the gravest causes first.

    What comes of a cause against which there is a change needs none of its own.  Beside a cause
    of high severity no strategy, history or margin is proposed that is not against such a one.

    Args:
        night: what happened.
        findings: all findings.
        places: setting → file:line where it is written.
        causes: the causes, gravest first.
    """
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_code[finding.code].append(finding)
    levers: dict[str, Change] = {}
    cured: set[str] = set()
    grave = [cause for cause in causes if cause.severity == "high"]
    for cause in causes:
        if cause.code in cured:
            continue
        is_apart = bool(grave) and not any(it is cause or cause.explains(it) for it in grave)
        for change in _against(night, by_code, places, cause):
            if is_apart and _GENERIC.intersection(change.settings):
                continue
            against = [cause.code, *(it.code for it in causes if cause.explains(it))]
            lever = _lever(change)
            before = levers.get(lever, change)
            levers[lever] = replace(
                before, against=tuple(dict.fromkeys((*before.against, *against)))
            )
            cured.update(against)
    return list(levers.values())[:_CHANGES_MAX]


def _lever(change: Change) -> str:
    """Return what a change is done by: two that go by the same are one."""
    if _STRATEGIES[0] in change.settings:
        return _STRATEGIES[0]
    return change.settings[0] if len(change.settings) == 1 else change.title


def _against(
    night: Night, findings: Mapping[str, list[Finding]], places: Mapping[str, str], cause: Cause
) -> Iterator[Change]:
    """Yield what to change against one cause: counted where it has a cure, else as advised."""
    cure = FINDINGS[cause.code].cure
    finding = cause.findings[0]
    advice = finding.text("advice")
    proposal = cure(night, findings) if cure is not None else None
    if proposal is not None:
        yield _change(f"{cause.code}.{proposal.variant}", proposal.values, places)
    elif cause.severity != "low" or not advice.startswith(NOTHING):
        line = finding.evidence[0] if finding.evidence else None
        yield Change(
            title=advice,
            why=_named(cause),
            effect="",
            evidence=f"{line.file}:{line.line}" if line else "",
            confidence="follows from the cause; not counted",
            settings=_settings(advice),
        )


def _change(name: str, values: Mapping[str, Any], places: Mapping[str, str]) -> Change:
    texts = wording(name)
    known = {"setting": texts.get("setting", ""), **values}
    title, why, effect = (worded(texts, each, known) for each in ("title", "why", "effect"))
    place = places.get(known["setting"], "not set: the default")
    settings = _settings(f"{known['setting']} {title}")
    evidence = texts.get("evidence", place)
    return Change(title, why, effect, evidence, texts["confidence"], settings=settings)


def _settings(text: str) -> tuple[str, ...]:
    """Return the keys of broker.conf that a text names; AvgShedder stands for both strategies."""
    if "AvgShedder" in text:
        return _STRATEGIES
    return tuple(dict.fromkeys(_KEY.findall(text)))
