"""A balancer that is told everything, the traffic to come as well: what no strategy can beat.

It shows how much of what others need is for want of knowing: the planner is the same.
"""

from __future__ import annotations

import numpy as np

from trimtab.lab.frontier import Question, question
from trimtab.lab.frontier.band import banded
from trimtab.lab.simulate.machines import Background
from trimtab.lab.simulate.move import Moment, settled
from trimtab.lab.simulate.physics import cpu_demand
from trimtab.lab.simulate.placement import Chosen
from trimtab.lab.simulate.records import Move, RoundRecord
from trimtab.lab.simulate.shedding import Order, unloaded
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.steering.foresight.picture import poured
from trimtab.pulsar.model import Floats

#: Who sheds and places, in tables.
ORACLE = "Oracle"
# s of the future of which it knows the mean, and steps of traffic before now that it keeps.
_AHEAD_S = 600.0
# Points of spread from which it acts, and the widths of its bands: the outer one, and the inner
# ones of which that is taken which needs fewest moves.
_ACTS, _OUTER, _INNER = 13.0, 12.5, (11.0, 8.0)
# Where the slope of a convex CPU is taken, percent.
_AT = 45.0


class Oracle:
    """Knows what each bundle costs, what each machine can do, and what is to come.

    Before the event of the world it does not look beyond it, and so forestalls nothing.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Begin with a future of its own, which is the same as that of the simulation."""
        self.simulation = simulation
        world, parameters = simulation.world, simulation.parameters
        self.traffic = Traffic(world, parameters.physics, None)
        self.background = Background(world, parameters.physics, parameters.measuring.tick_s)
        # Both are made from their beginning on.
        self.traffic.rows(0, 1)
        self.background.ticks(0, 1)
        simulation.steers_placement = True

    def round(self, time_s: float) -> RoundRecord:
        """Run a round."""
        simulation = self.simulation
        number, there = len(simulation.records.rounds), simulation.cluster.reports
        asked, beyond, water = self._question(time_s)
        usage = asked.usage.max(axis=1)
        scores = np.where(there, usage + beyond, np.nan).astype(np.float32)
        moves, end_s = list[Move](), time_s
        if there.sum() > 1 and np.ptp(usage[there]) > _ACTS:
            mean = float(usage[there].mean())
            middle = min(mean, water), max(mean, water)
            plans = [banded(asked, middle, (inner, _OUTER)) for inner in _INNER]
            best = min(plans, key=lambda each: (each.n_outside, each.moves.bundle.size))
            for bundle, to in zip(*(each.tolist() for each in best.moves), strict=True):
                source = int(simulation.cluster.owner[bundle])
                order = Order(bundle, source, Chosen(to, is_fallback=False))
                end_s = unloaded(simulation, None, order, Moment(end_s, number), moves)
        if moves:
            settled(simulation, moves)
        return RoundRecord(number, time_s, scores, end_s - time_s, len(moves), len(moves))

    def place(self, time_s: float, bundle: int) -> Chosen | None:
        """Return who gets a bundle: who uses least with it."""
        candidates = np.sort(self.simulation.leader.order)
        if candidates.size == 0:
            return None
        asked, _, _ = self._question(time_s)
        then = asked.usage[candidates] + asked.speed[candidates] * asked.cost[bundle]
        return Chosen(int(candidates[np.argmin(then.max(axis=1))]), is_fallback=False)

    def _question(self, time_s: float) -> tuple[Question, Floats, float]:
        """Return the cluster of the next minutes, what is beyond all moves, and the water."""
        simulation = self.simulation
        cluster, physics = simulation.cluster, simulation.parameters.physics
        n, there = cluster.nobody, cluster.reports
        event_s = simulation.world.event_s
        ahead_s = min(_AHEAD_S, event_s - time_s) if time_s < event_s else _AHEAD_S
        first = int(time_s // physics.traffic_step_s)
        rows = self.traffic.rows(first, first + 1 + int(ahead_s // physics.traffic_step_s))
        into, out = rows.bytes_in.mean(axis=0), rows.bytes_out.mean(axis=0)
        work = rows.work.mean(axis=0)
        tick_s = simulation.parameters.measuring.tick_s
        tick, ticks = int(time_s // tick_s), 1 + int(ahead_s // tick_s)
        others = self.background.ticks(tick, tick + ticks).mean(axis=0) + cluster.extra
        owner = np.where(cluster.owner >= 0, cluster.owner, n)
        carried = np.bincount(owner, work, n + 1)[:n] / cluster.capacity
        cpu = cpu_demand(others, carried, physics)
        nic = cluster.machines.nic
        cost = np.stack(
            (work, into + physics.nic_in_share * out, physics.write_quorum * into + out), axis=1
        )
        slope = (1.0 + 2.0 * physics.cpu_convexity * _AT) / cluster.capacity
        speed = np.stack((slope, 100.0 / nic, 100.0 / nic), axis=1)
        network = [np.bincount(owner, cost[:, i], n + 1)[:n] * 100.0 / nic for i in (1, 2)]
        level = np.where(there, cpu, np.nan)
        water, beyond = poured(level, slope, carried * cluster.capacity)
        usage = np.column_stack((np.where(there, cpu, 0.0) - beyond, *network))
        asked = question(usage, speed, cost, cluster.owner.copy())
        asked.is_counted[:] = there
        asked.allowed[:] = there
        return asked, beyond, water
