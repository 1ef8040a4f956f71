"""The night of one bundle or of one broker, step by step, out of what the page has anyway."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from trimtab.report.brokers import Brokers
from trimtab.report.input import Fields, anchors, entries, name, names, text, whole
from trimtab.report.moves import Line, Move, last_line_of
from trimtab.report.verdicts import SIGNS, Tone
from trimtab.report.words import clock, count, lasting, moment, number, percent

Kind: TypeAlias = Literal["bundle", "broker"]

_T = TypeVar("_T")

#: A round in which a broker stood over the bar: its place in the list, the round, the broker.
_Over: TypeAlias = tuple[int, Fields, Fields]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a bundle or a broker."""

    #: As the input has it.
    time: str
    when: str
    round: int | None
    #: What happened, in words.
    text: str
    #: How it is judged; empty where there is nothing to judge.
    tone: Tone | Literal[""]
    #: The judgement in words.
    label: str
    #: Where the page shows more of it; empty if nowhere.
    anchor: str
    #: The line of the log that says so.
    line: Line | None
    #: The move, if it is one.
    move: Move | None = None

    @property
    def sign(self) -> str:
        """Return the sign of its tone."""
        return SIGNS[self.tone] if self.tone else ""


@dataclass(frozen=True, slots=True)
class Journey:
    """What became of one bundle, or of one broker, over the night."""

    anchor: str
    kind: Kind
    name: str
    summary: str
    steps: tuple[Step, ...]
    moves: int
    useless: int

    @property
    def length(self) -> int:
        """Return the lines that it takes to tell."""
        return 1 + len(self.steps)


@dataclass(frozen=True, slots=True)
class Journeys:
    """Every bundle that was moved or that a finding names, and every broker."""

    bundles: tuple[Journey, ...]
    brokers: tuple[Journey, ...]
    #: Name of a bundle or broker → the anchor of its journey.
    bundle_anchors: Mapping[str, str]
    broker_anchors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Night:
    """What every journey is read from."""

    brokers: Brokers
    with_day: bool
    #: Finding's id → its anchor on the page.
    finding_anchors: Mapping[str, str]
    #: Round's number → its anchor on the page.
    round_anchors: Mapping[int, str]


def journeys_of(
    findings: Fields,
    moves: Sequence[Move],
    brokers: Brokers,
    anchored: tuple[Mapping[str, str], Mapping[int, str]] = ({}, {}),
    *,
    with_day: bool,
) -> Journeys:
    """Gather what happened by bundle and by broker.

    Args:
        findings: what the diagnosis found.
        moves: every unload of it.
        brokers: how brokers are shown.
        anchored: where the page shows a finding by its id, and a round by its number.
        with_day: a time of day alone would be ambiguous.
    """
    night = _Night(brokers, with_day, *anchored)
    listed = entries(findings, "findings")
    findings_of = {kind: _by_name(listed, kind) for kind in ("bundles", "brokers")}
    moved = _grouped(moves, lambda move: (move.bundle,))
    touched = _grouped(moves, _ends)
    over = _over_bar(entries(findings, "round_list"))
    bundles = sorted({*moved, *findings_of["bundles"]} - {""})
    known = [broker.id for broker in brokers.all]
    places = dict(zip(bundles, anchors([""] * len(bundles), "bundle"), strict=True))
    homes = dict(zip(known, anchors([""] * len(known), "broker"), strict=True))
    return Journeys(
        tuple(
            _bundle(_Subject(place, each), moved.get(each, []), findings_of["bundles"][each], night)
            for each, place in places.items()
        ),
        tuple(
            _broker(
                _Subject(home, each),
                touched.get(each, []),
                over.get(each, []),
                findings_of["brokers"][each],
                night,
            )
            for each, home in homes.items()
        ),
        places,
        homes,
    )


class _Subject(NamedTuple):
    """The bundle or broker whose journey it is, and where that stands on the page."""

    anchor: str
    name: str


def _grouped(items: Iterable[_T], keys_of: Callable[[_T], Iterable[str]]) -> dict[str, list[_T]]:
    """Group things by each of their keys, in their order."""
    groups: dict[str, list[_T]] = {}
    for item in items:
        for key in dict.fromkeys(keys_of(item)):
            groups.setdefault(key, []).append(item)
    return groups


def _by_name(findings: Sequence[Fields], key: str) -> defaultdict[str, list[Fields]]:
    """Group findings by the bundles or brokers that they name."""
    return defaultdict(list, _grouped(findings, lambda finding: names(finding, key)))


def _ends(move: Move) -> list[str]:
    return [move.source.id, *([move.target.id] if move.target else [])]


# --------------------------------------------------------------------- a bundle


def _bundle(
    subject: _Subject, moves: Sequence[Move], findings: Sequence[Fields], night: _Night
) -> Journey:
    ordered = sorted(moves, key=lambda move: move.time)
    # A finding may name a bundle that was never moved.
    stays = ["" for _ in ordered[:1]] + [
        _stay(before, after) for before, after in pairwise(ordered)
    ]
    steps = [
        _moved(move, f"moved from {move.source.label} to {_target(move)}", stay)
        for move, stay in zip(ordered, stays, strict=True)
    ]
    steps += _beside_moves(findings, moves, night)
    return _journey(subject, "bundle", steps, _of_bundle(ordered))


def _of_bundle(moves: Sequence[Move]) -> str:
    if not moves:
        return "It was not moved."
    good = sum(move.tone == "useless" for move in moves)
    worth = f"; {_useless(good, len(moves))}" if good else ""
    through = [moves[0].source.label, *(_target(move) for move in moves)]
    visited = " → ".join(through[:8]) + (" → …" if len(through) > 8 else "")
    times = {1: "once", 2: "twice"}.get(len(moves), f"{len(moves):,} times")
    return f"Moved {times}{worth}: {visited}."


