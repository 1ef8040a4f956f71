"""Rows of an outcomes table, made up, for tests of what is done with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.lab.outcomes import MEASURES
from trimtab.trials.sweep.task import StrategyKey

#: Shedder, placer, typical unloads and minutes to balance; the last may never come.
TYPICAL = (
    ("ThresholdShedder", "LeastLongTermMessageRate", 4.0, 55.0),
    ("ThresholdShedder", "LeastResourceUsageWithWeight", 9.0, math.inf),
    ("UniformLoadShedder", "LeastLongTermMessageRate", 46.0, math.inf),
    ("OverloadShedder", "LeastLongTermMessageRate", 2.0, math.inf),
    ("AvgShedder", "AvgShedder", 14.0, 24.0),
    ("none", "LeastLongTermMessageRate", 0.0, math.inf),
)
KEYS = tuple(StrategyKey(shedder, placer, "4.0.8", "{}") for shedder, placer, _, _ in TYPICAL)


def row(
    scenario: str, key: Sequence[str], seed: int, measures: Mapping[str, float], **other: Any
) -> dict[str, Any]:
    """Make a row: measures that are not given are 0."""
    names = ("shedder", "placement", "release", "settings")
    return {
        "scenario": scenario,
        **dict(zip(names, key, strict=True)),
        "seed": seed,
        "status": "ok",
        "error": None,
        **dict.fromkeys(MEASURES, 0.0),
        **measures,
        **other,
    }


def rows(scenario: str, n_seeds: int) -> list[dict[str, Any]]:
    """Make rows of every typical strategy, some of which failed."""
    found = []
    for key, (*_, unloads, minutes) in zip(KEYS, TYPICAL, strict=True):
        for seed in range(n_seeds):
            rng = np.random.default_rng([len(scenario), seed])
            hard = rng.lognormal(0, 0.3)
            measures = {
                "unloads": float(round(unloads * hard)),
                "time_to_balance_min": minutes * hard if hard < 1.5 else math.inf,
                "wasted": float(round(unloads * hard / 3)),
                "excess_spread_points": min(minutes, 90.0) * hard / 3,
                "overload_min": 120 * hard,
                "unavailability_s": unloads * hard * 0.9,
                "last_unload_min": minutes if unloads else math.nan,
            }
            found.append(row(scenario, key, seed, measures))
    found[7] |= {"status": "timeout", "error": "not done after 600 s"}
    found[7] |= dict.fromkeys(MEASURES)
    return found
