"""One verdict a move, from the findings it is part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from trimtab.diagnose.broker_loads import broker_loads
from trimtab.diagnose.entry import Useless, Words
from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.findings.even_distribution_override import is_forced
from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.wording import percent

#: Codes of useless moves in the order in which they name a move: the first that applies does.
USELESS: Mapping[str, Useless] = {
    code: useless
    for _, code, useless in sorted(
        (entry.useless.rank, entry.code, entry.useless)
        for entry in FINDINGS.values()
        if entry.useless is not None
    )
}
#: Codes that name a move of which it is not known that it did no good, likewise.
DOUBTFUL = tuple(
    code
    for _, code in sorted(
        (entry.doubtful, entry.code) for entry in FINDINGS.values() if entry.doubtful is not None
    )
)
#: What verdicts are called: those of findings, and those of moves that no finding names.
VERDICT_WORDS: Mapping[str, Words] = {
    "sound": Words("sound", "Of what the leader knew, this was a right move."),
    "sole-candidate": Words(
        "one candidate left",
        "A filter had removed all brokers but one before loads were compared.",
    ),
    "not-decidable": Words("not decidable", "The recording does not hold what a judgement needs."),
    **{code: entry.words for code, entry in FINDINGS.items() if entry.words is not None},
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a move was worth."""

    #: A finding's code, or sound, sole-candidate or not-decidable.
    code: str
    #: The cluster was no better for it; None where the recording lacks the loads that could
    #: show it.
    is_useless: bool | None
    #: Broker that would have been the better destination, and why; None where there is none
    #: or it is not known.
    better: tuple[str, str] | None
    #: Positions of its findings.
    findings: tuple[int, ...]


def verdicts(night: Night, findings: Sequence[Finding]) -> dict[str, Verdict]:
    """Return the verdict on every move.

    A move is useless if it came to nothing, if its source was not to be relieved, or if its
    destination was too hot, by lot, by a filter or by this very move: the first of `USELESS`
    that it is part of.  A draw that fell on a broker below the average is not useless, though
    nothing but luck spoke for it; several bundles to one broker that stays below the bar are no
    worse than sound.  Where a load is absent that could have shown a move to be useless, it is
    not known to have done good.

    Returns:
        Move's id → verdict.
    """
    parts: dict[str, list[int]] = {}
    for i, finding in enumerate(findings):
        for move in finding.moves:
            parts.setdefault(move, []).append(i)
    return {
        move.id: _verdict(night, logged, move, {i: findings[i] for i in parts.get(move.id, ())})
        for logged in night.rounds
        for move in logged.moves
    }


def _verdict(night: Night, logged: Round, move: Move, findings: Mapping[int, Finding]) -> Verdict:
    better = _better(night, logged, move)
    for code, useless in USELESS.items():
        if any(f.code == code and useless.holds_for(f) for f in findings.values()):
            return Verdict(code, True, better, tuple(findings))
    is_useless = None if absent_loads(night, logged, move) else False
    verdict = partial(Verdict, is_useless=is_useless, better=better, findings=tuple(findings))
    for code in DOUBTFUL:
        if any(finding.code == code for finding in findings.values()):
            return verdict(code)
    if move.draw is not None and move.draw.count == 1 and not is_forced(move):
        return verdict("sole-candidate")
    if is_useless is None or move.target is None:
        return Verdict("not-decidable", None, better, tuple(findings))
    return verdict("sound")


def absent_loads(night: Night, logged: Round, move: Move) -> tuple[str, ...]:
    """Return the loads that a verdict on a move needs and that the recording lacks, in words."""
    loads = broker_loads(night, logged, move)
    reports = night.bundles.get(move.bundle)
    absent = []
    if loads is None or not loads.is_reported:
        absent.append("usage of the brokers")
    if move.throughput is None and (reports is None or reports.at(move.time) is None):
        absent.append("traffic of the bundles")
    return tuple(absent)


def _better(night: Night, logged: Round, move: Move) -> tuple[str, str] | None:
    loads = broker_loads(night, logged, move)
    if loads is None:
        return None
    right, target = loads.coolest(but=move.source), move.target
    if right is None or right == target:
        return None
    was = ""
    if target is not None and target in loads.usage:
        if not loads.is_cooler(right, target):
            return None
        was = f" instead of {percent(loads.usage[target])}"
    return right, f"it stood at {percent(loads.usage[right])}{was} ({loads.basis})"
