"""A rebuilt cluster on another number of brokers → the course of its night on them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt, recorded_traffic
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.rehearsal.disturbed import scaled
from trimtab.lab.rehearsal.plan import Scaling
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.surroundings import RecordedOthers, RecordedSurroundings
from trimtab.lab.simulate.world import Event, Kind, Machines, World
from trimtab.pulsar.model import Floats, Ints

#: s until the leader knows its brokers: what is before does not count.
BEGIN_S = 120.0
# The broker is lost so many s before the busiest stretch of so many s, which finds it gone.
_BEFORE_PEAK_S = 120.0
_PEAK_S = 300.0


@dataclass(frozen=True, slots=True)
class Size:
    """What is tried."""

    brokers: int
    #: What all traffic is multiplied with.
    growth: float = 1.0
    #: The fullest broker is lost shortly before the peak.
    is_one_lost: bool = True


def sized(again: Rebuilt, balancer: Balancer, costs: Costs, size: Size, seed: int) -> Simulation:
    """Return the simulation, not begun, of a recorded night on so many brokers.

    Args:
        again: the cluster, with the costs of its traffic taken for what they are here.
        balancer: who steers.
        costs: these costs.
        size: how many brokers, and how much traffic.
        seed: of what chance brings.

    Each broker is like the median one.  All are there from the beginning, with bundles shared
    out by the work that they bring; nobody comes or goes as it was recorded.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.

    Properties:
        The same arguments give a simulation that leaves the same bytes.
    """
    traffic, tick_s = again.surroundings.traffic, again.grid.tick_s
    if size.growth != 1.0:
        every = tuple(range(len(again.world.bundles.names)))
        scaling = Scaling(every, 0.0, np.inf, size.growth)
        traffic = recorded_traffic(scaled(again.served, [scaling], tick_s), costs)
    owner = shared_out(traffic.work.mean(axis=0), size.brokers)
    lost = loss(traffic.work, tick_s, owner, size.brokers)
    others = again.surroundings.others.percent
    donors = np.random.default_rng([seed, 1]).permutation(size.brokers) % others.shape[2]
    world = World(
        machines=alike(again.world.machines, size.brokers),
        bundles=replace(again.world.bundles, owner=owner),
        changes=(),
        events=(lost,) if size.is_one_lost else (),
        duration_s=again.world.duration_s,
        event_s=min(BEGIN_S, again.world.duration_s / 2),
        seed=seed,
    )
    meet = RecordedSurroundings(traffic, RecordedOthers(others[:, :, donors]), ())
    return Simulation(world, balancer, again.parameters, meet)


def loss(work: Floats, step_s: float, owner: Ints, brokers: int) -> Event:
    """Return the loss of the fullest broker, shortly before the busiest stretch.

    Args:
        work: (n_steps, n_bundles).
        step_s: s of a step.
        owner: (n_bundles,) who has them.
        brokers: how many there are.
    """
    stretch = busiest(work, step_s)
    fullest = int(np.bincount(owner, work[stretch].mean(axis=0), brokers).argmax())
    return Event(max(stretch.start * step_s - _BEFORE_PEAK_S, BEGIN_S), Kind.KILL, (fullest,))


def busiest(work: Floats, step_s: float) -> slice:
    """Return the steps of the busiest stretch.

    Properties:
        A stretch is one of some minutes, or all there is: what one moment has more than others
        is noise, and decides nothing.
    """
    n_steps = min(len(work), max(1, round(_PEAK_S / step_s)))
    sums = np.cumsum(np.append(0.0, work.sum(axis=1)))
    first = int((sums[n_steps:] - sums[:-n_steps]).argmax())
    return slice(first, first + n_steps)


def likely_need(work: Floats, step_s: float, room: float, most: int) -> int:
    """Return how many brokers should do, were nothing left to chance and to whoever balances.

    Args:
        work: (n_steps, n_bundles).
        step_s: s of a step.
        room: work that a broker may carry.
        most: what is returned if no number does.

    Returns:
        The least number of which the others have room for what the fullest had, each of its
        bundles at who has the least, in the busiest stretch.
    """
    mean, busy = work.mean(axis=0), work[busiest(work, step_s)].mean(axis=0)
    for count in range(max(2, int(np.ceil(busy.sum() / max(room, 1e-9)))), most):
        owner = shared_out(mean, count)
        carried = np.bincount(owner, busy, count)
        lost = int(carried.argmax())
        loads = np.delete(carried, lost)
        for each in np.sort(busy[owner == lost])[::-1].tolist():
            loads[loads.argmin()] += each
        if loads.max() <= room:
            return count
    return most


def alike(machines: Machines, count: int) -> Machines:
    """Return so many machines, each like the median of some."""

    def usual(column: Floats) -> Floats:
        return np.full(count, float(np.median(column)))

    return Machines(
        names=tuple(f"broker-{i + 1}" for i in range(count)),
        capacity=usual(machines.capacity),
        nic=usual(machines.nic),
        background=usual(machines.background),
        background_deviation=usual(machines.background_deviation),
        spikes_per_hour=usual(machines.spikes_per_hour),
        is_up=np.ones(count, np.bool_),
    )


def shared_out(work: Floats, count: int) -> Ints:
    """Return who owns each bundle: the heaviest first, each to who has the least so far.

    Properties:
        Nobody has more than the mean and one bundle.
    """
    owner = np.zeros(work.size, np.int64)
    loads = [(0.0, broker) for broker in range(count)]
    for bundle in np.argsort(-work, kind="stable").tolist():
        load, broker = loads[0]
        owner[bundle] = broker
        heapq.heapreplace(loads, (load + float(work[bundle]), broker))
    return owner
