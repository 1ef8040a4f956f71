"""What a watch has said so far, added up, and how the brokers stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from trimtab.live.control.expected import Costs
from trimtab.live.watch.document import verdict
from trimtab.live.watch.events import write_time
from trimtab.live.watch.memory import Memory
from trimtab.live.watch.nouns import (
    Acted,
    Action,
    Compared,
    Decided,
    Foretold,
    Scored,
    Settings,
    Steered,
    Unexplained,
)
from trimtab.live.watch.targets import moves_of
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.scores import weighted_usage

#: (who, measure): who is "pulsar" or "shadow".
Of: TypeAlias = tuple[str, str]

PULSAR, SHADOW = "pulsar", "shadow"


@dataclass(frozen=True, slots=True)
class BrokerStanding:
    """How a broker stands, by what it last reported."""

    broker: str
    #: Fraction, weighed as the cluster weighs.
    usage: float
    #: Messages/s and bytes/s, in and out.
    rate: float
    throughput: float
    bundles: int
    reported: datetime


@dataclass(slots=True)
class Tally:
    """Sums over the rounds of a watch."""

    #: Rounds decided; and compared, by verdict.
    rounds: int = 0
    verdicts: dict[str, int] = field(
        default_factory=lambda: {verdict(each): 0 for each in (True, False, None)}
    )
    #: Bundles that each would have moved, or moved.
    unloads: dict[str, int] = field(default_factory=lambda: {PULSAR: 0, SHADOW: 0})
    #: What became of moves → how many, of the plans that are over.
    moved: dict[str, int] = field(default_factory=dict)
    #: What was done about the last round; None while nobody acts.
    acted: Acted | None = None
    #: Changes of owners that no line explains.
    unexplained: int = 0
    #: Sum of each outcome over the rounds that know it, and how many these are.
    sums: dict[Of, float] = field(default_factory=dict)
    counts: dict[Of, int] = field(default_factory=dict)
    #: Of the last round that was scored.
    scores: dict[Of, float] = field(default_factory=dict)
    #: Between which values the shadow's lie.
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    decided: Decided | None = None
    #: The last turn of a strategy of trimtab's own, and turns and moves of all.
    steered: Steered | None = None
    turns: int = 0
    #: Predictions held against what came of them, and those of them inside their interval.
    held: int = 0
    inside: int = 0

    def add(self, actions: Iterable[Action]) -> None:
        """Take in what has been said."""
        for action in actions:
            match action:
                case Decided():
                    self.rounds += 1
                    self.unloads[SHADOW] += len(moves_of(action.shadow))
                    self.decided = action
                case Compared():
                    self.verdicts[verdict(action.logged.recomputed.equal)] += 1
                    self.unloads[PULSAR] += len(action.logged.moves)
                case Scored():
                    self._score(action)
                case Acted():
                    self._take(action)
                case Steered():
                    self.steered = action
                    self.turns += 1
                case Foretold():
                    self.held += 1
                    self.inside += action.checked.outcome.is_inside
                case Unexplained():
                    self.unexplained += len(action.moves)

    def mean(self, who: str, measure: str) -> float:
        """Return the mean of an outcome over the rounds; NaN if none knows it."""
        count = self.counts.get((who, measure), 0)
        return self.sums[who, measure] / count if count else math.nan

    def _take(self, action: Acted) -> None:
        if not action.is_over:
            self.acted = action
        for _, state in action.states:
            self.moved[state] = self.moved.get(state, 0) + 1

    def _score(self, action: Scored) -> None:
        self.scores.clear()
        self.between = action.between
        for who, scores in ((PULSAR, action.pulsar), (SHADOW, action.shadow)):
            for measure, value in scores.items():
                of = who, measure
                self.scores[of] = value
                if math.isfinite(value):
                    self.sums[of] = self.sums.get(of, 0.0) + value
                    self.counts[of] = self.counts.get(of, 0) + 1


@dataclass(frozen=True, slots=True)
class View:
    """What a watch shows at one of its steps."""

    settings: Settings
    memory: Memory
    #: What is new, and all that was said, added up.
    actions: list[Action]
    tally: Tally
    #: Lines that could not be read so far, and why the last of them.
    n_rejected: int = 0
    rejected_because: str = ""
    #: What is known of costs; None as long as that is not enough to say what comes.
    costs: Costs | None = None
    #: What does not answer, a sentence each.
    unanswered: tuple[str, ...] = ()


def standings(memory: Memory) -> tuple[BrokerStanding, ...]:
    """Return how the brokers stand, by name; nothing before it is known who leads."""
    term = memory.term
    if term is None or not term.own.view.reports:
        return ()
    load = broker_load(term.own.view)
    columns = zip(
        load.brokers,
        weighted_usage(load, term.own.leading.weights).tolist(),
        (load.rate_in + load.rate_out).tolist(),
        (load.throughput_in + load.throughput_out).tolist(),
        load.bundle_count.tolist(),
        strict=True,
    )
    return tuple(
        BrokerStanding(*row, reported=write_time(term.reported[row[0]])) for row in sorted(columns)
    )
