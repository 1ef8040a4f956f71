"""How few unloads would have done, had every bundle's work been known beforehand."""

from __future__ import annotations

import numpy as np

from trimtab.lab.outcomes.balance import BAR_POINTS
from trimtab.lab.outcomes.minimum_moves import Minimum, Placement, minimum_moves
from trimtab.lab.outcomes.trajectory import Trajectory
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.traffic import Traffic
from trimtab.lab.simulate.world import Kind, Run
from trimtab.pulsar.model import Floats, Ints

#: Bundles times steps of traffic up to which the work is added up again: a second or two.
_SIZE_MAX = 20_000_000
_STEPS_AT_A_TIME = 64


def fewest_unloads(run: Run, trajectory: Trajectory, physics: Physics) -> Minimum | None:
    """Return the fewest unloads that would have balanced a run.

    Of the bundles as they lay at the event, by their mean work since then, between the
    brokers that are up at the end, to 15 points above the best possible spread.

    Returns:
        None where the question makes no sense: bundles were split, or had to be placed since
        their broker left; or the run was cut; or where the answer would take too long.
    """
    moves, event_s = run.moves, run.world.event_s
    n_steps = int(len(run.usage) * run.tick_s / physics.traffic_step_s)
    is_split = any(event.kind is Kind.SPLIT for event in run.world.events)
    is_placed = bool(((moves.round < 0) & (moves.time_s >= event_s)).any())
    is_large = n_steps * len(run.world.bundles.names) > _SIZE_MAX
    if run.is_cut or is_split or is_placed or is_large:
        return None
    owner, is_up = _owners_at_event(run), ~np.isnan(run.usage[-1])
    if (owner < 0).any() or not is_up[owner].all():
        return None
    first = int(event_s // 60)
    background = run.background[first:, is_up]
    placement = Placement(
        work=_mean_work(run, physics, n_steps),
        owner=(np.cumsum(is_up) - 1)[owner],
        background=np.nanmean(background, axis=0).astype(np.float64),
        capacity=run.capacity[-1, is_up].astype(np.float64),
    )
    best = float(np.nanmean(trajectory.best_spread))
    return minimum_moves(placement, BAR_POINTS + best)


def _owners_at_event(run: Run) -> Ints:
    owner = run.world.bundles.owner.copy()
    before = run.moves.time_s < run.world.event_s
    # In order of time, so that the last move of a bundle stays.
    for bundle, target in zip(
        run.moves.bundle[before].tolist(), run.moves.target[before].tolist(), strict=True
    ):
        owner[bundle] = target
    return owner


def _mean_work(run: Run, physics: Physics, n_steps: int) -> Floats:
    """Return each bundle's mean work since the event: traffic is the same whoever moves it."""
    traffic = Traffic(run.world, physics, None)
    total = np.zeros(len(run.world.bundles.names))
    event_step = int(run.world.event_s // physics.traffic_step_s)
    for first in range(0, n_steps, _STEPS_AT_A_TIME):
        last = min(n_steps, first + _STEPS_AT_A_TIME)
        rows = traffic.rows(first, last)
        total += rows.work[max(0, event_step - first) :].sum(axis=0)
    mean: Floats = total / max(1, n_steps - event_step)
    return mean
