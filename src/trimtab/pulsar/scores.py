"""From a round's load to numbers that brokers are ranked by: usage, smoothing, means."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import RESOURCES, ClusterLoad, Floats, History, Ints
from trimtab.pulsar.settings import ResourceWeights

Memory = TypeVar("Memory")

# Pulsar's unweighted maximum never looked at the heap.
_UNWEIGHTED = tuple(RESOURCES.index(name) for name in RESOURCES if name != "memory")


def weighted_usage(load: ClusterLoad, weights: ResourceWeights) -> Floats:
    """Return each broker's busiest resource, after weighing, as its usage.

    Returns:
        (n_brokers,) fraction.

    Properties:
        Equal, bit for bit, to computing percent in 32 bits and weighing in 64.
        Never above the largest weight times the largest usage, but for 32-bit rounding.
        A resource without a limit counts as unused, whatever its usage.
        A resource of weight None changes nothing.
        Reports in read-only arrays are weighed once by the same weights: for placements one
        after the other the same array is returned again, read-only too.

    Quirks:
        A percentage is a 32-bit float: 30 of 100 is 0.30000001192092896 in 32 bits and
        becomes 0.30000001907348633 here, which decides comparisons at a threshold.
        NaN is passed over; a broker with nothing but NaN has usage -inf.
        Weights are not clamped: with a weight of 2 usage may reach 2, and a weight of 0
        still lets the resource win over negative ones.

    Source:
        LocalBrokerData.getMaxResourceUsageWithWeight and ResourceUsage.percentUsage,
        4.0.8; the same in 3.0.0 and later.
    """
    if load.resource_usage.flags.writeable or load.resource_limit.flags.writeable:
        return busiest_resource(load.resource_usage, load.resource_limit, weights)
    return _weighed_once(_Reports(load.resource_usage, load.resource_limit, weights))


def busiest_resource(usage: Floats, limit: Floats, weights: ResourceWeights) -> Floats:
    """Return the busiest resource after weighing, where there is no whole load.

    Args:
        usage: (n, 5) as reported; columns are RESOURCES.
        limit: (n, 5) likewise.
        weights: how much each resource counts.

    Returns:
        (n,) fraction.

    Source:
        BrokerLoadData.getMaxResourceUsageWithWeight, 3.0.0 to 5.0.0-M1; and see
        `weighted_usage`.
    """
    # NaN stands for a resource that is left out, since NaN never wins.
    factors = [math.nan if w is None else w for w in weights.by_resource()]
    with np.errstate(all="ignore"):
        weighted = _percent(usage, limit).astype(np.float64) * np.array(factors)
    return np.asarray(_largest(weighted) / 100.0, dtype=np.float64)


def unweighted_usage(load: ClusterLoad) -> Floats:
    """Return each broker's busiest resource, heap aside, as its usage.

    Returns:
        (n_brokers,) fraction.

    Properties:
        Equal, bit for bit, to `maxResourceUsage` in a broker's load report.

    Quirks:
        All of it is done in 32 bits, the division by 100 too: 85 of 100 gives
        0.8500000238418579, which is above a threshold of 85 %.

    Source:
        LocalBrokerData.getMaxResourceUsage, 2.10.4 to 5.0.0-M1.
    """
    largest = _largest(_percent(load.resource_usage, load.resource_limit)[:, _UNWEIGHTED])
    return (largest / np.float32(100)).astype(np.float64)


def smoothed(
    history: History, brokers: Sequence[str], usage: Floats, history_share: float
) -> Floats:
    """Return each broker's usage blended with its history; without any, the usage itself.

    Args:
        history: smoothed usage so far.
        brokers: broker ids, aligned with `usage`.
        usage: (n_brokers,) fraction, of this round.
        history_share: how much the past weighs, 0 to 1.

    Returns:
        (n_brokers,) fraction, aligned with `brokers`.

    Properties:
        Between the old value and the usage, if both are finite and the share is 0 to 1,
        but for rounding in the last place.
        Equal to the usage for a share of 0, and for a broker without history.
        Order of brokers does not matter.

    Source:
        ThresholdShedder.updateAvgResourceUsage and
        LeastResourceUsageWithWeight.updateAndGetMaxResourceUsageWithWeight, 4.0.8.
    """
    if history.brokers == brokers:  # the same in the same order: nobody to look up
        return blended(history.usage, usage, history_share)
    position = {broker: i for i, broker in enumerate(history.brokers)}
    places = np.array([position.get(broker, -1) for broker in brokers], dtype=np.int64)
    is_known = places >= 0
    after = usage.astype(np.float64)  # a copy
    after[is_known] = blended(history.usage[places[is_known]], usage[is_known], history_share)
    return after


def blended(before: Floats, now: Floats, history_share: float) -> Floats:
    """Return what was, weighed with what is, as all of Pulsar's smoothing does.

    Source:
        Besides those of `smoothed`: BrokerLoadData.updateWeightedMaxEMA and
        updateMsgThroughputEMA, 3.0.0 to 5.0.0-M1.
    """
    # The Java evaluates (1 - share) first; any other grouping rounds differently.
    with np.errstate(all="ignore"):
        return before * history_share + (1 - history_share) * now


def remember(history: History, brokers: Sequence[str], usage: Floats) -> History:
    """Return the history with brokers' smoothed usage; other brokers keep theirs.

    Properties:
        Remembering the same twice changes nothing more.
    """
    if history.brokers == brokers:  # as in `smoothed`
        return History(history.brokers, usage.astype(np.float64))
    merged = dict(zip(history.brokers, history.usage.tolist(), strict=True))
    merged.update(zip(brokers, usage.tolist(), strict=True))
    return History(tuple(merged), np.array(list(merged.values()), dtype=np.float64))


def remember_at(
    history: History, brokers: tuple[str, ...], positions: Ints, usage: Floats
) -> History:
    """Return the history with the smoothed usage of some of the brokers of a load.

    Args:
        history: smoothed usage so far.
        brokers: all brokers of the load.
        positions: (n,) in `brokers`, of those whose usage is given.
        usage: (n,) fraction.

    Properties:
        The same as `remember`, but for the order of brokers, which means nothing: once all
        of them are known and nobody else, it is that of the load.
    """
    if history.brokers == brokers:
        merged = history.usage.copy()
        merged[positions] = usage
        return History(brokers, merged)
    after = remember(history, [brokers[i] for i in positions.tolist()], usage)
    known = dict(zip(after.brokers, after.usage.tolist(), strict=True))
    if known.keys() != set(brokers):
        return after
    return History(brokers, np.array([known[broker] for broker in brokers], dtype=np.float64))


def forget(history: History, active_brokers: Collection[str]) -> History:
    """Return the history without that of brokers that left.

    Properties:
        Keeps exactly the brokers that are both in the history and active, in order.

    Source:
        ThresholdShedder.onActiveBrokersChange, 3.0.0 and later.
    """
    active = frozenset(active_brokers)
    kept = [i for i, broker in enumerate(history.brokers) if broker in active]
    return History(tuple(history.brokers[i] for i in kept), history.usage[kept])


def keep(memory: Memory, active_brokers: Collection[str]) -> Memory:
    """Return all that is remembered, brokers that left included: the strategy never hears of it.

    Source:
        Classes without `onActiveBrokersChange`, among them ThresholdShedder of 2.10.
    """
    del active_brokers
    return memory


def no_state(load: ClusterLoad, memory: object, settings: object) -> Mapping[str, Any]:
    """Return no state, for a memory of which the recorded decisions say nothing."""
    del load, memory, settings
    return {}


def smoothed_state(load: ClusterLoad, memory: History, settings: object) -> Mapping[str, Any]:
    """Return a history in the words of the recorded decisions."""
    del load, settings
    return {"avg": dict(zip(memory.brokers, memory.usage.tolist(), strict=True))}


def mean_in_order(values: Floats) -> float:
    """Return the mean as the Java does: one sum from front to back, then one division.

    Properties:
        Equal, bit for bit, to a loop of additions; `np.mean` adds in pairs and is not.
        0 for no values.
    """
    if values.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        # The loop begins at 0.0, which makes 0.0 of a sum of nothing but -0.0.
        return float((np.cumsum(values)[-1] + 0.0) / values.size)


def descending(values: Floats) -> Ints:
    """Return the order from the largest down, as Java sorts by `Double.compare` backwards.

    Returns:
        Positions in `values`.

    Properties:
        NaN stands first and -0.0 behind 0.0; equal values stay in the order given.
    """
    is_minus_zero = (values == 0) & np.signbit(values)
    return np.lexsort((is_minus_zero, -values, ~np.isnan(values))).astype(np.int64)


def ascending(values: Floats) -> Ints:
    """Return the order from the smallest up, as Java sorts by `Double.compare`.

    Returns:
        Positions in `values`.

    Properties:
        NaN stands last and -0.0 before 0.0; equal values stay in the order given.
    """
    is_minus_zero = (values == 0) & np.signbit(values)
    return np.lexsort((~is_minus_zero, values, np.isnan(values))).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Reports:
    """Reports, which are the same only if they are the same objects, and equal weights."""

    usage: Floats
    limit: Floats
    weights: ResourceWeights

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Reports)
            and self.usage is other.usage
            and self.limit is other.limit
            and self.weights == other.weights
        )

    def __hash__(self) -> int:
        return hash((id(self.usage), id(self.limit), self.weights))


@lru_cache(maxsize=4)
def _weighed_once(reports: _Reports) -> Floats:
    """Return weighed usage of reports that nobody can change."""
    usage = busiest_resource(reports.usage, reports.limit, reports.weights)
    usage.flags.writeable = False
    return usage


def _percent(usage: Floats, limit: Floats) -> NDArray[np.float32]:
    """Return (n, 5) percent in 32 bits, 0 where there is no limit."""
    with np.errstate(all="ignore"):
        ratio = usage.astype(np.float32) / limit.astype(np.float32)
        known = np.where(limit > 0, ratio, np.float32(0))
        return np.asarray(known * np.float32(100), dtype=np.float32)


def _largest(columns: NDArray[Any]) -> NDArray[Any]:
    """Return each row's maximum by `>` alone, as the Java does, so that NaN never wins."""
    largest = np.full(columns.shape[0], -np.inf, dtype=columns.dtype)
    for column in columns.T:
        largest = np.where(column > largest, column, largest)
    return largest
