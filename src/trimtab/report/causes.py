"""The findings of the input, gathered by cause, the most costly cause first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.report.brokers import Broker, Brokers
from trimtab.report.input import Fields, anchors, entries, names, part, text, texts, whole
from trimtab.report.moves import Line, Move, evidence_of, moves_by
from trimtab.report.verdicts import Words, label_of, meaning_of
from trimtab.report.words import Figure, clock, figures

#: Lines of the recording that stand below a finding; findings.json has all.
EVIDENCE_SHOWN = 30

#: The worst first.
SEVERITIES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Part:
    """One of the rounds that a finding has inside."""

    when: str
    round: int | None
    severity: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    anchor: str
    severity: str
    when: str
    round: int | None
    title: str
    text: str
    brokers: tuple[Broker, ...]
    bundles: tuple[str, ...]
    figures: tuple[Figure, ...]
    better: str
    advice: str
    evidence: tuple[Line, ...]
    #: How many lines more there are than `evidence` has.
    evidence_left_out: int
    moves: tuple[Move, ...]
    #: Empty where it was so once.
    rounds: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """All findings of one code."""

    code: str
    label: str
    meaning: str
    #: The documentation of the code; a link only if it is one.
    page: str
    findings: tuple[Finding, ...]
    #: Advice that all of its findings share, said once.
    advice: str
    moves: int
    useless: int
    #: Useless moves among them whose verdict names another cause; that one bears their cost.
    useless_elsewhere: int
    #: Bytes a second that were moved without any good, because of this cause.
    throughput_useless: float

    def rank(self) -> tuple[float, ...]:
        """Order by cost: useless moves, their traffic, then severity, then how often."""
        worst = min(_severity(finding) for finding in self.findings)
        own = self.useless - self.useless_elsewhere
        return (-own, -self.throughput_useless, worst, -len(self.findings))


def _severity(finding: Finding) -> int:
    known = finding.severity in SEVERITIES
    return SEVERITIES.index(finding.severity) if known else len(SEVERITIES)


def causes_of(
    findings: Fields, moves: Sequence[Move], brokers: Brokers, words: Words, *, with_day: bool
) -> tuple[Cause, ...]:
    """Return every finding by its code, that of the headline first."""
    listed = entries(findings, "findings")
    by_finding = moves_by(moves, "findings")
    names = anchors((text(each, "id") for each in listed), "finding")
    by_anchor = {move.anchor: move for move in moves}
    by_code: dict[str, list[tuple[Fields, Finding]]] = {}
    for fields, name in zip(listed, names, strict=True):
        anchor = f"finding-{name}" if name in by_anchor else name
        listed_here = [by_anchor[each] for each in texts(fields, "unloads") if each in by_anchor]
        others = by_finding.get(text(fields, "id"), [])
        concerned = {move.anchor: move for move in (*listed_here, *others)}
        finding = _finding(fields, anchor, concerned.values(), brokers, with_day=with_day)
        by_code.setdefault(text(fields, "code"), []).append((fields, finding))
    causes = [_cause(code, pairs, words) for code, pairs in by_code.items()]
    first = text(part(findings, "headline"), "code")
    return tuple(sorted(causes, key=lambda it: (it.code != first, *it.rank(), it.code)))


def _cause(code: str, pairs: Sequence[tuple[Fields, Finding]], words: Words) -> Cause:
    advice = {finding.advice for _, finding in pairs}
    moves: Mapping[str, Move] = {
        move.anchor: move for _, finding in pairs for move in finding.moves
    }
    useless = [move for move in moves.values() if move.tone == "useless"]
    own = [move for move in useless if move.verdict == code]
    shared = advice.pop() if len(advice) == 1 else ""
    return Cause(
        code=code,
        label=label_of(code, words),
        meaning=meaning_of(code, words),
        page=next((text(fields, "page") for fields, _ in pairs if text(fields, "page")), ""),
        findings=tuple(sorted((each for _, each in pairs), key=_finding_rank)),
        advice=shared,
        moves=len(moves),
        useless=len(useless),
        useless_elsewhere=len(useless) - len(own),
        throughput_useless=sum(move.throughput or 0.0 for move in own),
    )


def _finding_rank(finding: Finding) -> tuple[int, int, str]:
    useless = sum(move.tone == "useless" for move in finding.moves)
    return (-useless, _severity(finding), finding.when)


def _finding(
    fields: Fields, anchor: str, moves: Iterable[Move], brokers: Brokers, *, with_day: bool
) -> Finding:
    return Finding(
        anchor=anchor,
        severity=text(fields, "severity"),
        when=clock(fields.get("time"), with_day=with_day),
        round=whole(fields, "round"),
        title=text(fields, "title"),
        text=text(fields, "text"),
        brokers=tuple(brokers.named(each) for each in names(fields, "brokers")),
        bundles=names(fields, "bundles"),
        figures=figures(fields.get("numbers")),
        better=text(fields, "better"),
        advice=text(fields, "advice"),
        evidence=evidence_of(fields)[:EVIDENCE_SHOWN],
        evidence_left_out=max(0, len(entries(fields, "evidence")) - EVIDENCE_SHOWN),
        moves=tuple(moves),
        rounds=tuple(
            Part(
                clock(each.get("time"), with_day=with_day),
                whole(each, "round"),
                text(each, "severity"),
                text(each, "text"),
            )
            for each in entries(fields, "rounds")
        ),
    )
