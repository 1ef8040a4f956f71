"""A strategy of trimtab's own at the wheel: its steps, its placements, and what becomes of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trimtab.lab.simulate.move import Moment, settled
from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import Move, RoundRecord
from trimtab.lab.simulate.shedding import Order, unloaded
from trimtab.lab.simulate.sights import Eyes
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Predicted
from trimtab.lab.steering import Answer, Asked, Command, Fate, Named, Prediction, View
from trimtab.pulsar.model import Floats, NoCandidatesError, UnreportedCandidateError


@dataclass(slots=True)
class Steering:
    """What goes on from step to step; a new leader takes over all of it."""

    simulation: Simulation
    named: Named
    eyes: Eyes
    memory: Any = None
    #: What was commanded in the step before.
    commands: tuple[Command, ...] = ()
    commanded_s: float = 0.0

    def view(self, time_s: float) -> View:
        """Return what the strategy is shown now."""
        simulation = self.simulation
        look, network = self.eyes.look(time_s)
        machines, bundles = simulation.world.machines, simulation.world.bundles
        members = tuple(each for each in simulation.members if each.time_s <= time_s)
        simulation.members = [each for each in simulation.members if each.time_s > time_s]
        left_alone = time_s - simulation.settings.grace_period_s
        owner = simulation.cluster.owner
        fates = tuple(
            Fate(self.commanded_s, each.bundle, each.target, int(owner[each.bundle]))
            for each in self.commands
        )
        return View(
            brokers=machines.names,
            bundles=bundles.names,
            look=look,
            network=network,
            windows=self.eyes.windows,
            is_there=simulation.cluster.is_registered.copy(),
            members=members,
            fates=fates,
            is_movable=self.eyes.leader.is_sheddable(left_alone),
        )

    def step(self, time_s: float) -> Answer:
        """Let the strategy decide."""
        view = self.view(time_s)
        answer, self.memory = self.named.entry.step(view, self.memory, self.named.settings)
        self.commands, self.commanded_s = answer.commands, time_s
        return answer

    def round(self, time_s: float) -> RoundRecord:
        """Run a round."""
        return step_round(self.simulation, self, time_s)

    def place(self, time_s: float, bundle: int) -> Chosen | None:
        """Let the strategy say who gets a bundle; None if there is nobody."""
        simulation = self.simulation
        candidates = np.sort(simulation.leader.order)
        if candidates.size == 0:
            return None
        asked = Asked(time_s, bundle, int(simulation.cluster.owner[bundle]), candidates)
        broker, self.memory = self.named.entry.place(asked, self.memory, self.named.settings)
        return Chosen(broker, is_fallback=False)


def steering(simulation: Simulation) -> Steering | None:
    """Return what steers a simulation; None if Pulsar's strategies do."""
    named = simulation.named
    if named is None:
        return None
    simulation.cluster.handovers = []
    return Steering(simulation, named, Eyes(simulation, named.sight, named.every_s))


class Steps(Protocol):
    """Decides."""

    def step(self, time_s: float) -> Answer:
        """Return what is to be done now."""
        ...


def step_round(simulation: Simulation, steering: Steps, time_s: float) -> RoundRecord:
    """Run one step, and carry out what it commands, one after the other."""
    number, records = len(simulation.records.rounds), simulation.records
    if not simulation.sheds:
        scores = np.full(simulation.cluster.nobody, np.nan, np.float32)
        return RoundRecord(number, time_s, scores)
    answer = steering.step(time_s)
    before = simulation.truth().usage.copy()
    error, moves, end_s = "", list[Move](), time_s
    load = None
    if answer.commands and not simulation.steers_placement:
        load = simulation.leader.load_for_placement()
    try:
        for each in answer.commands:
            chosen = Chosen(each.target, is_fallback=False)
            if not simulation.cluster.is_registered[each.target]:
                records.count("destination is gone")
                continue
            order = Order(each.bundle, each.source, chosen)
            end_s = unloaded(simulation, load, order, Moment(end_s, number), moves)
    except (UnreportedCandidateError, NoCandidatesError) as thrown:
        error = type(thrown).__name__
    if moves:
        settled(simulation, moves)
    after = simulation.truth().usage
    records.predicted += [_held(each, time_s, before, after) for each in answer.predictions]
    records.advice |= dict.fromkeys(answer.advice)
    known = answer.levels[~np.isnan(answer.levels)]
    return RoundRecord(
        number=number,
        time_s=time_s,
        scores=answer.levels.astype(np.float32),
        duration_s=end_s - time_s,
        planned=len(answer.commands),
        moved=len(moves),
        average=float(known.mean()) if known.size else np.nan,
        error=error,
        reason=answer.reason,
    )


def _held(each: Prediction, time_s: float, before: Floats, after: Floats) -> Predicted:
    """Return a prediction beside the truth."""
    return Predicted(
        time_s,
        each.broker,
        each.before,
        each.after,
        each.change_deviation,
        each.deviation,
        float(before[each.broker]),
        float(after[each.broker]),
    )
