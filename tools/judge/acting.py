"""A strategy of trimtab's own in the laboratory, under the guards that hold it back when it acts.

The real guards ask a plan and a view of a real cluster.  Here the same limits are put to the
simulated one: how many moves a minute and an hour, how old a destination and its report have to
be, how full it may be, and how long a bundle rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import RoundRecord
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.steered import Steering, step_round
from trimtab.lab.steering import Answer, Command
from trimtab.live.control.limits import Limits

_HOUR_S = 3600.0

#: What stands behind a strategy's name → the limits that hold it back: those that `--act` begins
#: with, and the widest that a day of predictions that came true might be trusted with.
GUARDS: Mapping[str, Limits] = {
    "+guards": Limits(),
    "+trusted": Limits(moves_per_round=12, moves_per_hour=240, broker_age_min_s=90),
}


@dataclass(slots=True)
class Guarded:
    """Makes no more of the moves of a plan than the limits allow, and the rest as they do."""

    steering: Steering
    limits: Limits
    #: Moves of the newest plan that have not been made, and when which bundle was moved, s.
    waiting: list[Command] = field(default_factory=list)
    made: list[tuple[float, int]] = field(default_factory=list)

    def round(self, time_s: float) -> RoundRecord:
        """Run a round."""
        return step_round(self.simulation, self, time_s)

    def place(self, time_s: float, bundle: int) -> Chosen | None:
        """Let the strategy say who gets a bundle: lookups are answered whatever the limits."""
        return self.steering.place(time_s, bundle)

    @property
    def simulation(self) -> Simulation:
        """Return the cluster that it is in."""
        return self.steering.simulation

    def step(self, time_s: float) -> Answer:
        """Let the strategy decide; a new plan takes the place of what is left of the old one."""
        answer = self.steering.step(time_s)
        if answer.commands:
            self.waiting = list(answer.commands)
        self.waiting = [each for each in self.waiting if self._is_owned(each)]
        going = [each for each in self.waiting if self._may_go(each, time_s)]
        going = going[: self._room(time_s)]
        self.waiting = [each for each in self.waiting if each not in going]
        self.made += [(time_s, each.bundle) for each in going]
        return replace(answer, commands=tuple(going))

    def _is_owned(self, command: Command) -> bool:
        return int(self.simulation.cluster.owner[command.bundle]) == command.source

    def _may_go(self, command: Command, time_s: float) -> bool:
        """Return whether nothing but the pace stands against a move."""
        simulation, limits, target = self.simulation, self.limits, command.target
        tick_s = simulation.parameters.measuring.tick_s
        last = simulation.tick - 1
        every = simulation.windows.host_ticks
        measured = last - (last - simulation.windows.phase[0, target]) % every
        started = float(simulation.cluster.started[target])
        age_s = np.inf if started == 0 else time_s - started * tick_s
        usage = float(simulation.reports.usage[target].max())
        rests = any(
            bundle == command.bundle and time_s - at_s < limits.grace_s
            for at_s, bundle in self.made
        )
        return (
            bool(simulation.cluster.is_registered[target])
            and age_s >= limits.broker_age_min_s
            and (last - measured) * tick_s <= limits.report_age_max_s
            and usage <= limits.bar_percent
            and not rests
        )

    def _room(self, time_s: float) -> int:
        """Return how many moves the pace leaves."""
        limits = self.limits
        in_round = sum(time_s - at_s < limits.round_s for at_s, _ in self.made)
        in_hour = sum(time_s - at_s < _HOUR_S for at_s, _ in self.made)
        return max(0, int(min(limits.moves_per_round - in_round, limits.moves_per_hour - in_hour)))


def guards_of(strategy: str) -> tuple[str, Limits | None]:
    """Return the name of a strategy, and the limits that stand behind it.

    >>> guards_of("Foresee@polled+guards")[0], guards_of("Foresee")
    ('Foresee@polled', ('Foresee', None))
    """
    for ending, limits in GUARDS.items():
        if strategy.endswith(ending):
            return strategy.removesuffix(ending), limits
    return strategy, None
