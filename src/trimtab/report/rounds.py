"""Every round of the input: who stood where, who was over the bar, what was moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from trimtab.report.brokers import Broker, Brokers
from trimtab.report.input import Fields, anchors, entries, name, text, texts, whole
from trimtab.report.moves import Move, Recomputed, moves_by, recomputed_of
from trimtab.report.verdicts import Tone
from trimtab.report.words import clock, number, percent

#: Brokers listed in one round: those over the bar and those of its moves always, then the
#: highest.  At 1,000 brokers the full list of one night would be half a million lines.
BROKERS_OF_ROUND_MAX = 12

#: The same for each round, and for one that moved nothing, where there are many rounds.
BROKERS_OF_ONE_OF_MANY_MAX = 6
BROKERS_OF_STILL_ROUND_MAX = 3
ROUNDS_IN_FULL_MAX = 100

#: Rounds listed one by one; of more, only those in which something happened.
ROUNDS_LISTED_MAX = 1000

#: `still`: nothing was moved.
RoundTone: TypeAlias = Tone | Literal["still"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one broker stood in a round."""

    broker: Broker
    usage: float | None
    smoothed: float | None
    is_over_bar: bool

    @property
    def words(self) -> str:
        """Say it in numbers."""
        known = [percent(self.smoothed) and f"{percent(self.smoothed)} smoothed"]
        known += [percent(self.usage) and f"{percent(self.usage)} reported"]
        return ", ".join(each for each in known if each)

    def height(self) -> float:
        """Return the number that the balancer compares, for ordering."""
        return self.smoothed if self.smoothed is not None else (self.usage or 0.0)


@dataclass(frozen=True, slots=True)
class Round:
    """One run of the leader's shedding task."""

    anchor: str
    number: int | None
    time: str
    when: str
    leader: Broker | None
    strategy: str
    average: float | None
    #: Average plus threshold: what a broker must pass to lose bundles.
    bar: float | None
    standings: tuple[Standing, ...]
    #: Brokers that are not listed, all of them below the bar.
    left_out: int
    story: tuple[str, ...]
    moves: tuple[Move, ...]
    #: As the round itself counted them.
    unloads: int
    recomputed: Recomputed
    tone: RoundTone

    @property
    def name(self) -> str:
        """Return its name: `Round 3`."""
        return "Round" if self.number is None else f"Round {self.number}"


def rounds_of(
    findings: Fields, moves: Sequence[Move], brokers: Brokers, *, with_day: bool
) -> tuple[Round, ...]:
    """Read every round, each with its moves, in the order of the input."""
    listed = entries(findings, "round_list")
    numbers = [whole(each, "round") for each in listed]
    names = anchors(("" if n is None else f"round-{n}" for n in numbers), "nth-round")
    grouped = moves_by(moves, "round")
    busy = still = BROKERS_OF_ROUND_MAX
    if len(listed) > ROUNDS_IN_FULL_MAX:
        busy, still = BROKERS_OF_ONE_OF_MANY_MAX, BROKERS_OF_STILL_ROUND_MAX
    moves_of_rounds = [grouped.get(n, []) if n is not None else [] for n in numbers]
    return tuple(
        _round(each, anchor, moved, _Listing(brokers, busy if moved else still, with_day))
        for each, anchor, moved in zip(listed, names, moves_of_rounds, strict=True)
    )


class _Listing(NamedTuple):
    """How brokers and times of a round are listed."""

    brokers: Brokers
    #: Brokers up to which all are listed.
    brokers_max: int
    with_day: bool


def _round(fields: Fields, anchor: str, moves: Sequence[Move], listing: _Listing) -> Round:
    brokers = listing.brokers
    average, threshold = number(fields.get("average")), number(fields.get("threshold"))
    leader = name(fields, "leader")
    standings = [_standing(each, brokers) for each in entries(fields, "brokers")]
    kept = _kept(standings, moves, listing.brokers_max)
    return Round(
        anchor=anchor,
        number=whole(fields, "round"),
        time=text(fields, "time"),
        when=clock(fields.get("time"), with_day=listing.with_day),
        leader=brokers.named(leader) if leader else None,
        strategy=text(fields, "strategy"),
        average=average,
        bar=None if average is None or threshold is None else average + threshold,
        standings=kept,
        left_out=len(standings) - len(kept) + (whole(fields, "brokers_left_out") or 0),
        story=texts(fields, "story"),
        moves=tuple(moves),
        unloads=max(whole(fields, "unloads") or 0, len(moves)),
        recomputed=recomputed_of(fields),
        tone=_tone(moves),
    )


def _standing(fields: Fields, brokers: Brokers) -> Standing:
    return Standing(
        broker=brokers.named(name(fields, "broker")),
        usage=number(fields.get("usage")),
        smoothed=number(fields.get("smoothed")),
        is_over_bar=fields.get("over_bar") is True,
    )


def _kept(
    standings: Sequence[Standing], moves: Sequence[Move], brokers_max: int
) -> tuple[Standing, ...]:
    """Choose who is listed: all of a few; of many, those concerned and the highest."""
    if len(standings) <= brokers_max:
        return tuple(standings)
    concerned = {move.source.id for move in moves} | {
        move.target.id for move in moves if move.target
    }
    ranked = sorted(
        standings,
        key=lambda each: (not each.is_over_bar, each.broker.id not in concerned, -each.height()),
    )
    return tuple(ranked[:brokers_max])


def _tone(moves: Sequence[Move]) -> RoundTone:
    tones = {move.tone for move in moves}
    ranked: tuple[Tone, ...] = ("useless", "doubtful", "good", "unknown")
    return next((tone for tone in ranked if tone in tones), "still")


def listed(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Return the rounds that are listed: all, or of very many those in which something happened."""
    if len(rounds) <= ROUNDS_LISTED_MAX:
        return tuple(rounds)
    return tuple(
        each for each in rounds if each.unloads or each.moves or each.recomputed.equal is not True
    )
