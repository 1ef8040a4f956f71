"""Predictions beside what came of them → how good they were, in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trimtab.lab.costs.arithmetic import half_width
from trimtab.pulsar.model import Floats
from trimtab.trials.backtest.walk import Scored

#: Shares of cases that intervals are to hold.
SHARES = (0.5, 0.8, 0.9)
# Points below which a level counts as so much, and a change is none.
_LEVEL_MIN = 5.0
_CHANGE_MIN = 1.0


def summaries(scored: Sequence[Scored]) -> Iterator[dict[str, Any]]:
    """Yield how good predictions were: of moves and of none, and by how far they look ahead."""
    for is_move in (True, False):
        for minutes in sorted({each.minutes for each in scored if each.is_move == is_move}):
            which = [s for s in scored if s.is_move == is_move and s.minutes == minutes]
            yield {"of": "moves" if is_move else "calm", "minutes": minutes} | summary(which)


def summary(scored: Sequence[Scored]) -> dict[str, Any]:
    """Return how good some predictions were, with those of the two simplest rules beside them."""
    after = np.array([s.measured_after for s in scored])
    change = after - np.array([s.measured_before for s in scored])
    ours = np.array([s.after for s in scored])
    by_ours = ours - np.array([s.before for s in scored])
    before = np.array([s.measured_before for s in scored])
    by_share = np.array([s.by_share for s in scored])
    sure = np.array([s.change_deviation for s in scored]), np.array([s.deviation for s in scored])
    return {
        "brokers": len(scored),
        "measured_change_points": _mean(np.abs(change)),
        "model": _good(ours, after, by_ours, change)
        | {
            "change_coverage": _coverage(by_ours - change, sure[0]),
            "level_coverage": _coverage(ours - after, sure[1]),
        },
        "share_of_traffic": _good(before + by_share, after, by_share, change),
        "nothing_changes": _good(before, after, np.zeros(after.size), change),
    }


def _good(level: Floats, after: Floats, by: Floats, change: Floats) -> dict[str, float | None]:
    """Return the errors of one way of predicting: of levels, of changes, and its bias."""
    real = np.abs(change) > _CHANGE_MIN
    error = np.abs(by - change)[real] / np.abs(change[real])
    total = float((np.sign(by) * change).sum())
    predicted = float(np.abs(by).sum())
    # What was predicted over what came, in the direction that was predicted.
    bias = predicted / total if predicted > 0 and total > 0 else None
    return {
        "level_error_percent": _mean(100.0 * np.abs(level - after) / np.maximum(after, _LEVEL_MIN)),
        "level_error_points": _mean(np.abs(level - after)),
        "change_error_percent": float(100.0 * np.median(error)) if error.size else None,
        "change_error_points": _mean(np.abs(by - change)),
        "bias": bias,
    }


def _coverage(missed: Floats, deviation: Floats) -> dict[str, float] | None:
    """Return which share of cases lies in the intervals that are to hold some share of them."""
    if missed.size == 0:
        return None
    return {
        f"{100 * share:.0f}": float((np.abs(missed) <= half_width(share) * deviation).mean())
        for share in SHARES
    }


def _mean(values: Floats) -> float | None:
    mean = float(values.mean()) if values.size else math.nan
    return None if math.isnan(mean) else mean
