"""What became of a cluster over time, whether it was simulated or recorded."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.level import level, minute_means
from trimtab.lab.outcomes.spread import best_spread
from trimtab.lab.simulate.world import Moves, Run
from trimtab.pulsar.model import MINUTE_S, Flags, Floats, Ints

#: s between the samples of a trajectory, if the ticks of a run allow it.
SAMPLE_S = 15.0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All that outcomes are made of.  What is not known is NaN, and is never filled in."""

    brokers: tuple[str, ...]
    #: s between samples; the first sample is one step after the beginning.
    step_s: float
    #: (n_samples, n_brokers) percent, mean of the minute before; NaN while a broker is down.
    usage: NDArray[np.float32]
    #: (n_samples,) points, the smallest spread that any assignment would have.
    best_spread: Floats
    #: s from the beginning: what is asked about begins, and outcomes count from here.
    event_s: float
    #: (n_rounds,) s from the beginning, and bundles moved.
    round_s: Floats
    round_moved: Ints
    #: Its arrays may hold NaN, from `source_before` to `traffic_share`.
    moves: Moves
    #: (n_moves,) topics of the bundle that was moved.
    moved_topics: Floats
    #: (n_samples,) bytes since the sample before: wanted, and not passed.
    offered: Floats
    lost: Floats
    #: Cut short: nothing may be concluded of it.
    is_cut: bool = False


def trajectory(run: Run) -> Trajectory:
    """Return a simulated run as a trajectory.

    Samples are 15 s apart, or as near to it as whole ticks come, and never nearer than a
    tick.
    """
    ticks = max(1, round(SAMPLE_S / run.tick_s))
    step_s = ticks * run.tick_s
    usage = minute_means(run.usage, ticks, max(1, round(MINUTE_S / step_s)))
    return Trajectory(
        brokers=run.world.machines.names,
        step_s=step_s,
        usage=usage,
        best_spread=_best_by_sample(run, len(usage), step_s),
        event_s=run.world.event_s,
        round_s=run.rounds.time_s,
        round_moved=run.rounds.moved,
        moves=run.moves,
        moved_topics=run.world.bundles.topics[run.moves.bundle],
        offered=_by_sample(run.offered, ticks),
        lost=_by_sample(run.lost, ticks),
        is_cut=run.is_cut,
    )


def between(whole: Trajectory, from_s: float, to_s: float) -> Trajectory:
    """Return a part of a trajectory: outcomes count from `from_s`, and it ends at `to_s`.

    What was before stays known: a level looks back beyond its event, and a bundle that
    moves again may have moved before it.

    Raises:
        ValueError: the trajectory ends before `to_s`, or the part is empty.
    """
    n_samples = int(to_s // whole.step_s)
    if n_samples > len(whole.usage) or to_s <= from_s:
        end_s = len(whole.usage) * whole.step_s
        raise ValueError(f"from {from_s:g} s to {to_s:g} s is no part of {end_s:g} s")
    is_moved, is_round = whole.moves.time_s < to_s, whole.round_s < to_s
    return replace(
        whole,
        event_s=from_s,
        usage=whole.usage[:n_samples],
        best_spread=whole.best_spread[:n_samples],
        round_s=whole.round_s[is_round],
        round_moved=whole.round_moved[is_round],
        moves=chosen(whole.moves, is_moved),
        moved_topics=whole.moved_topics[is_moved],
        offered=whole.offered[:n_samples],
        lost=whole.lost[:n_samples],
    )


def chosen(moves: Moves, which: Flags) -> Moves:
    """Return some of the moves."""
    return Moves(**{each.name: getattr(moves, each.name)[which] for each in fields(Moves)})


def _by_sample(by_tick: Floats, ticks: int) -> Floats:
    n_samples = len(by_tick) // ticks
    sums: Floats = by_tick[: n_samples * ticks].reshape(n_samples, ticks).sum(axis=1)
    return sums


def _best_by_sample(run: Run, n_samples: int, step_s: float) -> Floats:
    """Return the best spread of each sample's minute.

    It is that of the levels, as the spread is: a short load of another process does not
    count as something that no assignment can change.
    """
    background = level(run.background, MINUTE_S)
    by_minute = best_spread(background, run.capacity, run.work, run.cpu_convexity)
    if not len(by_minute):
        return np.full(n_samples, np.nan)
    minute = (np.arange(n_samples) * step_s // MINUTE_S).astype(np.int64)
    return by_minute[np.minimum(minute, len(by_minute) - 1)]
