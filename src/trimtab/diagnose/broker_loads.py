"""How loaded each broker was at a moment, by the best evidence that there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from trimtab.diagnose.columns import microseconds
from trimtab.diagnose.night import Move, Night, Round
from trimtab.diagnose.usages import Usages

Compared = TypeVar("Compared")

#: Brokers closer together than half a point are alike to whoever places a bundle.
_ALIKE = 0.005


@dataclass(frozen=True, slots=True)
class BrokerLoads:
    """Brokers' load at one moment."""

    #: Broker → fraction.
    usage: Mapping[str, float]
    #: What the numbers are, in words.
    basis: str
    #: They are reported usage, not a strategy's smoothed score.
    is_reported: bool

    def rank(self, broker: str) -> int:
        """Return the broker's place from the hottest, 1 for the hottest."""
        return 1 + sum(other > self.usage[broker] for other in self.usage.values())

    def average(self) -> float:
        """Return the mean over the brokers."""
        return sum(self.usage.values()) / len(self.usage)

    def is_cooler(self, broker: str, other: str) -> bool:
        """Return whether a broker is cooler than another by more than a hair."""
        return self.usage[other] - self.usage[broker] > _ALIKE

    def coolest(self, *, but: str) -> str | None:
        """Return the least loaded broker other than one; the first of equals."""
        coolest = min(self.usage, key=self.usage.__getitem__, default=None)
        if coolest != but:
            return coolest
        others = (broker for broker in self.usage if broker != but)
        return min(others, key=self.usage.__getitem__, default=None)


def reported_usage(night: Night, time: datetime) -> dict[str, float]:
    """Return each broker's usage in its latest report before a time; brokers gone are out."""
    return _timeline(night.usages).at(time)


def named_brokers(rounds: Iterable[Round]) -> frozenset[str]:
    """Return the brokers that the lines of some rounds name."""
    brokers = {event.broker for logged in rounds for event in logged.events}
    brokers |= {broker for r in rounds for m in r.moves for broker in (m.source, m.target)}
    return frozenset(broker for broker in brokers if broker)


class _Timeline:
    """Usages, looked up by time: a large night is asked for a thousand moments."""

    def __init__(self, usages: Usages) -> None:
        """Lay out usages."""
        self._times = usages.times
        self._brokers = np.array(usages.brokers, np.object_)
        self._usage = usages.fractions
        self._is_known = ~np.isnan(usages.fractions)
        # Broker by broker, and each one's in their order.
        self._size = len(usages) + 1
        self._places = np.sort(usages.codes * self._size + np.arange(len(usages)))

    def at(self, time: datetime) -> dict[str, float]:
        """Return what was known at a time, in the order in which brokers reported first."""
        end = np.searchsorted(self._times, microseconds([time]), side="right")
        starts = np.arange(len(self._brokers)) * self._size
        places = np.searchsorted(self._places, starts + end) - 1
        latest = np.where(places < 0, -1, self._places[places]) - starts
        # Before its first report, what is found is another broker's: it lies before its start.
        is_known = (latest >= 0) & self._is_known[np.maximum(latest, 0)]
        usages = self._usage[latest[is_known]].tolist()
        return dict(zip(self._brokers[is_known].tolist(), usages, strict=True))


class _Same(Generic[Compared]):
    """Something by which object it is: to compare a hundred thousand usages takes too long."""

    def __init__(self, value: Compared) -> None:
        """Keep a reference, so that no other object can take its place."""
        self.value = value

    def __hash__(self) -> int:
        """Return a number that tells objects apart."""
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        """Return whether the other is of the same object."""
        return isinstance(other, _Same) and other.value is self.value


@lru_cache(maxsize=1)
def _timeline(usages: Usages) -> _Timeline:
    return _Timeline(usages)


def is_all_reported(night: Night, logged: Round) -> bool:
    """Return whether every broker that a round names reports at all.

    Without, an average over the others is that of another cluster.
    """
    return named_brokers([logged]) <= set(night.usages.brokers)


def _is_steady(night: Night, time: datetime, usage: Mapping[str, float]) -> bool:
    """Return whether the same brokers were above and below the average an interval before.

    What the leader had is older than what brokers say when they are asked: where the two may
    differ, nothing is known of what it had.
    """
    before = reported_usage(night, time - timedelta(seconds=night.interval_s))
    if not before:
        return True
    averages = [sum(values.values()) / len(values) for values in (before, usage)]
    return before.keys() == usage.keys() and all(
        (before[broker] > averages[0]) == (usage[broker] > averages[1]) for broker in usage
    )


# Whoever looks at a round's moves asks for each of them.
@lru_cache(maxsize=1)
def _loads_in_reports(which: _Same[Round]) -> BrokerLoads | None:
    usage = {b: s.usage for b, s in which.value.brokers.items() if s.usage is not None}
    if len(usage) < 2:
        return None
    return BrokerLoads(usage, "usage in the reports that the leader had", True)


def broker_loads(night: Night, logged: Round, move: Move | None = None) -> BrokerLoads | None:
    """Return how loaded the brokers were in a round.

    What the leader itself had is taken first: the usage in its reports, replayed or
    printed; then any report before the round, of those that never reach the leader only
    where load was steady; then the placer's scores; then the shedder's smoothed ones.
    """
    replayed = _loads_in_reports(_Same(logged))
    if replayed is not None:
        return replayed
    reported = reported_usage(night, logged.time) if is_all_reported(night, logged) else {}
    if len(reported) > 1 and (night.reports or _is_steady(night, logged.time, reported)):
        return BrokerLoads(reported, "usage in the latest reports", True)
    if move is not None and move.draw is not None and len(move.draw.scores) > 1:
        return BrokerLoads(move.draw.scores, "the placer's own scores", False)
    smoothed = {b: s.smoothed for b, s in logged.brokers.items() if s.smoothed is not None}
    if len(smoothed) > 1:
        return BrokerLoads(smoothed, "the shedder's smoothed scores", False)
    return None
