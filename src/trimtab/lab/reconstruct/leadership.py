"""A rebuilt cluster under its own leader that looks on, and under any balancer from a time on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.memory import unknown_memory
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.course import LookedOn, rounds_of_course
from trimtab.lab.simulate.run import at_end, going_on
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import ClusterLoad, Ints


@dataclass(frozen=True, slots=True)
class Continuation:
    """What came of it."""

    run: Run
    #: (n_ticks, n_bundles) who owned what: as it really was, and as the balancer moved it.
    owner: Ints


def looked_on(
    rebuilt: Rebuilt, simulation: Simulation, until_s: float
) -> Iterator[tuple[LookedOn, bool]]:
    """Yield what the leader would have done at each recorded round, and if that is sure.

    It is not where it hangs on what the leader remembered from before the beginning, or on
    which bundles it had just unloaded.  What the first rounds print of their memory it
    remembers; from then on it is its own.
    """
    strategies, past = simulation.strategies, rebuilt.before
    unknown = unknown_memory(strategies) if past.has_shed else None
    if unknown is not None and unknown.is_known(strategies, past.printed):
        unknown = None
    if unknown is not None and past.first is not None:
        unknown.precede(strategies, past.first)
    term, memory = simulation.term + 1, strategies.memory
    for looked in rounds_of_course(simulation, rebuilt.course, until_s):
        if looked.decision is None or not past.has_shed or simulation.term != term:
            yield looked, True
            continue
        load = simulation.leader.load(looked.time_s - simulation.settings.grace_period_s)
        hangs = unknown is not None and unknown.hangs(strategies, load)
        others = _loads(rebuilt, simulation, load, looked.time_s)
        answers = {bool(strategies.would(other, memory)[0].unloads) for other in others}
        hangs |= len(answers) > 1
        printed = past.printed_at.get(looked.time_s)
        if unknown is not None and unknown.is_known(strategies, printed):
            unknown = None
        memory = strategies.memory
        yield looked, not hangs


def _loads(
    rebuilt: Rebuilt, simulation: Simulation, load: ClusterLoad, time_s: float
) -> tuple[ClusterLoad, ...]:
    """Return the load of a round if none, and if all that may have been unloaded lately were.

    It is about what was unloaded before the beginning and nobody knows of; none, if there is
    nothing of that kind.
    """
    until_s = time_s - simulation.settings.grace_period_s
    is_unseen = rebuilt.before.unseen_s >= until_s
    moves = rebuilt.course.moves
    is_unseen[[move.bundle for move in moves if move.is_shed and move.time_s < time_s]] = False
    if not is_unseen.any():
        return ()
    names = simulation.world.bundles.names
    unseen = {names[i] for i in np.flatnonzero(is_unseen).tolist()}
    is_open = np.array([name in unseen for name in load.bundles], np.bool_)
    return tuple(
        replace(load, bundle_is_sheddable=is_sheddable)
        for is_sheddable in (
            load.bundle_is_sheddable | is_open,
            load.bundle_is_sheddable & ~is_open,
        )
    )


def continuation(rebuilt: Rebuilt, balancer: Balancer, from_s: float, seed: int) -> Continuation:
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
    for _ in looked_on(rebuilt, simulation, from_s):
        pass
    owner = simulation.cluster.owner.copy()
    run = at_end(going_on(simulation))
    return Continuation(run, _owners(rebuilt, run, owner, from_s))


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
