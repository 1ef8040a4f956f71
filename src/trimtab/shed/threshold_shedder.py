"""Pulsar's ThresholdShedder, its default shedder from 2.10 to 4.x."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.model import ClusterLoad, Decision, Flags, Floats, History, Ints, Reason, Unload
from trimtab.scores import mean_in_order, remember, smoothed, weighted_usage
from trimtab.settings import ThresholdShedderSettings

# ADDITIONAL_THRESHOLD_PERCENT_MARGIN in the Java.
_MARGIN = 0.05
# LOWER_BOUNDARY_THRESHOLD_MARGIN in the Java.
_LOWER_MARGIN = 0.5


def threshold_shedder(
    load: ClusterLoad, history: History, settings: ThresholdShedderSettings
) -> tuple[Decision, History]:
    """Shed the heaviest bundles of every broker above the average plus the threshold.

    A broker's usage is smoothed over rounds before it is compared, so that a spike of a
    round or two moves nothing.  How much traffic a broker is to lose comes from its
    newest report, which bundles go from their averages.

    Args:
        load: what the brokers reported this round.
        history: each broker's smoothed usage after the last round.
        settings: weights, share of history, threshold, least throughput.

    Returns:
        The decision, and the history to pass in next round.  `Decision.scores` is the
        smoothed usage and `average` its mean; `offload` is what each broker above the
        bar was to lose, also where nothing came of it.

    Quirks:
        A broker exactly at the bar is above it: the Java skips on `<`.
        The margin of 5 points is added, so the target lies 5 points below the bar, not
        at the average; at the bar exactly 5 % of the traffic is to go.
        Points of usage are taken for percent of traffic: at 40 % usage an excess of 10
        points takes 15 % of the traffic where 25 % would be needed.
        Less than `throughput_min` to lose means that nothing is shed.  With the default
        of 10 MiB/s a broker at the bar needs 200 MiB/s; small clusters never shed.
        Bundles go heaviest first until the target is met, and at least one goes: the
        first may be many times the target.  While the target is not met, bundles
        without traffic go too, and so the broker may be emptied.
        Bundles of equal throughput go in the order of `load.bundles`, where the Java
        has its hash map's.  A bundle of NaN throughput goes first, and goes alone.
        A single bundle stays (`SoleBundle`).  The test counts all bundles reported, so
        a broker with two, one of them Pulsar's own, may lose its only real one.
        Over the bar with nothing that may be shed, as when all its bundles were moved
        lately, a broker is `NoBundles`; nobody else takes its place.
        An average of exactly 0 ends the round, lower boundary included.
        NaN is on neither side of a comparison: if the average is NaN, every broker with
        two bundles sheds one.  A broker with nothing but NaN makes the average -inf, and
        every healthy broker loses all that it may lose.
        The lower boundary (`lowerBoundarySheddingEnabled`) is tried when nothing was
        selected, even if an overloaded broker was found and refused.  It smooths a
        second time in the same round, so that a share of 0.9 acts as 0.81.  If a broker
        is below the average less the threshold (`Underloaded`), the busiest with two
        bundles (`Overloaded`, though it may be below the bar) loses throughput *
        threshold * 0.5 for its sake.  `scores` and `average` are those of the second
        pass, `offload` and the reasons of other brokers still those of the first.
        Brokers that left stay in the history until they are forgotten.

    Source:
        apache/pulsar 4.0.0 and 4.0.8, impl/ThresholdShedder.java,
        findBundlesForUnloading, updateAvgResourceUsage, filterAndSelectBundle,
        tryLowerBoundaryShedding, getMaxUsageBroker; every number checked against runs of
        the class.
    """
    history, scores = _advanced(load, history, settings)
    decision = _shed_overloaded(load, scores, settings)
    is_settled = bool(decision.unloads) or decision.average == 0
    if is_settled or not settings.is_lower_boundary_enabled:
        return decision, history
    history, scores = _advanced(load, history, settings)
    return _shed_for_underloaded(load, scores, settings, decision), history


def _advanced(
    load: ClusterLoad, history: History, settings: ThresholdShedderSettings
) -> tuple[History, Floats]:
    """Smooth every broker's usage by one step."""
    usage = weighted_usage(load, settings.weights)
    scores = smoothed(history, load.brokers, usage, settings.history_share)
    return remember(history, load.brokers, scores), scores


