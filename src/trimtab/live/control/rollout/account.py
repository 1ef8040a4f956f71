"""What became of each broker of a rolling restart, as its journal tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from trimtab.live.control.entries import Begun, Done, Stopped
from trimtab.live.control.rollout import entries
from trimtab.live.control.rollout.plan import RolloutPlan

#: Nothing was done for good.
OPEN = "open"
#: It has given up its bundles.
EMPTIED = "emptied"
#: It was handed over to be restarted, and not seen since.
AWAY = "handed over"
#: Another process of it serves.
BACK = "back"
#: It was restarted, and has its bundles back as far as the plan has it.
DONE = "restarted"
#: What a broker is away for, s, as long as none was.
_AWAY_S = 60.0
#: What a move takes besides, s; measured: 1 to 2.
_MOVE_S = 1.5


@dataclass(frozen=True, slots=True)
class BrokerAccount:
    """What became of one broker."""

    broker: str
    state: str = OPEN
    #: Bundles that were moved away and back.
    moves_away: int = 0
    moves_back: int = 0
    #: How often it was handed over: once, unless somebody said otherwise.
    hand_overs: int = 0
    #: What the last command that was to restart it ended with.
    hook_status: int | None = None
    #: When it was begun with, handed over, seen again and done with, s since 1970.
    begun_s: float | None = None
    handed_s: float | None = None
    back_s: float | None = None
    done_s: float | None = None
    #: s, from its beginning to its end, as foretold.
    expected_s: float | None = None
    #: What was not as it should be; for a person.
    remark: str = ""

    @property
    def took_s(self) -> float | None:
        """Return s from its beginning to its end; None if it has not come to an end."""
        if self.begun_s is None or self.done_s is None:
            return None
        return self.done_s - self.begun_s

    @property
    def away_s(self) -> float | None:
        """Return for how long it was away, s; None if it was not, or is not seen again."""
        if self.handed_s is None or self.back_s is None:
            return None
        return self.back_s - self.handed_s


@dataclass(frozen=True, slots=True)
class RolloutAccount:
    """What became of a rolling restart."""

    plan: str
    brokers: tuple[BrokerAccount, ...]
    #: Runs that were begun.
    runs: int
    #: Why the last run ended before the plan did; empty if it is done, None if it never said.
    ended: str | None
    #: Pulsar's own shedding was switched off, and not put back as far as the journal tells.
    is_paused: bool = False

    @property
    def is_done(self) -> bool:
        """Return whether every broker was restarted."""
        return self.ended == ""

    @property
    def away_s(self) -> float:
        """Return for how long a broker is away, on average of those that were, s."""
        known = [each.away_s for each in self.brokers if each.away_s is not None]
        return sum(known) / len(known) if known else _AWAY_S

    def left_s(self, turns: int) -> float | None:
        """Return for how long the rest will take, by those that are done; None before the first.

        What is waited for between two brokers counts.
        """
        done = [each for each in self.brokers if each.took_s is not None]
        if not done:
            return None
        began_s = min(each.begun_s or 0.0 for each in done)
        passed_s = max(each.done_s or 0.0 for each in done) - began_s
        return max(0, turns - len(done)) * passed_s / len(done)


def rollout_account(plan: RolloutPlan, journal: Iterable[entries.RolloutEntry]) -> RolloutAccount:
    """Return what became of a plan from its journal alone."""
    brokers = {name: BrokerAccount(name) for name in plan.brokers}
    runs, ended, is_paused = 0, None, False
    for entry in journal:
        match entry:
            case Begun():
                runs, ended = runs + 1, None
            case entries.Paused():
                is_paused = True
            case entries.PutBack():
                is_paused = False
            case Stopped(why=why):
                ended = why
            case Done():
                ended = ""
            case _:
                brokers[entry.broker] = _after(brokers[entry.broker], entry)
    return RolloutAccount(plan.digest, tuple(brokers.values()), runs, ended, is_paused)


def expected_s(n_moves: int, every_s: float, away_s: float, warm_s: float | None) -> float:
    """Return for how long one broker will take, from its beginning to its end, s.

    Args:
        n_moves: that empty it.
        every_s: between two moves.
        away_s: for which it is expected to be away.
        warm_s: since it began, before it is filled again; None if it is not.
    """
    moving_s = n_moves * (every_s + _MOVE_S)
    return moving_s + away_s + (0.0 if warm_s is None else warm_s + moving_s)


def _after(broker: BrokerAccount, entry: entries.OfBroker) -> BrokerAccount:
    match entry:
        case entries.Emptying():
            begun_s = entry.time_s if broker.begun_s is None else broker.begun_s
            expected_s = entry.expected_s if broker.expected_s is None else broker.expected_s
            return replace(broker, begun_s=begun_s, expected_s=expected_s)
        case entries.Emptied():
            moves = broker.moves_away + entry.moves
            return replace(broker, state=EMPTIED, moves_away=moves, remark="")
        case entries.Hindered():
            return replace(broker, remark=entry.why)
        case entries.Handed():
            count = broker.hand_overs + 1
            return replace(broker, state=AWAY, hand_overs=count, handed_s=entry.time_s)
        case entries.HookEnded():
            return replace(broker, hook_status=entry.status)
        case entries.Again():
            return replace(broker, state=OPEN, hook_status=None)
        case entries.Back():
            return replace(broker, state=BACK, back_s=entry.time_s)
        case entries.Filled():
            moves = broker.moves_back + entry.moves
            return replace(
                broker, state=DONE, done_s=entry.time_s, moves_back=moves, remark=entry.remark
            )
    assert_never(entry)
