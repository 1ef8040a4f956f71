"""The turns of a strategy of trimtab's own: what has come in → what it would have moved now.

A fold as `step` is: no clock, no files, no network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trimtab.lab.costs import Knowledge
from trimtab.lab.steering import Answer, Named, View
from trimtab.live.control.trust import Outcome, trust, with_outcomes
from trimtab.live.watch.costs import windows_of
from trimtab.live.watch.nouns import Expectation, Foretold, Row, Settings, Steered, SteeredMove
from trimtab.live.watch.steering.foretold import Open, held_against
from trimtab.live.watch.steering.kept import Kept
from trimtab.live.watch.steering.sighting import Names, Sighting

_BUSY = "the last plan is still being carried out"


@dataclass(slots=True)
class Turns:
    """A strategy beside a cluster, and all that goes on from turn to turn."""

    named: Named
    strategy: str
    sighting: Sighting
    memory: Any = None
    record: tuple[Outcome, ...] = ()
    opens: tuple[Open, ...] = ()
    n_turns: int = 0
    next_s: float = -math.inf
    #: Commands of the turn before: when, bundle, and where it was to go.
    commanded: list[tuple[float, str, str]] = field(default_factory=list)

    def take(self, rows: Sequence[Row]) -> None:
        """Take what has come in."""
        self.sighting.take(rows)

    def turn(self, now: datetime, *, is_busy: bool = False) -> list[Steered | Foretold]:
        """Return what the strategy does now, if it is its turn, and what came of predictions.

        Args:
            now: by the clock of this machine.
            is_busy: a plan of ours is being carried out, so nothing else may be moved.
        """
        now_s = now.timestamp()
        if now_s < self.next_s or not self.sighting.there:
            return []
        self.next_s = now_s + self.named.every_s
        self.n_turns += 1
        view = self.sighting.view(now_s, self.commanded)
        if is_busy:
            view.is_movable[:] = False
        self.opens, checked = held_against(self.opens, self.known, view)
        self.record = with_outcomes(self.record, (each.outcome for each in checked))
        entry = self.named.entry
        answer, self.memory = entry.step(view, self.memory, self.named.settings)
        steered = self._steered(now, view, answer, is_busy=is_busy)
        self.commanded = [(now_s, each.bundle, each.target) for each in steered.moves]
        return [*(Foretold(self.n_turns, now, each) for each in checked), steered]

    @property
    def known(self) -> Knowledge | None:
        """Return what the strategy has learned of costs; None if it learns none."""
        knowledge = self.named.entry.knowledge
        if knowledge is None or self.memory is None:
            return None
        known: Knowledge = knowledge(self.memory)
        return known

    def kept(self, time_s: float) -> Kept | None:
        """Return what is to survive a restart of the program; None before the first turn."""
        if self.memory is None:
            return None
        return Kept(self.strategy, self.sighting.names, self.memory, self.record, time_s)

    def _steered(self, now: datetime, view: View, answer: Answer, *, is_busy: bool) -> Steered:
        traffic = {
            name: counts[2] + counts[3]
            for report in self.sighting.shown.values()
            for name, counts in report.bundles.items()
        }
        moves = tuple(
            SteeredMove(
                bundle=view.bundles[each.bundle],
                source=view.brokers[each.source],
                target=view.brokers[each.target],
                reason=each.reason,
                throughput=float(traffic.get(view.bundles[each.bundle], 0.0)),
            )
            for each in answer.commands
        )
        levels = {
            name: float(level)
            for name, level in zip(view.brokers, answer.levels, strict=True)
            if not math.isnan(level)
        }
        changes = [(each.after - each.before, each.change_deviation) for each in answer.predictions]
        return Steered(
            number=self.n_turns,
            time=now,
            strategy=self.strategy,
            reason=_BUSY if is_busy and not moves else answer.reason,
            moves=moves,
            expected=tuple(
                Expectation(
                    view.brokers[each.broker],
                    each.before,
                    each.after,
                    each.change_deviation,
                    each.deviation,
                )
                for each in answer.predictions
            ),
            advice=answer.advice,
            levels=levels,
            trust=trust(self.record, now.timestamp(), changes),
            record=self.record,
        )


def turns(
    strategy: str, own: Named, settings: Settings, began: datetime, kept: Kept | None
) -> Turns:
    """Return the turns of a strategy, from what it remembers on."""
    sighting = Sighting(
        release=settings.ran.release,
        windows=windows_of(settings),
        grace_s=settings.ran.manager.grace_period_s,
        is_store=settings.reads_store,
        began_s=began.timestamp() if kept is None else kept.time_s,
        names=Names() if kept is None else kept.names,
    )
    if kept is None:
        return Turns(own, strategy, sighting)
    return Turns(own, strategy, sighting, kept.memory, kept.record)
