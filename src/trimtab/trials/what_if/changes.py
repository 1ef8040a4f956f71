"""A matrix → the settings that would have been better beyond doubt, at most five."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trimtab.trials.what_if.matrix import COST, GAIN
from trimtab.trials.what_if.measures import MATRIX_MEASURES

_CHANGES_MAX = 5

_Strategy = Mapping[str, Any]


def changes(strategies: Sequence[_Strategy]) -> list[dict[str, Any]]:
    """Return what is worth changing.

    A strategy is, whose interval of the difference lies below 0 for the spread or for the
    unloads, and for neither of them above 0.  First comes what gains most of both, as a
    share of what was.  Of those that came to the same, the one with the fewest keys is taken.

    Args:
        strategies: as `matrix` has them, the real one first.

    Properties:
        At most five; none where the real strategy is as good as any.
    """
    real, *others = strategies
    worth = [each for each in others if _is_better(each)]
    worth.sort(key=lambda each: (_gain(each, real), len(dict(_keys(each, real)))))
    different: list[dict[str, Any]] = []
    for change in (_change(each, real) for each in worth):
        if all(change["effects"] != other["effects"] for other in different):
            different.append(change)
    return different[:_CHANGES_MAX]


def _is_better(strategy: _Strategy) -> bool:
    ends = [_difference(strategy, name) for name in (GAIN, COST)]
    is_lower = any(high is not None and high < 0 for _, high in ends)
    is_higher = any(low is not None and low > 0 for low, _ in ends)
    return is_lower and not is_higher


def _difference(strategy: _Strategy, name: str) -> tuple[float | None, float | None]:
    median = strategy["measures"][name]["difference"]["median"]
    return median["low"], median["high"]


def _gain(strategy: _Strategy, real: _Strategy) -> float:
    return sum(_share(strategy, real, name) for name in (GAIN, COST))


def _share(strategy: _Strategy, real: _Strategy, name: str) -> float:
    """Return by which share of what was a measure changes; 0 where that is not known."""
    change = strategy["measures"][name]["difference"]["median"]["estimate"]
    before = real["measures"][name]["median"]["estimate"]
    return change / before if change is not None and before else 0.0


def _change(strategy: _Strategy, real: _Strategy) -> dict[str, Any]:
    return {
        "strategy": strategy["label"],
        "set": dict(_keys(strategy, real)),
        "effects": [
            {
                "measure": name,
                "title": measure.title,
                "unit": measure.unit,
                "now": real["measures"][name]["median"]["estimate"],
                "then": strategy["measures"][name]["median"]["estimate"],
                "difference": strategy["measures"][name]["difference"]["median"],
            }
            for name, measure in MATRIX_MEASURES.items()
        ],
    }


def _keys(strategy: _Strategy, real: _Strategy) -> Iterator[tuple[str, str]]:
    """Return what is to be written into broker.conf."""
    package = "org.apache.pulsar.broker.loadbalance.impl."
    if strategy["shedder"] == "none":
        yield "loadBalancerSheddingEnabled", "false"
    elif strategy["shedder"] != real["shedder"]:
        yield "loadBalancerLoadSheddingStrategy", package + strategy["shedder"]
        if real["shedder"] == "none":
            yield "loadBalancerSheddingEnabled", "true"
    if strategy["placement"] != real["placement"]:
        yield "loadBalancerLoadPlacementStrategy", package + strategy["placement"]
    yield from strategy["settings"].items()
