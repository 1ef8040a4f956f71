"""Every unload of the input as a row of the page, and how many got which verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname
from typing import Any, NamedTuple

from trimtab.report.brokers import Broker, Brokers
from trimtab.report.input import Fields, anchors, entries, name, part, text, texts, whole
from trimtab.report.verdicts import SIGNS, Tone, Words, label_of, meaning_of, tone_of
from trimtab.report.words import Figure, clock, figures, number, traffic

#: Moves up to which each shows all of its lines, also those that another one shows, and its
#: numbers, also where it was right and came out equal.
MOVES_IN_FULL_MAX = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the recording, verbatim."""

    file: str
    line: int | None
    text: str
    #: Anchor of the move that shows the line already; empty if it is to be shown.
    shown_at: str = ""

    @property
    def place(self) -> str:
        """Return where the line stands: `file:line`."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def prefix(self) -> str:
        """What log4j2 sets before a message (time, thread, level, class); empty without one."""
        before, dash, _ = self.text.partition(" - ")
        return f"{before}{dash}" if dash and before[:4].isdigit() else ""

    @property
    def message(self) -> str:
        """What was logged, without what stands before it."""
        return self.text.removeprefix(self.prefix)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Whether the recomputation came out as the recording says."""

    #: None if that cannot be said.
    equal: bool | None
    why: str
    figures: tuple[Figure, ...]

    @property
    def words(self) -> str:
        """Say it in a few words."""
        return {True: "equal", False: "different", None: "not decidable"}[self.equal]


@dataclass(frozen=True, slots=True)
class Better:
    """The better choice that was open at that moment."""

    target: Broker | None
    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """One unload."""

    anchor: str
    #: As the input has it, for sorting and for the chart; `when` is for people.
    time: str
    when: str
    round: int | None
    bundle: str
    source: Broker
    #: None if the recording does not say where the bundle went.
    target: Broker | None
    strategy: str
    throughput: float | None
    traffic: str
    verdict: str
    label: str
    meaning: str
    tone: Tone
    sign: str
    #: The line of the unload itself, shortened by what all moves share.
    log: str
    evidence: tuple[Line, ...]
    recomputed: Recomputed
    better: Better | None
    #: Ids of the findings that it belongs to.
    findings: tuple[str, ...]


def evidence_of(fields: Fields) -> tuple[Line, ...]:
    """Read the lines that prove something."""
    return tuple(map(_line, entries(fields, "evidence")))


def last_line_of(fields: Fields) -> Line | None:
    """Read the last of the lines that prove something; None if there is none."""
    return next(map(_line, entries(fields, "evidence")[-1:]), None)


def _line(fields: Fields) -> Line:
    return Line(text(fields, "file"), whole(fields, "line"), text(fields, "text"))


def recomputed_of(fields: Fields) -> Recomputed:
    """Read whether, and with which numbers, something was recomputed."""
    recomputed = part(fields, "recomputed")
    equal = recomputed.get("equal")
    return Recomputed(
        equal if isinstance(equal, bool) else None,
        text(recomputed, "why"),
        figures(recomputed.get("numbers")),
    )


def moves_of(
    unloads: Sequence[Fields], brokers: Brokers, words: Words, *, with_day: bool
) -> tuple[Move, ...]:
    """Read every unload, in the order of the input."""
    evidence = [evidence_of(unload) for unload in unloads]
    places = short_places([lines[-1] if lines else None for lines in evidence])
    names = list(anchors((text(unload, "id") for unload in unloads), "move"))
    if len(unloads) > MOVES_IN_FULL_MAX:
        unloads = [_briefly(unload) for unload in unloads]
        evidence = proofs_once(evidence, names)
    return tuple(
        _move(unload, brokers, words, _Proof(anchor, place, lines), with_day=with_day)
        for unload, anchor, place, lines in zip(unloads, names, places, evidence, strict=True)
    )


def _briefly(unload: Fields) -> Fields:
    """Leave out the numbers of a move that was right and came out equal: findings.json has them."""
    recomputed = part(unload, "recomputed")
    tone = tone_of(text(unload, "verdict"), unload.get("useless"))
    if tone != "good" or recomputed.get("equal") is not True:
        return unload
    equal = {"equal": True, "why": text(recomputed, "why")}
    return {**unload, "better": None, "recomputed": equal}


