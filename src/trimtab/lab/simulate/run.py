"""A world and a balancer → what comes of it, round by round or at the end."""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.broker_events import elect, end_session, happen
from trimtab.lab.simulate.extensible.manager import ExtensibleManager
from trimtab.lab.simulate.move import hand_over, look_up, lookup_gap_s
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.records import RoundRecord
from trimtab.lab.simulate.shedding import shed
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.steered import steering
from trimtab.lab.simulate.timetable import Due, Exit, Flush, Handover, Lookup, Round, SessionEnd
from trimtab.lab.simulate.world import Run, World


def simulated(world: World, balancer: Balancer, parameters: Parameters) -> Run:
    """Run an experiment to its end.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.

    Properties:
        The same arguments give the same bytes; traffic and machines do so whatever the
        balancer is.
    """
    return at_end(simulating(world, balancer, parameters))


def at_end(rounds: Generator[RoundRecord, bool | None, Run]) -> Run:
    """Return the run whose rounds these are, after all of them."""
    while True:
        try:
            next(rounds)
        except StopIteration as end:
            run: Run = end.value
            return run


def simulating(
    world: World, balancer: Balancer, parameters: Parameters
) -> Generator[RoundRecord, bool | None, Run]:
    """Run an experiment, and yield each round of shedding as soon as it is over.

    To cut it short send True; the run until then is what is returned.
    """
    return passing(Simulation(world, balancer, parameters))


def passing(simulation: Simulation) -> Generator[RoundRecord, bool | None, Run]:
    """Let all of a simulation's time pass; it may be looked at after each round."""
    # Nobody knows how long the leader has led when we begin to look.
    phase = float(generator(simulation.world.seed, "leader").random())
    begin(simulation, phase * simulation.round_s)
    return (yield from going_on(simulation))


def begin(simulation: Simulation, elected_s: float, leader: int = -1) -> None:
    """Enter what is due from the beginning.

    The leader, -1 for the first broker that is there, may have been elected before 0 s.
    """
    world = simulation.world
    if simulation.steering is None:
        simulation.steering = (
            ExtensibleManager(simulation) if simulation.is_extensible else steering(simulation)
        )
    for event in simulation.world.events:
        simulation.timetable.enter(event.time_s, event)
    for bundle in np.flatnonzero(simulation.cluster.server == simulation.cluster.nobody).tolist():
        if bundle < len(world.bundles.names) - 2 * len(simulation.halves):
            simulation.cluster.give(bundle, -1, math.inf)
            lookup = Lookup(bundle, -1, 0.0, lookup_gap_s(simulation))
            simulation.timetable.enter(0.0, lookup)
    elect(simulation, elected_s, leader)


def going_on(simulation: Simulation) -> Generator[RoundRecord, bool | None, Run]:
    """Let the rest of a simulation's time pass."""
    world = simulation.world
    while (due := simulation.timetable.next(world.duration_s)) is not None:
        simulation.pass_until(due[0])
        if isinstance(due[1], Round):
            # Of a leader that is one no more, nothing comes.
            if due[1].term == simulation.term and (yield _round(simulation, due[0])):
                return simulation.records.run(simulation.tick, is_cut=True)
        else:
            do(simulation, *due)
    simulation.pass_until(world.duration_s)
    return simulation.records.run(simulation.n_ticks, is_cut=False)


def _round(simulation: Simulation, time_s: float) -> RoundRecord:
    """Run a round, and enter the next."""
    own = simulation.steering
    record = shed(simulation, time_s) if own is None else own.round(time_s)
    simulation.records.rounds.append(record)
    next_s = time_s + simulation.until_next_s(record.duration_s)
    simulation.timetable.enter(next_s, Round(simulation.term))
    return record


def do(simulation: Simulation, time_s: float, due: Due) -> None:
    """Do what is due and is no round."""
    if isinstance(due, Handover):
        hand_over(simulation, time_s, due)
    elif isinstance(due, Lookup):
        look_up(simulation, time_s, due)
    elif isinstance(due, SessionEnd):
        end_session(simulation, time_s, due)
    elif isinstance(due, Exit):
        # A broker that has given up everything ends.
        simulation.cluster.stop(due.broker)
    elif isinstance(due, Flush):
        if due.term == simulation.term:
            simulation.leader.recompute(1)
            next_s = time_s + simulation.settings.averages_interval_s
            simulation.timetable.enter(next_s, due)
    elif not isinstance(due, Round):
        happen(simulation, time_s, due)
