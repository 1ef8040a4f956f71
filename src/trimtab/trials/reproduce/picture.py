"""The run of one seed → the series of its picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes import trajectory
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Floats
from trimtab.trials.charts import visible_value
from trimtab.trials.reproduce.arms import Arm
from trimtab.trials.reproduce.definition import PublishedNumber
from trimtab.trials.reproduce.numbers import MEANINGS
from trimtab.trials.sweep.simulation import Simulation

#: Minutes before the event that are shown.
_BEFORE_MIN = 5.0
#: Samples of a line; there are no more pixels to tell them apart.
_SAMPLES_MAX = 240
#: Brokers that have a line each; of more, five quantiles.
_LINES_MAX = 11
_QUANTILES: Mapping[str, float] = {
    "highest": 1.0,
    "3 of 4 below": 0.75,
    "median": 0.5,
    "1 of 4 below": 0.25,
    "lowest": 0.0,
}
#: Numbers that are times since the event, so that they have a place in the picture.
_TIMES = ("first_trigger_min", "last_unload_min", "sources_touched_min")


def picture(arm: Arm, seed: int, published: Iterable[PublishedNumber]) -> dict[str, Any]:
    """Return what the picture of a run shows, which is simulated again.

    Returns:
        Usage over time of each broker (or quantiles of all), unloads by round, and the times
        that were published; minutes are since the event.
    """
    run = Simulation({arm.scenario_name: arm.scenario}).run(arm.task(seed))
    usage = trajectory(run)
    minutes = (np.arange(len(usage.usage)) + 1) * usage.step_s / 60 - run.world.event_s / 60
    shown = np.flatnonzero(minutes >= -_BEFORE_MIN)
    shown = shown[:: max(1, math.ceil(len(shown) / _SAMPLES_MAX))]
    return {
        "arm": arm.name,
        "seed": seed,
        "minutes": [round(minute, 2) for minute in minutes[shown].tolist()],
        "series": [
            {"name": name, "usage": [visible_value(value) for value in values.tolist()]}
            for name, values in _series(usage.brokers, usage.usage[shown])
        ],
        "unloads": _unloads(run),
        "published": [
            {"title": MEANINGS[each.number].title, "minute": each.value[0]}
            for each in published
            if each.number in _TIMES
        ],
    }


def _series(
    brokers: tuple[str, ...], usage: NDArray[np.float32]
) -> Iterable[tuple[str, NDArray[np.float32] | Floats]]:
    if len(brokers) <= _LINES_MAX:
        return [(name.partition(":")[0], usage[:, i]) for i, name in enumerate(brokers)]
    return [(name, np.nanquantile(usage, share, axis=1)) for name, share in _QUANTILES.items()]


def _unloads(run: Run) -> list[dict[str, Any]]:
    """Return the count of unloads of each round since the event."""
    rounds, event_s = run.rounds, run.world.event_s
    return [
        {"minute": round((time_s - event_s) / 60, 2), "count": int(moved)}
        for time_s, moved in zip(rounds.time_s.tolist(), rounds.moved.tolist(), strict=True)
        if moved and time_s >= event_s
    ]
