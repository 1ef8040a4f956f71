"""One verdict a move, from the findings it is part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.diagnose.findings.even_distribution_override import is_forced
from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.standing import percent, standing

#: Codes of useless moves in the order in which they name a move: the first that applies does.
#: What undid the move comes first, then what was wrong with its source, then its destination.
USELESS = (
    "same-broker",
    "unload-failed",
    "vanished-bundle",
    "empty-bundle-moved",
    "ping-pong",
    "cold-cpu",
    "over-unloading",
    "stale-report",
    "jitter-chasing",
    "random-placement",
    "even-distribution-override",
    "over-placement",
)
#: Codes that name a move of which it is not known that it did no good, likewise.
DOUBTFUL = (
    "two-leaders",
    "memory-as-load",
    "wrong-extreme",
    "emptied-broker",
    "lost-destination",
    "random-placement",
    "even-distribution-override",
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a move was worth."""

    #: A finding's code, or sound, sole-candidate or not-decidable.
    code: str
    #: The cluster was no better for it.
    is_useless: bool
    #: Broker that would have been the better destination, and why; None where there is none
    #: or it is not known.
    better: tuple[str, str] | None
    #: Positions of its findings.
    findings: tuple[int, ...]


def verdicts(night: Night, findings: Sequence[Finding]) -> dict[str, Verdict]:
    """Name the verdict of every move.

    A move is useless if it came to nothing (`same-broker`, `unload-failed`,
    `vanished-bundle`, `empty-bundle-moved`, `ping-pong`), if its source was not to be
    relieved (`cold-cpu`, `over-unloading`, `stale-report`, `jitter-chasing`), or if its
    destination was hotter than the average, by lot (`random-placement`) or by a filter
    (`even-distribution-override`), or was, or became, too hot (`over-placement`).  A draw
    that fell on a broker below the average is not useless, though nothing but luck spoke for
    it; several bundles to one broker that stays below the bar are no worse than sound.

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


def _verdict(night: Night, logged: Round, move: Move, found: Mapping[int, Finding]) -> Verdict:
    harmful = [f for f in found.values() if _is_harm(f)]
    better = _better(night, logged, move)
    for code in USELESS:
        if any(finding.code == code for finding in harmful):
            return Verdict(code, True, better, tuple(found))
    for code in DOUBTFUL:
        if any(finding.code == code for finding in found.values()):
            return Verdict(code, False, better, tuple(found))
    if move.draw is not None and move.draw.count == 1 and not is_forced(move):
        return Verdict("sole-candidate", False, better, tuple(found))
    if standing(night, logged, move) is None or move.target is None:
        return Verdict("not-decidable", False, None, tuple(found))
    return Verdict("sound", False, better, tuple(found))


def _is_harm(finding: Finding) -> bool:
    """Tell whether a finding makes its moves useless: lucky draws and mere haste do not."""
    if finding.code in {"random-placement", "over-placement", "even-distribution-override"}:
        return finding.severity == "high"
    return True


def _better(night: Night, logged: Round, move: Move) -> tuple[str, str] | None:
    stood = standing(night, logged, move)
    if stood is None:
        return None
    right, target = stood.coolest(but=move.source), move.target
    if right is None or right == target:
        return None
    was = ""
    if target is not None and target in stood.usage:
        if not stood.is_cooler(right, target):
            return None
        was = f" instead of {percent(stood.usage[target])}"
    return right, f"it stood at {percent(stood.usage[right])}{was} ({stood.basis})"