def _shed_overloaded(
    load: ClusterLoad, scores: Floats, settings: ThresholdShedderSettings
) -> Decision:
    """Relieve every broker at or above the bar."""
    average = mean_in_order(scores)
    with np.errstate(all="ignore"):
        # Negated comparisons let NaN through, as the Java's `continue` does; the terms of
        # the excess are subtracted in the Java's order, since another rounds differently.
        is_over = ~(scores < average + settings.threshold) & (average != 0)
        excess = scores - average - settings.threshold + _MARGIN
        offload = np.where(is_over, _throughput(load) * excess, np.nan)
        is_enough = ~(offload < settings.throughput_min)
    reasons = tuple(
        _reason(over, enough, count, pool)
        for over, enough, count, pool in zip(
            is_over.tolist(),
            is_enough.tolist(),
            load.bundle_count.tolist(),
            _pool_sizes(load).tolist(),
            strict=True,
        )
    )
    is_source = np.array([reason is Reason.OVERLOADED for reason in reasons], dtype=np.bool_)
    unloads = _heaviest_first(load, is_source, offload)
    return Decision(unloads, reasons, scores, average, offload)


def _shed_for_underloaded(
    load: ClusterLoad, scores: Floats, settings: ThresholdShedderSettings, refused: Decision
) -> Decision:
    """Relieve the busiest broker if some broker is below the lower boundary."""
    average = mean_in_order(scores)
    refused = replace(refused, scores=scores, average=average)
    with np.errstate(all="ignore"):
        boundary = average - settings.threshold
        is_low = scores < boundary
        is_eligible = (scores > boundary) & (load.bundle_count > 1)
    if not is_low.any():
        return refused
    reasons = [
        Reason.UNDERLOADED if low else reason
        for low, reason in zip(is_low.tolist(), refused.reasons, strict=True)
    ]
    if not is_eligible.any():
        return replace(refused, reasons=tuple(reasons))
    busiest = int(np.argmax(np.where(is_eligible, scores, -np.inf)))  # the first of equals
    offload = refused.offload.copy()
    offload[busiest] = float(_throughput(load)[busiest]) * settings.threshold * _LOWER_MARGIN
    is_enough = not settings.throughput_min > offload[busiest]
    reasons[busiest] = _reason(
        True, is_enough, int(load.bundle_count[busiest]), int(_pool_sizes(load)[busiest])
    )
    is_source = np.zeros(len(load.brokers), dtype=np.bool_)
    is_source[busiest] = reasons[busiest] is Reason.OVERLOADED
    unloads = _heaviest_first(load, is_source, offload)
    return Decision(unloads, tuple(reasons), scores, average, offload)


def _reason(is_over: bool, is_enough: bool, bundle_count: int, pool_size: int) -> Reason:
    """Say why a broker sheds or not, in the order of the Java's tests."""
    if not is_over:
        return Reason.BALANCED
    if not is_enough:
        return Reason.LOW_THROUGHPUT
    if bundle_count == 1:
        return Reason.SOLE_BUNDLE
    return Reason.OVERLOADED if pool_size and bundle_count else Reason.NO_BUNDLES


def _heaviest_first(load: ClusterLoad, is_source: Flags, offload: Floats) -> tuple[Unload, ...]:
    """Take each source's heaviest bundles until its offload is met, at least one."""
    throughput = _sum(load.bundle_throughput_in, load.bundle_throughput_out)
    pool = np.flatnonzero(load.bundle_is_sheddable & is_source[load.bundle_broker])
    weight, owner = throughput[pool], load.bundle_broker[pool]
    # Double.compare, backwards: NaN above all, 0.0 above -0.0, equals in the order given.
    is_minus_zero = (weight == 0) & np.signbit(weight)
    pool = pool[np.lexsort((is_minus_zero, -weight, ~np.isnan(weight), owner))]
    sources, starts = np.unique(load.bundle_broker[pool], return_index=True)
    unloads: list[Unload] = []
    for source, group in zip(sources.tolist(), np.split(pool, starts[1:]), strict=False):
        with np.errstate(all="ignore"):
            is_unmet = np.cumsum(throughput[group])[:-1] < offload[source]
        # Once the target is met it stays met: count up to the first False.
        count = 1 + (is_unmet.size if is_unmet.all() else int(np.argmin(is_unmet)))
        unloads += [Unload(load.brokers[source], load.bundles[i]) for i in group[:count].tolist()]
    return tuple(unloads)


def _pool_sizes(load: ClusterLoad) -> Ints:
    """Count each broker's bundles that may be shed."""
    sizes = np.bincount(load.bundle_broker[load.bundle_is_sheddable], minlength=len(load.brokers))
    return sizes.astype(np.int64)


def _throughput(load: ClusterLoad) -> Floats:
    """Add what each broker's newest report says it takes in and gives out, bytes/s."""
    return _sum(load.throughput_in, load.throughput_out)


def _sum(incoming: Floats, outgoing: Floats) -> Floats:
    """Add, where infinities may meet."""
    with np.errstate(all="ignore"):
        return incoming + outgoing
