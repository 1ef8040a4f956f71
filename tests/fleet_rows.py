"""Rows of nights as `trimtab explain` writes them of several, made up: settings, luck and dates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from trimtab.explanation.fleet.row import failed_row
from trimtab.files.tables import FLEET

FIRST = datetime(2026, 9, 7, 22, tzinfo=UTC)
SETTING = "loadBalancerBrokerThresholdShedderPercentage"


def night(cluster: str, day: int, useless: float, **more: Any) -> dict[str, Any]:
    """Give a night of two hours, some days after the first."""
    begin = FIRST + timedelta(days=day)
    row = {
        "cluster": cluster,
        "night": f"{begin:%Y-%m-%d}",
        "folder": f"{cluster}/{begin:%Y-%m-%d}",
        "recording": f"/logs/{cluster}/{begin:%Y-%m-%d}",
        "status": "explained",
        "begin": begin.isoformat(),
        "end": (begin + timedelta(hours=2)).isoformat(),
        "hours": 2.0,
        "release": "4.0.8",
        "shedding": "ThresholdShedder",
        "placement": "LeastResourceUsageWithWeight",
        "settings": {SETTING: "3"},
        "moves": round(useless) + 8,
        "useless": round(useless),
        "undecided": 0,
        "regret_points": 0.25 * useless,
        "regret_rounds": 4,
        "over_min": 10.0,
        "findings": {"random-placement": 2, "over-placement": 1},
        "headline": "Every broker was over the bar, so that the draw was random.",
        **more,
    }
    return {name: row.get(name) for name in FLEET["nights"].names}


def fleet(
    changed: Mapping[str, int], effect: float, *, nights: int = 6, clusters: int = 10, seed: int = 0
) -> list[dict[str, Any]]:
    """Give a fleet in which some clusters have another setting from a night on, and its effect.

    Useless moves of a night are drawn around the cluster's own, which the effect is added to.
    """
    random = np.random.default_rng(seed)
    rows = []
    for i in range(clusters):
        name, own = f"c{i:02}", random.uniform(60, 80)
        for at in range(nights):
            has_it = at >= changed.get(name, nights)
            useless = own + random.normal(0, 4) + (effect if has_it else 0.0)
            settings = {SETTING: "12" if has_it else "3"}
            rows.append(night(name, 5 * at, useless, settings=settings))
    return rows


def failed(cluster: str, name: str, why: str) -> dict[str, Any]:
    """Give a night that could not be explained."""
    row = failed_row(cluster, name, why) | {"recording": f"/logs/{cluster}/{name}"}
    return {column: row.get(column) for column in FLEET["nights"].names}
