"""A rebuilt cluster under any balancer, from any time on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.course import rounds_of_course
from trimtab.lab.simulate.run import at_end, going_on
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Ints


@dataclass(frozen=True, slots=True)
class Led:
    """What came of it."""

    run: Run
    #: (n_ticks, n_bundles) who owned what: as it really was, and as the balancer moved it.
    owner: Ints


def led(rebuilt: Rebuilt, balancer: Balancer, from_s: float, seed: int) -> Led:
    """Hold a simulation to what happened until some time, and let a balancer lead since then.

    Traffic, events and clocks stay what they were; the balancer need not be the one that
    really steered, and has heard all that came before.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting of the balancer cannot be read.

    Properties:
        The same arguments give the same bytes; what clients want is the same whatever the
        balancer is.
    """
    world = replace(rebuilt.world, seed=seed)
    simulation = Simulation(world, balancer, rebuilt.parameters, rebuilt.surroundings)
    for _ in rounds_of_course(simulation, rebuilt.course, from_s):
        pass
    owner = simulation.cluster.owner.copy()
    run = at_end(going_on(simulation))
    return Led(run, _owners(rebuilt, run, owner, from_s))


def _owners(rebuilt: Rebuilt, run: Run, owner: Ints, from_s: float) -> Ints:
    """Return who owned what: as it was up to a tick, and by the moves since."""
    tick_s, owners = rebuilt.grid.tick_s, rebuilt.owner.copy()
    first = min(int(from_s // tick_s), rebuilt.grid.n_ticks)
    owners[first:] = owner
    moves = run.moves
    for i in np.argsort(moves.time_s, kind="stable").tolist():
        tick = int(moves.time_s[i] // tick_s)
        owners[max(tick, first) :, moves.bundle[i]] = moves.target[i]
    return owners