def proofs_once(
    evidence: Sequence[tuple[Line, ...]], anchors_of: Sequence[str]
) -> list[tuple[Line, ...]]:
    """Let a line that proves several moves be shown at the first of them alone.

    All moves of a round share the line of its decision: thousands of them would repeat
    megabytes.
    """
    first: dict[tuple[str, int | None, str], str] = {}
    unrepeated: list[tuple[Line, ...]] = []
    for lines, anchor in zip(evidence, anchors_of, strict=True):
        at = [first.setdefault((line.file, line.line, line.text), anchor) for line in lines]
        unrepeated.append(
            tuple(
                line if place == anchor else replace(line, shown_at=place)
                for line, place in zip(lines, at, strict=True)
            )
        )
    return unrepeated


class _Proof(NamedTuple):
    """Where a move stands on the page, and the lines that prove it."""

    anchor: str
    log: str
    evidence: tuple[Line, ...]


def _move(unload: Fields, brokers: Brokers, words: Words, proof: _Proof, *, with_day: bool) -> Move:
    verdict = text(unload, "verdict")
    tone = tone_of(verdict, unload.get("useless"))
    target, better = name(unload, "target"), part(unload, "better")
    throughput = number(unload.get("throughput"))
    return Move(
        anchor=proof.anchor,
        time=text(unload, "time"),
        when=clock(unload.get("time"), with_day=with_day),
        round=whole(unload, "round"),
        bundle=name(unload, "bundle"),
        source=brokers.named(name(unload, "source")),
        target=brokers.named(target) if target else None,
        strategy=text(unload, "strategy"),
        throughput=throughput,
        traffic=traffic(throughput),
        verdict=verdict,
        label=label_of(verdict, words),
        meaning=meaning_of(verdict, words),
        tone=tone,
        sign=SIGNS[tone],
        log=proof.log,
        evidence=proof.evidence,
        recomputed=recomputed_of(unload),
        better=_better(better, brokers) if better else None,
        findings=texts(unload, "findings"),
    )


def _better(better: Fields, brokers: Brokers) -> Better:
    target = name(better, "target")
    return Better(brokers.named(target) if target else None, text(better, "why"))


def short_places(lines: Iterable[Line | None]) -> list[str]:
    """Shorten where lines stand to what tells them apart.

    All in one file: the line number.  One file a folder (`logs/broker1/…`): the folder and
    the number.  Else the whole path.
    """
    known = list(lines)
    files = {line.file for line in known if line}
    if len(files) == 1:
        return ["" if line is None else str(line.line or "") for line in known]
    folders = Counter(dirname(file) for file in files)
    can_shorten = all(times == 1 for times in folders.values()) and "" not in folders
    return [_short_place(line, can_shorten=can_shorten) for line in known]


def _short_place(line: Line | None, *, can_shorten: bool) -> str:
    if line is None:
        return ""
    if not can_shorten or line.line is None:
        return line.place
    return f"{dirname(line.file).rpartition('/')[2]}:{line.line}"


def tallies_of(moves: Sequence[Move]) -> list[dict[str, Any]]:
    """Return how many moves got one verdict with one outcome: the good first, then the worst.

    With the share of all moves before it and of it, in percent of the bar.
    """
    order: dict[Tone, int] = {"good": 0, "useless": 1, "doubtful": 2, "unknown": 3}
    counted: Counter[tuple[str, Tone]] = Counter((move.verdict, move.tone) for move in moves)
    ranked = sorted(counted.items(), key=lambda item: (order[item[0][1]], -item[1], item[0][0]))
    labels = {move.verdict: move.label for move in moves}
    tallies: list[dict[str, Any]] = []
    start = 0
    for (verdict, tone), times in ranked:
        tallies.append(
            {
                "verdict": verdict,
                "label": labels[verdict],
                "tone": tone,
                "sign": SIGNS[tone],
                "moves": times,
                "start_percent": 100 * start / len(moves),
                "percent": 100 * times / len(moves),
            }
        )
        start += times
    return tallies


def moves_by(moves: Sequence[Move], what: str) -> dict[Any, list[Move]]:
    """Group moves by `round`, or by each of their `findings`."""
    groups: dict[Any, list[Move]] = {}
    for move in moves:
        keys = move.findings if what == "findings" else (move.round,)
        for key in keys:
            groups.setdefault(key, []).append(move)
    return groups
