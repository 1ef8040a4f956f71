"""A night → the trajectory that outcomes are taken of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trimtab.diagnose.night import Night
from trimtab.lab.outcomes.recording import Reported, Unloaded, recorded
from trimtab.lab.outcomes.trajectory import Trajectory


def recorded_trajectory(night: Night, silent: Sequence[datetime] = ()) -> Trajectory | None:
    """Lay out what is known of a night so that its outcomes can be taken.

    Args:
        night: the logged rounds, and usages as reported.
        silent: when rounds ran that left no line in the log, as `replayed_rounds` has them.

    Returns:
        From the first report or round to the last; None if there is neither.
    """
    times = [usage.time for usage in night.usages] + [each.time for each in night.rounds]
    if not times:
        return None
    begin, end = min(times), max(times)

    def since(time: datetime) -> float:
        return (time - begin).total_seconds()

    ran = sorted([*(each.time for each in night.rounds), *silent])
    place = {time: i for i, time in enumerate(ran)}
    unloads = sorted(
        (
            Unloaded(since(move.time), place[each.time], move.bundle, move.source, move.target)
            for each in night.rounds
            for move in each.moves
        ),
        key=lambda unload: (unload.round, unload.time_s),
    )
    reports = [
        Reported(since(u.time), u.broker, None if u.usage is None else 100.0 * u.usage)
        for u in night.usages
    ]
    return recorded(reports, [since(time) for time in ran], unloads, from_s=0.0, to_s=since(end))
