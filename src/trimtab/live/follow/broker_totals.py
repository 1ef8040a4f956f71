"""What is known of each broker while its cluster runs: counters, and smoothed usage.

Everything is a fold over facts in the order in which they were read, so that it does not
matter how they are cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

#: What a fact is about; a report is named by its origin.
LINES, EVENT, UNLOAD, PRINTED = "lines", "event", "unload", "printed"
STORED, ASKED, GONE = "store", "rest", "gone"


class Fact(NamedTuple):
    """One thing that was read about a broker."""

    kind: str
    #: Microseconds since 1970; 0 where it does not matter.
    time_us: int
    #: Lines for `lines`; usage, a fraction, for `printed`, `store` and `rest`.
    value: float


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How the leader smooths."""

    #: loadBalancerHistoryResourcePercentage, a fraction.
    history_share: float
    #: Between two rounds.
    interval_us: int


@dataclass(frozen=True, slots=True)
class Running:
    """What is known of one broker so far."""

    #: Lines of its log.
    lines: int = 0
    #: Messages of the balancer's in its log.
    events: int = 0
    #: Unloads that it has logged.
    unloads: int = 0
    #: Rounds in which the leader has printed its usage, and its usage smoothed over these.
    rounds: int = 0
    printed: float | None = None
    #: Its load reports, the usage in the last one, and usage smoothed as the leader does.
    reports: int = 0
    usage: float | None = None
    smoothed: float | None = None
    #: When the last round took place that is in `smoothed`; microseconds since 1970.
    round_us: int | None = None
    #: Reports come from the metadata store, where the leader sees them.
    is_stored: bool = False


def folded(before: Running, facts: Iterable[Fact], rhythm: Rhythm) -> Running:
    """Return the state after some facts, one after the other.

    Properties:
        `folded(folded(before, first), second)` equals `folded(before, first + second)`, to
        the last bit.
    """
    now = before
    for fact in facts:
        match fact.kind:
            case "lines":
                now = replace(now, lines=now.lines + int(fact.value))
            case "event":
                now = replace(now, events=now.events + 1)
            case "unload":
                now = replace(now, unloads=now.unloads + 1)
            case "printed":
                printed = _blended(now.printed, fact.value, rhythm.history_share)
                now = replace(now, rounds=now.rounds + 1, printed=printed)
            case "gone":
                # As the leader forgets it.
                now = replace(now, usage=None, smoothed=None, round_us=None)
            case _:
                now = _reported(now, fact, rhythm)
    return now


def _reported(before: Running, fact: Fact, rhythm: Rhythm) -> Running:
    """Return the state after a load report: until it came, every round saw the one before.

    Where the metadata store is recorded, what a broker says when asked is passed over: the
    leader has not seen it.
    """
    now = replace(before, reports=before.reports + 1)
    is_stored = fact.kind == STORED
    if before.is_stored and not is_stored:
        return now
    if before.usage is None or before.smoothed is None or before.round_us is None:
        return replace(
            now,
            usage=fact.value,
            smoothed=fact.value,
            round_us=fact.time_us,
            is_stored=is_stored,
        )
    rounds = max(fact.time_us - before.round_us, 0) // rhythm.interval_us
    return replace(
        now,
        usage=fact.value,
        smoothed=_after_rounds(before.smoothed, before.usage, rounds, rhythm.history_share),
        round_us=before.round_us + rounds * rhythm.interval_us,
        is_stored=is_stored,
    )


def _after_rounds(smoothed: float, usage: float, rounds: int, history_share: float) -> float:
    """Return a usage smoothed as the same in so many rounds."""
    for _ in range(rounds):
        after = _blended(smoothed, usage, history_share)
        # From here on nothing changes, however long the broker was silent.
        if after == smoothed:
            break
        smoothed = after
    return smoothed


def _blended(before: float | None, now: float, history_share: float) -> float:
    """Return what was weighed with what is, as `scores.blended` does with arrays, to the bit."""
    return now if before is None else before * history_share + (1 - history_share) * now
