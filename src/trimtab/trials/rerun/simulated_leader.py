"""The simulated leader, beside the real one while bundles move as they did, and instead of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.evidence import Round
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.reconstruct.leadership import continuation, looked_on
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.course import LookedOn
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.model import Floats, Ints, NoCandidatesError, UnreportedCandidateError

# Rounds are the same if their times differ by less, s: times are stored as floats.
_SAME_S = 1e-3
# Ticks whose traffic is added up at a time.
_TICKS = 64


@dataclass(frozen=True, slots=True)
class RoundPair:
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
    #: None where the real ones are not known.
    score_error: float | None
    #: Why the real scores are not sure; None if they are.
    doubt: str | None
    #: Whether to shed hangs on nothing that the leader did or remembered before the recording.
    is_sure: bool

    @property
    def is_same_trigger(self) -> bool:
        """Return whether both shed or both did not."""
        return (self.real > 0) == (self.simulated > 0)


@dataclass(frozen=True, slots=True)
class FreeRun:
    """One simulation whose leader took over at some time."""

    seed: int
    #: (n_rounds,) s from the beginning, and bundles moved, since then.
    round_s: Floats
    moved: Ints
    #: Those bundles, round by round.
    bundles: tuple[frozenset[int], ...]
    #: (n_ticks, n_brokers) messages/s in and out, and percent of the busiest resource, as a
    #: mean over each window that was told; NaN while a broker is down.
    rate: Floats
    usage: NDArray[np.float32]


def round_pairs(
    rebuilt: Rebuilt, balancer: Balancer, rounds: Sequence[Round]
) -> Iterator[RoundPair]:
    """Return what the leader of a simulation decides at each round, held to what happened."""
    simulation = Simulation(rebuilt.world, balancer, rebuilt.parameters, rebuilt.surroundings)
    names = rebuilt.world.bundles.names
    for looked, is_sure in looked_on(rebuilt, simulation, rebuilt.world.duration_s):
        time_s = looked.time_s + rebuilt.grid.from_s
        real = next(each for each in rounds if abs(each.time_s - time_s) < _SAME_S)
        unloads = () if looked.decision is None else looked.decision.unloads
        named = {unload.bundle for unload in unloads}
        yield RoundPair(
            time_s=looked.time_s,
            real=len(real.unloads),
            simulated=len(unloads),
            same=len(named.intersection(names[bundle] for bundle, _ in real.unloads)),
            placed=sum(_is_placed(simulation, looked.time_s, *move) for move in real.unloads),
            score_error=_score_error(looked, real),
            doubt=real.doubt,
            is_sure=is_sure,
        )


def free_run(rebuilt: Rebuilt, balancer: Balancer, from_s: float, seed: int) -> FreeRun:
    """Return a simulation that follows the recording until a time, and decides alone after it."""
    lead = continuation(rebuilt, balancer, from_s, seed)
    run, moves = lead.run, lead.run.moves
    rate = carried(rebuilt, lead.owner)
    rate[np.isnan(run.usage)] = np.nan
    return FreeRun(
        seed=seed,
        round_s=run.rounds.time_s,
        moved=run.rounds.moved,
        bundles=tuple(
            frozenset(moves.bundle[moves.round == number].tolist())
            for number in range(run.rounds.time_s.size)
        ),
        rate=rate,
        usage=_by_window(rebuilt, run.usage),
    )


def carried(rebuilt: Rebuilt, owner: Ints) -> Floats:
    """Return messages/s added up by owner, (n_ticks, n_brokers)."""
    traffic = rebuilt.surroundings.traffic
    into, out = traffic.rate_in, traffic.rate_out
    # Some ticks at a time: the sum of both does not fit beside them in each worker.
    parts = [slice(first, first + _TICKS) for first in range(0, len(into), _TICKS)]
    count = len(rebuilt.world.machines.names)
    return np.concatenate([by_broker(into[at] + out[at], owner[at], count) for at in parts])


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


def _score_error(looked: LookedOn, real: Round) -> float | None:
    if not real.scores:
        return None
    brokers = [broker for broker in real.scores if broker >= 0]
    theirs = np.array([real.scores[broker] for broker in brokers])
    largest = float(np.max(np.abs(theirs), initial=0.0))
    missed = np.abs(looked.scores[brokers] - theirs)
    if largest == 0.0 or np.isnan(missed).all():
        return None
    error = float(np.nanmax(missed)) / largest
    return None if math.isnan(error) else error


def _by_window(rebuilt: Rebuilt, usage: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return means over the windows of the real hosts, so that both are of the same time."""
    means = np.full_like(usage, np.nan)
    for span, broker in rebuilt.used.spans:
        values = usage[span, broker][~np.isnan(usage[span, broker])]
        if values.size:
            means[span, broker] = values.mean()
    return means