def _useless(useless: int, moves: int) -> str:
    if useless == moves:
        return "it did no good" if moves == 1 else f"none of the {moves} did any good"
    return f"{useless} of the {moves} did no good"


def _target(move: Move) -> str:
    return move.target.label if move.target else "a broker that is not known"


def _stay(before: Move, after: Move) -> str:
    """Return how long a bundle stayed where it had been put; empty if it left from elsewhere."""
    start, end = moment(before.time), moment(after.time)
    if start is None or end is None or before.target is None:
        return ""
    if before.target.id != after.source.id:
        return ""
    return f", after {lasting((end - start).total_seconds())} there"


# --------------------------------------------------------------------- a broker


def _broker(
    subject: _Subject,
    moves: Sequence[Move],
    over: Sequence[_Over],
    findings: Sequence[Fields],
    night: _Night,
) -> Journey:
    steps = [_moved(move, _from_here(move, subject.name), "") for move in moves]
    steps += [*_above(over, night), *_beside_moves(findings, moves, night)]
    lost = sum(move.source.id == subject.name for move in moves)
    got = sum(move.target is not None and move.target.id == subject.name for move in moves)
    useless = sum(move.tone == "useless" for move in moves)
    parts = [f"Lost {count(lost, 'bundle')}, got {got}" if moves else "Neither lost nor got any"]
    if useless:
        parts.append(_useless(useless, len(moves)))
    if over:
        parts.append(f"over the bar in {count(len(over), 'round')}")
    return _journey(subject, "broker", steps, f"{'; '.join(parts)}.")


def _from_here(move: Move, broker: str) -> str:
    if move.source.id != broker:
        return f"got {move.bundle} from {move.source.label}"
    if move.target is not None and move.target.id == broker:
        return f"lost {move.bundle} and took it again"
    return f"lost {move.bundle} to {_target(move)}"


def _over_bar(rounds: Sequence[Fields]) -> dict[str, list[_Over]]:
    """Return the rounds in which each broker stood over the bar, by their place in the list."""
    over: dict[str, list[_Over]] = {}
    for place, each in enumerate(rounds):
        for broker in entries(each, "brokers"):
            if broker.get("over_bar") is True:
                over.setdefault(name(broker, "broker"), []).append((place, each, broker))
    return over


def _above(over: Sequence[_Over], night: _Night) -> list[Step]:
    """Join rounds over the bar that follow each other to one step."""
    cuts = [i for i in range(1, len(over)) if over[i][0] != over[i - 1][0] + 1]
    bounds = pairwise([0, *cuts, len(over)])
    return [_stretch(over[start:end], night) for start, end in bounds if end > start]


def _stretch(over: Sequence[_Over], night: _Night) -> Step:
    _, first, _ = over[0]
    numbers = [whole(each, "round") for _, each, _ in over]
    scores = [number(broker.get("smoothed")) for _, _, broker in over]
    known = [each for each in scores if each is not None]
    bar = _bar(first)
    words = "over the bar" if len(over) == 1 else f"over the bar in {count(len(over), 'round')}"
    if len(over) > 1 and None not in (numbers[0], numbers[-1]):
        words += f", {numbers[0]} to {numbers[-1]}"
    if known:
        words += f": {'at' if len(over) == 1 else 'up to'} {percent(max(known))} smoothed"
    if known and bar is not None and len(over) == 1:
        words += f", the bar at {percent(bar)}"
    return Step(
        time=text(first, "time"),
        when=clock(first.get("time"), with_day=night.with_day),
        round=numbers[0],
        text=words,
        tone="",
        label="",
        anchor=night.round_anchors.get(numbers[0] or 0, ""),
        line=None,
    )


def _bar(one: Fields) -> float | None:
    average, threshold = number(one.get("average")), number(one.get("threshold"))
    return None if average is None or threshold is None else average + threshold


# ------------------------------------------------------------------------- both


def _moved(move: Move, what: str, stay: str) -> Step:
    carrying = f", {move.traffic}" if move.traffic else ""
    better = move.better
    instead = ""
    if better is not None and move.tone != "good":
        where = better.target.label if better.target else ""
        instead = f"; better: {': '.join(each for each in (where, better.why) if each)}"
    return Step(
        time=move.time,
        when=move.when,
        round=move.round,
        text=f"{what}{stay}{carrying}{instead}",
        tone=move.tone,
        label=f"{move.label}, no good" if move.tone == "useless" else move.label,
        anchor=move.anchor,
        line=move.evidence[-1] if move.evidence else None,
        move=move,
    )


def _beside_moves(findings: Sequence[Fields], moves: Sequence[Move], night: _Night) -> list[Step]:
    """Return findings as steps, but for those that are the verdict of a move: its step has them."""
    in_steps = {(each, move.verdict) for move in moves for each in move.findings}
    return [
        Step(
            time=text(each, "time"),
            when=clock(each.get("time"), with_day=night.with_day),
            round=whole(each, "round"),
            text=text(each, "title"),
            tone="",
            label="",
            anchor=night.finding_anchors.get(text(each, "id"), ""),
            line=last_line_of(each),
        )
        for each in findings
        if (text(each, "id"), text(each, "code")) not in in_steps
    ]


def _journey(subject: _Subject, kind: Kind, steps: Sequence[Step], summary: str) -> Journey:
    return Journey(
        anchor=subject.anchor,
        kind=kind,
        name=subject.name,
        summary=summary,
        steps=tuple(sorted(steps, key=lambda step: (step.time, step.move is None))),
        moves=sum(step.move is not None for step in steps),
        useless=sum(step.tone == "useless" for step in steps),
    )
