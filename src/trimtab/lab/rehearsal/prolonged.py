"""A rebuilt cluster → the same with time behind its end, in which its traffic goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt, recorded_traffic
from trimtab.lab.simulate.surroundings import RecordedOthers
from trimtab.pulsar.model import Floats

#: s at the end of which traffic goes on as their mean.
LIKE_S = 60.0


def prolonged(rebuilt: Rebuilt, more_s: float) -> Rebuilt:
    """Return a cluster that goes on for some time as in its last minute.

    Bundles have the traffic that they had on average, and other processes take what they
    took last.  What really happened is over.

    Properties:
        Up to where it ended nothing is otherwise.
    """
    grid, used, served = rebuilt.grid, rebuilt.used, rebuilt.served
    more = max(0, round(more_s / grid.tick_s))
    like = max(1, min(grid.n_ticks, round(LIKE_S / grid.tick_s)))

    def steady(rows: Floats) -> Floats:
        mean = rows[-like:].mean(axis=0)
        return np.concatenate((rows, np.broadcast_to(mean, (more, *mean.shape))))

    owner = np.concatenate((served.owner, np.repeat(served.owner[-1:], more, axis=0)))
    longer = replace(
        served,
        rate_in=steady(served.rate_in),
        rate_out=steady(served.rate_out),
        size=steady(served.size),
        owner=owner,
    )
    unknown = np.full((3, more, used.usage.shape[2]), np.nan)
    last = np.repeat(used.others[:, -1:], more, axis=1)
    others = np.concatenate((used.others, last), axis=1)
    duration_s = (grid.n_ticks + more) * grid.tick_s
    return replace(
        rebuilt,
        grid=replace(grid, n_ticks=grid.n_ticks + more),
        world=replace(rebuilt.world, duration_s=duration_s),
        served=longer,
        used=replace(used, usage=np.concatenate((used.usage, unknown), axis=1), others=others),
        surroundings=replace(
            rebuilt.surroundings,
            traffic=recorded_traffic(longer, used.costs),
            others=RecordedOthers(others),
        ),
    )
