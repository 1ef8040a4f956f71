"""A rebuilt cluster and a plan → the same night with what is planned in it, simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt, recorded_traffic
from trimtab.lab.reconstruct.cost_uncertainty import recosted
from trimtab.lab.reconstruct.costs import Costs, Served
from trimtab.lab.reconstruct.leadership import looked_on
from trimtab.lab.rehearsal.going_on import Besides, planned_begins
from trimtab.lab.rehearsal.plan import Rehearsal, Scaling
from trimtab.lab.simulate.run import at_end, going_on
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.surroundings import RecordedOthers
from trimtab.lab.simulate.world import Event, Kind, Machines, Run
from trimtab.pulsar.model import Floats

_COMINGS = (Kind.JOIN, Kind.LEAVE, Kind.KILL)


def rehearsed(
    rebuilt: Rebuilt, plan: Rehearsal, costs: Costs, seed: int, besides: Besides | None = None
) -> Run:
    """Return the run of a recorded night whose traffic costs something else; else `rehearsed_at`.

    Args:
        rebuilt: the night.
        plan: what is done.
        costs: what its traffic costs.
        seed: of what chance brings.
        besides: what processes do that no plan says; without it those that begin are warm.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.
    """
    return rehearsed_at(recosted(rebuilt, costs), plan, costs, seed, besides)


def rehearsed_at(
    night: Rebuilt, plan: Rehearsal, costs: Costs, seed: int, besides: Besides | None = None
) -> Run:
    """Return the run of a recorded night in which something is done to its cluster.

    Up to the time of the plan all is held to what happened; then its balancer leads.

    Args:
        night: it, at these costs.
        plan: what is done.
        costs: what its traffic costs.
        seed: of what chance brings.
        besides: what processes do that no plan says; without it those that begin are warm.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.

    Properties:
        The same arguments give the same bytes.
        Without a plan for it, traffic, clocks and other processes are those of the night.
    """
    again = _disturbed_at(night, plan, costs)
    if besides is not None:
        percent = besides.others(again.surroundings.others.percent, costs)
        begins = (*night.surroundings.begins, *besides.timed())
        met = replace(again.surroundings, others=RecordedOthers(percent), begins=begins)
        again = replace(again, surroundings=met)
    world = replace(again.world, seed=seed, event_s=plan.from_s)
    simulation = Simulation(world, plan.balancer, again.parameters, again.surroundings)
    for _ in looked_on(again, simulation, plan.from_s):
        pass
    return at_end(going_on(simulation))


def disturbed(rebuilt: Rebuilt, plan: Rehearsal, costs: Costs) -> Rebuilt:
    """Return a rebuilt cluster with what is planned in it, at some costs of its traffic."""
    return _disturbed_at(recosted(rebuilt, costs), plan, costs)


def _disturbed_at(again: Rebuilt, plan: Rehearsal, costs: Costs) -> Rebuilt:
    surroundings = replace(
        again.surroundings,
        others=_with_idle(again.surroundings.others, len(plan.added), float(costs.rest.mean())),
        begins=(*again.surroundings.begins, *planned_begins(plan.events, again.grid.tick_s)),
    )
    if plan.scalings:
        served = scaled(again.served, plan.scalings, again.grid.tick_s)
        surroundings = replace(surroundings, traffic=recorded_traffic(served, costs))
    recorded = remaining(again.world.events, plan.events)
    events = sorted((*recorded, *plan.events), key=lambda event: event.time_s)
    machines = with_added(again.world.machines, plan.added)
    world = replace(again.world, machines=machines, events=tuple(events))
    return replace(again, world=world, surroundings=surroundings)


def scaled(served: Served, scalings: Sequence[Scaling], tick_s: float) -> Served:
    """Return traffic of which some is multiplied for a while; several at once multiply."""
    rate_in, rate_out = served.rate_in.copy(), served.rate_out.copy()
    end_s = (np.arange(len(rate_in)) + 1) * tick_s
    for each in scalings:
        ticks = np.flatnonzero((end_s > each.from_s) & (end_s <= each.to_s))
        for rates in (rate_in, rate_out):
            rates[np.ix_(ticks, np.array(each.bundles, np.int64))] *= each.factor
    return replace(served, rate_in=rate_in, rate_out=rate_out)


def with_added(machines: Machines, names: Sequence[str]) -> Machines:
    """Return machines with more behind them, each like the median of those that there are."""

    def more(column: Floats) -> Floats:
        return np.append(column, np.full(len(names), float(np.median(column))))

    return Machines(
        names=(*machines.names, *names),
        capacity=more(machines.capacity),
        nic=more(machines.nic),
        background=more(machines.background),
        background_deviation=more(machines.background_deviation),
        spikes_per_hour=more(machines.spikes_per_hour),
        is_up=np.append(machines.is_up, np.zeros(len(names), np.bool_)),
    )


def _with_idle(others: RecordedOthers, count: int, rest: float) -> RecordedOthers:
    """Return what other processes took, and on brokers that are added what one at rest takes."""
    more = np.zeros((*others.percent.shape[:2], count))
    more[0] = rest
    return RecordedOthers(np.concatenate((others.percent, more), axis=2))


def remaining(recorded: Sequence[Event], planned: Sequence[Event]) -> tuple[Event, ...]:
    """Return what happened that still does: who is lost neither comes nor goes again."""
    lost: dict[int, float] = {}
    for event in planned:
        for broker in event.subjects:
            if event.kind is Kind.JOIN:
                lost.pop(broker, None)
            elif event.kind in _COMINGS:
                lost[broker] = event.time_s
    return tuple(
        event
        for event in recorded
        if event.kind not in _COMINGS
        or all(event.time_s < lost.get(broker, np.inf) for broker in event.subjects)
    )
