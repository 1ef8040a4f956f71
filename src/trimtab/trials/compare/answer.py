"""Strategies beside each other on one scenario → the sentence that says which is best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.report.contenders import figure
from trimtab.trials.compare.comparison import COST, GAIN, estimate, number


def answer(strategies: Sequence[Mapping[str, Any]], confidence: float) -> str:
    """Return which strategy is best on a scenario, by how much, and how sure that is.

    Best is who is balanced soonest; where another needs fewer unloads that is said too, as
    nobody then is best in both.

    Args:
        strategies: as the comparison has them, the baseline among them.
        confidence: share of the intervals that hold the truth.
    """
    known = [each for each in strategies if each["runs"]]
    if not known:
        return "No run came to its end, so that nothing is known."
    soonest = min(known, key=lambda it: (_rank(it, GAIN), _rank(it, COST)))
    fewest = min(known, key=lambda it: (_rank(it, COST), _rank(it, GAIN)))
    if not math.isfinite(estimate(soonest, GAIN)):
        return (
            f"No strategy balances in the time simulated; {_name(fewest)} unloads least, "
            f"{_value(fewest, COST)} times."
        )
    head = f"{_name(soonest)} is balanced soonest, after {_value(soonest, GAIN)} min with "
    head += f"{_value(soonest, COST)} unloads{_margin(soonest, confidence)}"
    if _rank(fewest, COST) == _rank(soonest, COST):
        return f"{head}; none unloads less."
    return (
        f"{head}; {_name(fewest)} unloads least, {_value(fewest, COST)} times, and is balanced "
        f"after {_value(fewest, GAIN)} min."
    )


def _margin(strategy: Mapping[str, Any], confidence: float) -> str:
    """Return by how much it is sooner than the baseline, and whether that may be chance."""
    if strategy["is_baseline"]:
        return ""
    difference = strategy["measures"][GAIN]["difference"]["median"]
    middle, high = (number(difference[each]) for each in ("estimate", "high"))
    if math.isnan(middle):
        return ""
    if middle >= 0:
        return " (but seed by seed no sooner than the baseline)"
    by = f"{figure(-middle)} min sooner than the baseline"
    if math.isinf(middle):
        by = "the baseline never is"
    if math.isnan(high):
        return f" ({by}, by too few seeds to be sure)"
    sure = f"sure at {confidence:.0%}" if high < 0 else "which may be chance"
    return f" ({by}, {sure})"


def _rank(strategy: Mapping[str, Any], measure: str) -> float:
    value = estimate(strategy, measure)
    return math.inf if math.isnan(value) else value


def _value(strategy: Mapping[str, Any], measure: str) -> str:
    return figure(strategy["measures"][measure]["median"]["estimate"])


def _name(strategy: Mapping[str, Any]) -> str:
    conf = "".join(f" {key}={value}" for key, value in strategy["settings"].items())
    return f"{strategy['label']}{conf}"
