"""A simulated cluster with moves at random → predictions beside the truth of each move."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from trimtab.lab.costs import (
    Knowledge,
    Look,
    Windows,
    learned,
    nothing_known,
    predicted,
    relief,
)
from trimtab.lab.scenarios import scenario_of
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.leader import Leader
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import begin, do
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.timetable import Round
from trimtab.lab.simulate.world import Event, Kind, World
from trimtab.pulsar.model import MINUTE_S, Floats, Ints

# Bundles that are moved are predicted to use at least so much of their owner, percent (the truth
# would choose those that are dearer than they look); and go to no broker that uses more than this.
_LEAST = 2.0
_FULL = 80.0
# Brokers of the reference machine.
_CORES = 16.0


@dataclass(frozen=True, slots=True)
class Trial:
    """How a cluster is simulated, and how it is looked at."""

    scenario: str
    seed: int
    #: Reports are read as they are, and not only when they are written to the store.
    is_ungated: bool = True
    #: Other processes on the hosts are measured.
    is_measured: bool = False
    #: Exponent of what brokers make of work; 1 is a straight line.
    exponent: float = 1.0
    #: Minutes after which moves begin, between them, and moves at once.
    begin_min: int = 30
    every_min: int = 6
    at_once: int = 2
    #: Minutes that pass in all; None: as many as the scenario has.
    minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One broker that a move touched: what was predicted, and what is true; percent of CPU."""

    scenario: str
    seed: int
    time_s: float
    broker: int
    before: float
    after: float
    change_deviation: float
    deviation: float
    true_before: float
    true_after: float
    #: Change that the share of traffic makes of it.
    by_share: float


