"""A cluster as it stands and a plan → a run in which it goes on like that, but for the plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.rehearsal.disturbed import with_added
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.restarts.snapshot import ClusterNow, standing_world
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.world import Change, Run


def rehearsed_now(now: ClusterNow, plan: Rehearsal, duration_s: float, seed: int) -> Run:
    """Return the run of a cluster that goes on as it stands, while something is done to it.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.

    Properties:
        The same arguments give the same bytes; what clients want does not depend on the plan,
        but for traffic that is planned.
    """
    world = standing_world(now, plan.events, duration_s, seed)
    changes = tuple(
        Change(np.array(each.bundles, np.int64), each.from_s, each.to_s, each.factor, each.factor)
        for each in plan.scalings
    )
    machines = with_added(world.machines, plan.added)
    world = replace(world, machines=machines, changes=changes, event_s=plan.from_s)
    return simulated(world, plan.balancer, Parameters())
