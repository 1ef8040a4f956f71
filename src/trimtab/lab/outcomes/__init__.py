"""A trajectory → what came of it, in numbers that mean the same for simulated and real rounds.

Every measure is a function of its own, whose docstring is its definition; `MEASURES` names
them.  A measure that cannot be taken is NaN; what never came within the time is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.lab.outcomes import balance, moves, service, thrash
from trimtab.lab.outcomes.aftermath import Aftermath, aftermath
from trimtab.lab.outcomes.trajectory import Trajectory, between, trajectory
from trimtab.lab.simulate.world import Run

__all__ = ["MEASURES", "Measure", "Trajectory", "between", "measured", "outcomes", "trajectory"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure."""

    #: In words, for a table that people read.
    title: str
    unit: str
    take: Callable[[Aftermath], float]


#: Name → measure, in the order of every table.  All are better when smaller.
MEASURES: Mapping[str, Measure] = {
    measure.take.__name__: measure
    for measure in (
        Measure("time to balance", "min", balance.time_to_balance_min),
        Measure("time to inner balance", "min", balance.inner_time_to_balance_min),
        Measure("time out of balance", "min", balance.above_min),
        Measure("excess spread", "points", balance.excess_spread_points),
        Measure("inner excess spread", "points", balance.inner_excess_spread_points),
        Measure("excess spread at the end", "points", balance.end_spread_points),
        Measure("best possible spread", "points", balance.best_spread_points),
        Measure("unloads", "", moves.unloads),
        Measure("rounds that moved something", "", moves.triggers),
        Measure("first trigger", "min", moves.first_trigger_min),
        Measure("last unload", "min", moves.last_unload_min),
        Measure("wasted unloads", "", moves.wasted),
        Measure("unloads in the wrong direction", "", moves.wrong_direction),
        Measure("unloads from below average", "", moves.source_below_average),
        Measure("over-placements", "", moves.over_placements),
        Measure("over-unloadings", "", moves.over_unloadings),
        Measure("bundles that came back", "", moves.returns),
        Measure("highest became lowest", "", balance.flips),
        Measure("thrash", "points", thrash.thrash_points),
        Measure("peak usage", "%", service.peak_percent),
        Measure("overload", "broker-min", service.overload_min),
        Measure("unavailability", "s", service.unavailability_s),
        Measure("lost traffic", "%", service.lost_percent),
        Measure("topics disconnected", "", service.disconnected_topics),
    )
}


def outcomes(run: Run) -> dict[str, float]:
    """Return every measure of a simulated run.

    Returns:
        A number for each of `MEASURES`, in that order; NaN for all if the run was cut.
    """
    return measured(trajectory(run))


def measured(trajectory: Trajectory) -> dict[str, float]:
    """Return every measure of a trajectory.

    Returns:
        A number for each of `MEASURES`, in that order; NaN for all if it was cut.

    Properties:
        The brokers' order and names decide nothing.
    """
    if trajectory.is_cut:
        return dict.fromkeys(MEASURES, np.nan)
    since = aftermath(trajectory)
    return {name: measure.take(since) for name, measure in MEASURES.items()}
