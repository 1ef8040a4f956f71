"""Orders in which to restart brokers, and what the laboratory foretells of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trimtab.lab.outcomes.intervals import Summary, summary
from trimtab.lab.restarts.snapshot import ClusterNow, standing_world
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.world import Event, Kind, Run
from trimtab.pulsar.model import MINUTE_S

#: Before the first restart, so that the leader knows its brokers.
_BEFORE_S = 300.0


@dataclass(frozen=True, slots=True)
class Timing:
    """How brokers are restarted."""

    #: s that one is down.
    down_s: float
    #: s from one restart to the next.
    every_s: float


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart, as foretold: from when the broker leaves to when the next one does."""

    broker: str
    #: %, highest usage of any broker over a minute; over seeds.
    peak_percent: Summary
    #: Who most often has it.
    peak_at: str


@dataclass(frozen=True, slots=True)
class RestartForecast:
    """An order, and what comes of it."""

    #: By what it was put in order.
    rule: str
    restarts: tuple[Restart, ...]
    #: %, the highest of all; over seeds.
    peak_percent: Summary
    #: Changes of owners; over seeds.
    moves: Summary

    @property
    def brokers(self) -> tuple[str, ...]:
        """Return the brokers in order."""
        return tuple(each.broker for each in self.restarts)


class Order(NamedTuple):
    """An order of brokers, and the rule that it follows."""

    rule: str
    brokers: Sequence[str]


def orders(now: ClusterNow, leader: str | None) -> Mapping[str, tuple[str, ...]]:
    """Return the orders that are worth a try.

    Properties:
        Each has every broker once; who leads is the last, so that the lead changes hands
        no more often than it must.
    """
    names = sorted(now.usage_percent)
    usage = {name: float(np.nan_to_num(now.usage_percent[name])) for name in names}
    rules: dict[str, list[str]] = {
        "least loaded first": sorted(names, key=lambda name: (usage[name], name)),
        "most loaded first": sorted(names, key=lambda name: (-usage[name], name)),
        "by name": names,
    }
    return {rule: tuple(sorted(order, key=leader.__eq__)) for rule, order in rules.items()}


def foretold(
    now: ClusterNow,
    order: Order,
    timing: Timing,
    balancer: Balancer,
    seeds: Sequence[int],
) -> RestartForecast:
    """Return what a simulation of a rolling restart comes to, over at least one seed.

    Raises:
        LookupError: a strategy is not in the release.
        SettingError: a setting cannot be read.

    Properties:
        The same arguments give the same result.
    """
    names = sorted(now.usage_percent)
    positions = [names.index(broker) for broker in order.brokers]
    events = rolling(positions, _BEFORE_S, timing)
    end_s = _BEFORE_S + len(order.brokers) * timing.every_s
    runs = [
        simulated(standing_world(now, events, end_s, seed), balancer, Parameters())
        for seed in seeds
    ]
    bounds = [_BEFORE_S + number * timing.every_s for number in range(len(order.brokers) + 1)]
    peaks = [[_peak(run, from_s, to_s) for from_s, to_s in pairwise(bounds)] for run in runs]
    restarts = tuple(
        _restart(broker, [of_run[number] for of_run in peaks], names)
        for number, broker in enumerate(order.brokers)
    )
    highest = [max(usage for usage, _ in of_run) for of_run in peaks]
    moves = [float(np.count_nonzero(run.moves.time_s >= _BEFORE_S)) for run in runs]
    return RestartForecast(order.rule, restarts, summary(highest), summary(moves))


def rolling(brokers: Sequence[int], from_s: float, timing: Timing) -> tuple[Event, ...]:
    """Return the events of a rolling restart, in order of time: one leaves after the other."""
    events: list[Event] = []
    for number, broker in enumerate(brokers):
        leaves_s = from_s + number * timing.every_s
        events.append(Event(leaves_s, Kind.LEAVE, (broker,)))
        events.append(Event(leaves_s + timing.down_s, Kind.JOIN, (broker,)))
    return tuple(sorted(events, key=lambda event: event.time_s))


def _restart(broker: str, peaks: Sequence[tuple[float, int]], names: Sequence[str]) -> Restart:
    (often, _), *_ = Counter(at for _, at in peaks).most_common(1)
    return Restart(broker, summary([usage for usage, _ in peaks]), names[often])


def _peak(run: Run, from_s: float, to_s: float) -> tuple[float, int]:
    """Return the highest mean of a minute between two times, and whose it is."""
    per_minute = max(1, round(MINUTE_S / run.tick_s))
    ticks = run.usage[round(from_s / run.tick_s) : round(to_s / run.tick_s)]
    whole = len(ticks) // per_minute * per_minute
    minutes = np.nan_to_num(ticks[:whole]).reshape(-1, per_minute, ticks.shape[1]).mean(axis=1)
    at = int(minutes.max(axis=0).argmax())
    return float(minutes[:, at].max()), at