def outcomes(trial: Trial) -> Iterator[Outcome]:
    """Yield what was predicted of each random move of a simulated cluster, and what is true."""
    simulation = _simulation(trial)
    random = np.random.default_rng([trial.seed, 77])
    names = simulation.world.machines.names
    known = nothing_known(names, simulation.world.bundles.names)
    windows = Windows(60.0, simulation.settings.stats_interval_s)
    owner = simulation.cluster.owner.copy()
    written_s = np.full(len(names), -np.inf)
    begin(simulation, 30.0)
    for minute in range(1, int(simulation.world.duration_s // MINUTE_S)):
        _pass(simulation, minute * MINUTE_S)
        look = _look(simulation, trial, owner, written_s)
        written_s[look.broker] = look.written_s
        owner = simulation.cluster.owner.copy()
        known = learned(known, look, windows)
        late = minute - trial.begin_min
        if late >= 0 and late % trial.every_min == 0:
            yield from _moves(simulation, trial, known, random)


def _simulation(trial: Trial) -> Simulation:
    scenario = scenario_of(trial.scenario)
    physics = dataclasses.replace(scenario.parameters.physics, work_exponent=trial.exponent)
    parameters: Parameters = dataclasses.replace(scenario.parameters, physics=physics)
    run = dataclasses.replace(scenario.run, minutes=trial.minutes or scenario.run.minutes)
    scenario = dataclasses.replace(scenario, parameters=parameters, run=run)
    world: World = drawn(scenario, trial.seed)
    conf = dict(scenario.settings) | {"loadBalancerSheddingEnabled": "false"}
    who = Balancer("ThresholdShedder", "LeastLongTermMessageRate", scenario.run.release, conf)
    return Simulation(world, who, parameters)


def _pass(simulation: Simulation, time_s: float) -> None:
    """Let time pass, with all that is due."""
    while (due := simulation.timetable.next(time_s)) is not None:
        simulation.pass_until(due[0])
        if not isinstance(due[1], Round):
            do(simulation, *due)
    simulation.pass_until(time_s)


def _look(simulation: Simulation, trial: Trial, owner: Ints, written_s: Floats) -> Look:
    """Return what is new of a simulated cluster."""
    cluster, reports, leader = simulation.cluster, simulation.reports, simulation.leader
    assert isinstance(leader, Leader)
    listings = leader.listings
    tick_s = simulation.parameters.measuring.tick_s
    if trial.is_ungated:
        usage, is_listed = reports.usage[:, 0], listings.is_listed
        rates = listings.rate_in, listings.rate_out
        last = simulation.tick - 1
        behind = (last - simulation.windows.phase[1]) % simulation.windows.stats_ticks
        at_s = (last - behind + 1) * tick_s
    else:
        usage, is_listed = reports.written_usage[:, 0], listings.is_written
        rates = leader.averages.sample_in, leader.averages.sample_out
        at_s = (reports.written + 1) * tick_s
    fresh = np.flatnonzero(cluster.reports & (at_s > written_s) & (usage > 0))
    place = np.full(cluster.nobody + 1, -1)
    place[fresh] = np.arange(fresh.size)
    lines = np.flatnonzero(is_listed & (cluster.owner >= 0))
    lines = lines[place[cluster.owner[lines]] >= 0]
    counts = _counts(simulation, lines, rates)
    time_s = simulation.tick * tick_s
    moved = np.flatnonzero(cluster.owner != owner)
    if time_s <= MINUTE_S + 1:
        moved, owner = np.arange(owner.size), np.full(owner.size, -1)
    others = simulation._background.mean(axis=0)[fresh]  # nobody else measures it
    # A cluster that has been running for long.
    moved_s = np.full(moved.size, -3600.0 if time_s <= MINUTE_S + 1 else time_s - 30.0)
    return Look(
        time_s=time_s,
        broker=fresh,
        written_s=at_s[fresh],
        started_s=np.full(fresh.size, np.nan),
        cpu=usage[fresh],
        others=others if trial.is_measured else np.full(fresh.size, np.nan),
        cores=_cores(trial.scenario)[fresh],
        report=place[cluster.owner[lines]],
        bundle=lines,
        counts=counts,
        moved=moved,
        moved_from=owner[moved],
        moved_to=cluster.owner[moved],
        moved_s=moved_s,
    )


def _counts(simulation: Simulation, lines: Ints, rates: tuple[Floats, Floats]) -> Floats:
    size = simulation.cluster.message_bytes[lines]
    rate_in, rate_out = (rate[lines] for rate in rates)
    topics = simulation.cluster.bundles.topics[lines]
    unknown = np.full(lines.size, np.nan)
    return np.stack(
        (rate_in, rate_out, rate_in * size, rate_out * size, topics, unknown, unknown), axis=1
    )


@cache
def _cores(scenario: str) -> Floats:
    groups = scenario_of(scenario).machines
    return np.concatenate([np.full(g.count, float(np.mean(g.cores))) for g in groups])


def _moves(
    simulation: Simulation, trial: Trial, known: Knowledge, random: np.random.Generator
) -> Iterator[Outcome]:
    """Draw some moves, predict and command them, and yield what came of them."""
    truth = simulation.truth()
    owner, usage = simulation.cluster.owner, truth.usage.copy()
    takes = relief(known)
    time_s = simulation.tick * simulation.parameters.measuring.tick_s
    settled = time_s - known.bundles.moved_s > 10 * MINUTE_S
    able = np.flatnonzero(
        settled & (known.bundles.owner == owner) & (owner >= 0) & (takes > _LEAST)
    )
    taken = set[int]()
    for bundle in random.permutation(able).tolist():
        source = int(owner[bundle])
        free = [
            b
            for b in np.flatnonzero(simulation.cluster.reports & (usage < _FULL)).tolist()
            if b != source and b not in taken
        ]
        if source in taken or not free or len(taken) >= 2 * trial.at_once:
            continue
        target = int(random.choice(free))
        taken |= {source, target}
        ours = predicted(known, np.array([bundle]), np.array([target]))
        by_share = _by_share(known, bundle)
        truth.move(bundle, source, target)
        for i, broker in enumerate(ours.broker.tolist()):
            yield Outcome(
                trial.scenario,
                trial.seed,
                time_s,
                broker,
                float(ours.before[i]),
                float(ours.after[i]),
                float(ours.change_deviation[i]),
                float(ours.deviation[i]),
                float(usage[broker]),
                float(truth.usage[broker]),
                by_share if broker == target else -by_share,
            )
        event = Event(time_s, Kind.UNLOAD, (bundle,), float(target))
        simulation.timetable.enter(time_s, event)
    simulation._truth = None  # what was moved in it has not been moved yet


def _by_share(known: Knowledge, bundle: int) -> float:
    """Return the change by the share of traffic of the source: as shedders reckon it."""
    bytes_ = known.bundles.counts[:, 2:4].sum(axis=1)
    source = known.bundles.owner[bundle]
    total = bytes_[known.bundles.owner == source].sum()
    return float(known.brokers.level[source] * bytes_[bundle] / max(total, 1e-9))
