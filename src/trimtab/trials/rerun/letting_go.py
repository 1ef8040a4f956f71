"""The simulated leader instead of the real one, over many seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.reconstruct.leadership import led
from trimtab.lab.simulate.balancer import Balancer
from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Freed:
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


def freed(rebuilt: Rebuilt, balancer: Balancer, let_go_s: float, seed: int) -> Freed:
    """Return a simulation that is held to what happened until some time, and then let go.

    Args:
        rebuilt: the recorded cluster.
        balancer: what steers it.
        let_go_s: s from the beginning.
        seed: of what chance brings.
    """
    lead = led(rebuilt, balancer, let_go_s, seed)
    run, moves = lead.run, lead.run.moves
    rate = carried(rebuilt, lead.owner)
    rate[np.isnan(run.usage)] = np.nan
    return Freed(
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


def _by_window(rebuilt: Rebuilt, usage: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return means over the windows of the real hosts, so that both are of the same time."""
    means = np.full_like(usage, np.nan)
    for span, broker in rebuilt.used.spans:
        values = usage[span, broker][~np.isnan(usage[span, broker])]
        if values.size:
            means[span, broker] = values.mean()
    return means


def carried(rebuilt: Rebuilt, owner: Ints) -> Floats:
    """Return messages/s added up by owner, (n_ticks, n_brokers)."""
    traffic = rebuilt.surroundings.traffic
    both = traffic.rate_in + traffic.rate_out
    return by_broker(both, owner, len(rebuilt.world.machines.names))
