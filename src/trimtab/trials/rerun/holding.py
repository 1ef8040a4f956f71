"""The simulated leader beside the real one, round by round, while bundles move as they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.evidence import Round
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.course import LookedOn, rounds_of_course
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.model import NoCandidatesError, UnreportedCandidateError

# Rounds are the same if their times differ by less, s: times are stored as floats.
_SAME_S = 1e-3


@dataclass(frozen=True, slots=True)
class Beside:
    """One round of the real leader, and what the simulated one would have done in it."""

    #: s from the beginning.
    time_s: float
    #: Bundles that were unloaded, that would have been, and that are among both.
    real: int
    simulated: int
    same: int
    #: Bundles that really went to a broker among which the simulated placer would have drawn.
    placed: int
    #: Largest difference between the scores of a broker, as a share of the largest real score;
    #: NaN where the real ones are not known.
    score_error: float
    #: Why the real scores are not sure; None if they are.
    doubt: str | None


def beside(rebuilt: Rebuilt, balancer: Balancer, rounds: Sequence[Round]) -> tuple[Beside, ...]:
    """Return what the leader of a simulation decides at each round, held to what happened.

    Args:
        rebuilt: the recorded cluster.
        balancer: what steered it.
        rounds: of the real leader.
    """
    simulation = Simulation(rebuilt.world, balancer, rebuilt.parameters, rebuilt.surroundings)
    pairs = []
    for looked in rounds_of_course(simulation, rebuilt.course, rebuilt.world.duration_s):
        time_s = looked.time_s + rebuilt.grid.from_s
        real = next(each for each in rounds if abs(each.time_s - time_s) < _SAME_S)
        pairs.append(_compared(simulation, looked, real))
    return tuple(pairs)


def _compared(simulation: Simulation, looked: LookedOn, real: Round) -> Beside:
    names = simulation.world.bundles.names
    unloads = () if looked.decision is None else looked.decision.unloads
    named = {unload.bundle for unload in unloads}
    return Beside(
        time_s=looked.time_s,
        real=len(real.unloads),
        simulated=len(unloads),
        same=len(named.intersection(names[bundle] for bundle, _ in real.unloads)),
        placed=sum(_is_placed(simulation, looked.time_s, *move) for move in real.unloads),
        score_error=_score_error(looked, real),
        doubt=real.doubt,
    )


def _is_placed(simulation: Simulation, time_s: float, bundle: int, target: int) -> bool:
    """Return whether the simulated placer might have sent a bundle where it really went."""
    load = simulation.leader.load(time_s - simulation.settings.grace_period_s)
    try:
        among = simulation.placing.among(load, bundle)
    except (UnreportedCandidateError, NoCandidatesError):
        return False
    if target >= 0:
        brokers = simulation.world.machines.names
        simulation.strategies.drawn(simulation.world.bundles.names[bundle], brokers[target])
    return target in among


def _score_error(looked: LookedOn, real: Round) -> float:
    if not real.scores:
        return float("nan")
    brokers = [broker for broker in real.scores if broker >= 0]
    theirs = np.array([real.scores[broker] for broker in brokers])
    largest = float(np.max(np.abs(theirs), initial=0.0))
    missed = np.abs(looked.scores[brokers] - theirs)
    if largest == 0.0 or np.isnan(missed).all():
        return float("nan")
    return float(np.nanmax(missed)) / largest
