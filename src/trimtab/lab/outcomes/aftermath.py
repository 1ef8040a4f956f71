"""The part of a trajectory that counts: from its event on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.level import level
from trimtab.lab.outcomes.spread import inner_spread, spread
from trimtab.lab.outcomes.trajectory import Trajectory, chosen
from trimtab.lab.simulate.world import Moves
from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Aftermath:
    """A trajectory from its event on, with what several measures need.

    n counts the samples since the event; times are s since the event.
    """

    step_s: float
    #: (n, n_brokers) percent, minute means, and levels; NaN while a broker is down.
    usage: NDArray[np.float32]
    levels: NDArray[np.float32]
    #: (n,) points.
    spread: Floats
    inner_spread: Floats
    best_spread: Floats
    #: (n_rounds,) when each round began, and bundles that it moved.
    round_s: Floats
    round_moved: Ints
    #: All moves that rounds asked for, those before the event included, when they were made,
    #: and (n_counted,) positions of those that count.
    shed: Moves
    shed_s: Floats
    counted: Ints
    #: (n_since,) of all moves since the event, also of those that no round asked for: s
    #: without an owner, share of the cluster's bytes, topics.
    outage_s: Floats
    traffic_share: Floats
    topics: Floats
    #: Bytes since the event: wanted, and not passed.
    offered: float
    lost: float


def aftermath(trajectory: Trajectory) -> Aftermath:
    """Return a trajectory from its event on, with levels and spreads."""
    times = (np.arange(len(trajectory.usage)) + 1) * trajectory.step_s
    # A sample stands for the time since the one before.
    is_since = times > trajectory.event_s
    # The level at the event looks back beyond it.
    levels = level(trajectory.usage, trajectory.step_s)[is_since]
    moves, rounds_since = trajectory.moves, trajectory.round_s >= trajectory.event_s
    is_shed, moves_since = moves.round >= 0, moves.time_s >= trajectory.event_s
    return Aftermath(
        step_s=trajectory.step_s,
        usage=trajectory.usage[is_since],
        levels=levels,
        spread=spread(levels),
        inner_spread=inner_spread(levels),
        best_spread=trajectory.best_spread[is_since],
        round_s=trajectory.round_s[rounds_since] - trajectory.event_s,
        round_moved=trajectory.round_moved[rounds_since],
        shed=chosen(moves, is_shed),
        shed_s=moves.time_s[is_shed] - trajectory.event_s,
        counted=np.flatnonzero(moves_since[is_shed]),
        outage_s=moves.outage_s[moves_since],
        traffic_share=moves.traffic_share[moves_since],
        topics=trajectory.moved_topics[moves_since],
        offered=float(trajectory.offered[is_since].sum()),
        lost=float(trajectory.lost[is_since].sum()),
    )
