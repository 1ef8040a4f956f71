"""What the leader's shedder remembered when a recording begins in mid-life, until it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trimtab.lab.reconstruct.evidence import Printed
from trimtab.lab.simulate.strategies import Strategies
from trimtab.pulsar.model import AvgShedderMemory, ClusterLoad, History

# Smoothed usage that is known so well decides nothing, fraction.
_KNOWN = 1e-4
# Brokers of which each is tried by itself: those that may be the busiest.
_TRIED_MAX = 32
# Rounds in a row that are more than any setting asks for.
_MANY = 1_000_000


class Unknown(Protocol):
    """Memories between which the leader's lies."""

    def hangs(self, strategies: Strategies, load: ClusterLoad) -> bool:
        """Return whether it hangs on them if a round sheds; they are those after it then."""

    def precede(self, strategies: Strategies, printed: Printed) -> None:
        """Let strategies remember what they did before the first round, as far as that tells."""

    def is_known(self, strategies: Strategies, printed: Printed | None) -> bool:
        """Return whether nothing is open, once strategies remember what a round printed."""


def unknown_memory(strategies: Strategies) -> Unknown | None:
    """Return what is not known of a leader that has led before; None if it remembers nothing."""
    if isinstance(strategies.memory, History):
        return UnknownHistory()
    return UnknownHits() if isinstance(strategies.memory, AvgShedderMemory) else None


@dataclass(slots=True)
class UnknownHistory:
    """Smoothed usage of each broker between two bounds, which draw together round by round."""

    #: Broker → bounds, fraction; None before the first round.
    bounds: Mapping[str, tuple[float, float]] | None = None

    def hangs(self, strategies: Strategies, load: ClusterLoad) -> bool:
        """Return whether it hangs on the bounds if a round sheds; they are those after it then."""
        if self.bounds is None:
            # Whoever joins later has no history.
            self.bounds = dict.fromkeys(load.brokers, (0.0, 1.0))
        bounds = self.bounds
        sheds = {
            bool(strategies.would(load, _history(usage))[0].unloads) for usage in _extremes(bounds)
        }
        low, high = (
            _usage(strategies.would(load, _history(_bound(bounds, which)))[1]) for which in (0, 1)
        )
        self.bounds = {broker: (low[broker], high[broker]) for broker in load.brokers}
        return len(sheds) > 1

    def precede(self, strategies: Strategies, printed: Printed) -> None:
        """Do nothing: what usage was before follows from what is measured in the round."""

    def is_known(self, strategies: Strategies, printed: Printed | None) -> bool:
        """Return whether the bounds have met, after what was printed has drawn them together.

        What is printed of a broker of which it was open is taken for its usage.
        """
        if self.bounds is None:
            return False
        bounds = dict(self.bounds)
        if printed is not None:
            new = {
                broker: usage
                for broker, usage in printed.smoothed.items()
                if broker in bounds and bounds[broker][1] - bounds[broker][0] >= _KNOWN
            }
            strategies.remember(_history({**_usage(strategies.memory), **new}))
            bounds |= {broker: (usage, usage) for broker, usage in new.items()}
            bounds = _within_average(bounds, printed.average)
        self.bounds = bounds
        return all(high - low < _KNOWN for low, high in bounds.values())


@dataclass(slots=True)
class UnknownHits:
    """Counters of AvgShedder, which every round prints as it begins to compare them."""

    def hangs(self, strategies: Strategies, load: ClusterLoad) -> bool:
        """Return whether a round sheds if all counters are full, and not if they are empty."""
        empty = replace(strategies.memory, hits_low={}, hits_high={})
        many = dict.fromkeys(load.brokers, _MANY)
        full = replace(strategies.memory, hits_low=many, hits_high=many)
        sheds = [bool(strategies.would(load, memory)[0].unloads) for memory in (empty, full)]
        return sheds[0] != sheds[1]

    def precede(self, strategies: Strategies, printed: Printed) -> None:
        """Let strategies remember what is one less than what the round counts that comes now."""
        _count(strategies, printed, lambda counts: {b: n - 1 for b, n in counts.items() if n > 1})

    def is_known(self, strategies: Strategies, printed: Printed | None) -> bool:
        """Return whether a round printed its counters, which the strategies remember then."""
        if printed is None or printed.hits_low is None:
            return False
        _count(
            strategies,
            printed,
            lambda counts: {b: n for b, n in counts.items() if b not in printed.dropped},
        )
        return True


def _count(
    strategies: Strategies,
    printed: Printed,
    of_printed: Callable[[Mapping[str, int]], Mapping[str, int]],
) -> None:
    """Let AvgShedder remember counters that follow from printed ones."""
    if printed.hits_low is not None and printed.hits_high is not None:
        low, high = of_printed(printed.hits_low), of_printed(printed.hits_high)
        strategies.remember(replace(strategies.memory, hits_low=low, hits_high=high))


def _usage(history: History) -> dict[str, float]:
    return dict(zip(history.brokers, history.usage.tolist(), strict=True))


def _history(usage: Mapping[str, float]) -> History:
    return History(tuple(usage), np.array(list(usage.values()), np.float64))


def _bound(bounds: Mapping[str, tuple[float, float]], which: int) -> dict[str, float]:
    return {broker: both[which] for broker, both in bounds.items()}


def _extremes(bounds: Mapping[str, tuple[float, float]]) -> Iterator[dict[str, float]]:
    """Yield both bounds, and one bound of each broker beside the other one of all others."""
    low, high = _bound(bounds, 0), _bound(bounds, 1)
    yield low
    yield high
    for broker in sorted(bounds, key=lambda name: -high[name])[:_TRIED_MAX]:
        yield low | {broker: high[broker]}
        yield high | {broker: low[broker]}


def _within_average(
    bounds: Mapping[str, tuple[float, float]], average: float
) -> dict[str, tuple[float, float]]:
    """Return bounds of brokers whose mean is known; NaN if it is not."""
    if not average >= 0:
        return dict(bounds)
    total = average * len(bounds)
    least, most = (sum(both[which] for both in bounds.values()) for which in (0, 1))
    closer = {}
    for broker, (low, high) in bounds.items():
        new = max(low, total - (most - high)), min(high, total - (least - low))
        # What is simulated need not be to the last digit what was printed.
        closer[broker] = new if new[0] <= new[1] else (sum(new) / 2, sum(new) / 2)
    return closer
