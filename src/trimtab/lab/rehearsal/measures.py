"""A rehearsed run → what a user's bar is held against, and who has the worst of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.level import minute_means
from trimtab.lab.outcomes.trajectory import SAMPLE_S
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import MINUTE_S, Floats, Ints

#: Stretches of time of which a course has the highest usage.
COLUMNS_MAX = 120


@dataclass(frozen=True, slots=True)
class Bar:
    """What a user calls safe; None: it does not matter."""

    #: Percent that a broker's busiest resource may take over a minute, and minutes for which
    #: any broker may take more.
    peak_percent: float
    over_min: float
    #: Topics whose clients have to reconnect, of all moves.
    topics: float | None
    #: s for which any one bundle is without an owner that serves.
    ownerless_s: float

    def is_met(self, numbers: Mapping[str, float]) -> bool:
        """Return whether a run keeps to all of it; what is not known does not."""
        limits = {
            "over_min": self.over_min,
            "topics": np.inf if self.topics is None else self.topics,
            "ownerless_s": self.ownerless_s,
        }
        return all(numbers[name] <= limit for name, limit in limits.items())


def measures(run: Run, bar: Bar) -> dict[str, float]:
    """Return what came of a run since its event.

    Returns:
        `peak_percent`: highest usage of any broker over a minute.  `over_min`: minutes in
        which any broker was above the bar's peak.  `topics`: those of every bundle moved.
        `ownerless_s`: longest time for which a bundle had no owner that served.  `moves`:
        changes of owners.  And by broker and by namespace what `by_name` takes apart.
    """
    from_s = run.world.event_s
    minute, step_s = _minutes_behind(from_s, run.usage, run.tick_s)
    is_moved = run.moves.time_s >= from_s
    topics = run.world.bundles.topics[run.moves.bundle[is_moved]]
    outage = run.moves.outage_s[is_moved]
    over, step_min = minute > bar.peak_percent, step_s / MINUTE_S
    return {
        "peak_percent": float(minute.max(initial=0.0)),
        "over_min": _over_min(minute, step_s, bar),
        "topics": float(topics.sum()),
        "ownerless_s": float(outage.max(initial=0.0)),
        "moves": float(is_moved.sum()),
        **{
            f"peak of {name}": float(each.max(initial=0.0))
            for name, each in zip(run.world.machines.names, minute.T, strict=True)
        },
        **{
            f"over of {name}": float(each.sum() * step_min)
            for name, each in zip(run.world.machines.names, over.T, strict=True)
        },
        **_by_namespace(run, topics, run.moves.bundle[is_moved]),
        **{f"course {i}": value for i, value in enumerate(course(run).tolist())},
    }


def over_min(usage: NDArray[np.float32], tick_s: float, from_s: float, bar: Bar) -> float:
    """Return minutes in which any broker was above a bar's peak, as `measures` has them.

    Args:
        usage: (n_ticks, n_brokers) percent, of a run or of as much of it as has passed.
        tick_s: s of a tick.
        from_s: when the event is.
        bar: this bar.

    Properties:
        Of more of a run never less.
    """
    minute, step_s = _minutes_behind(from_s, usage, tick_s)
    return _over_min(minute, step_s, bar)


def _over_min(minute: Floats, step_s: float, bar: Bar) -> float:
    """Return how many of the minutes, `step_s` between them, have a broker above a bar's peak."""
    return float((minute > bar.peak_percent).any(axis=1).sum() * (step_s / MINUTE_S))


def _minutes_behind(
    from_s: float, usage: NDArray[np.float32], tick_s: float
) -> tuple[Floats, float]:
    """Return the minutes that lie behind an event as a whole, and the s between them."""
    minute, step_s = _samples(usage, tick_s)
    return minute[np.arange(1, len(minute) + 1) * step_s >= from_s + MINUTE_S], step_s


def by_name(numbers: Mapping[str, float], what: str) -> dict[str, float]:
    """Return the numbers of one kind by whose they are: `peak`, `over` or `topics`."""
    head = f"{what} of "
    return {name.removeprefix(head): it for name, it in numbers.items() if name.startswith(head)}


def course(run: Run) -> Floats:
    """Return the highest usage of any broker over a minute, in equal stretches of the whole run."""
    highest = samples(run)[0].max(axis=1, initial=0.0)
    bounds = np.linspace(0, len(highest), columns(len(highest)) + 1).astype(np.int64)[:-1]
    return np.asarray(np.maximum.reduceat(highest, bounds), np.float64)


def columns(n_samples: int) -> int:
    """Return into how many stretches the course of a run is cut."""
    return max(1, min(COLUMNS_MAX, n_samples))


def samples(run: Run) -> tuple[Floats, float]:
    """Return each broker's usage, and the s between samples, as `trajectory` takes them.

    Returns:
        (n, n_brokers) mean of the minute before each sample; 0 of a broker that is down.
    """
    return _samples(run.usage, run.tick_s)


def _samples(usage: NDArray[np.float32], tick_s: float) -> tuple[Floats, float]:
    ticks = max(1, round(SAMPLE_S / tick_s))
    step_s = ticks * tick_s
    means = minute_means(usage, ticks, max(1, round(MINUTE_S / step_s)))
    return np.nan_to_num(means).astype(np.float64), step_s


def _by_namespace(run: Run, topics: Floats, bundle: Ints) -> dict[str, float]:
    """Return the topics that were disconnected, by namespace."""
    sums: dict[str, float] = {}
    for position, count in zip(bundle.tolist(), topics.tolist(), strict=True):
        name = run.world.bundles.names[position].rpartition("/")[0]
        sums[f"topics of {name}"] = sums.get(f"topics of {name}", 0.0) + count
    return sums
