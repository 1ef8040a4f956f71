"""Pulsar's ThresholdShedder, its default shedder from 2.10 to 4.x."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, ClusterLoad, Decision, Floats, History, Reason
from trimtab.pulsar.scores import mean_in_order, remember, smoothed, weighted_usage
from trimtab.pulsar.settings import ThresholdShedderSettings
from trimtab.pulsar.shed._relief import relief, throughput

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
        Brokers that left stay in the history until they are forgotten; in 2.10 nobody
        tells the class, and they stay for ever.
        In 2.10 there is no lower boundary, and the heap counts as a resource.

    Source:
        apache/pulsar 2.10.4, 3.0.0, 3.0.7, 3.3.5, 4.0.0, 4.0.8 and 5.0.0-M1,
        impl/ThresholdShedder.java,
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


def threshold_shedder_remembering(
    settings: ThresholdShedderSettings,
) -> Callable[[ClusterLoad, History], History] | None:
    """Return what makes the history after a round of brokers' usage alone.

    None with a lower boundary: whether usage is smoothed twice hangs on whether bundles go.
    """
    if settings.is_lower_boundary_enabled:
        return None
    return lambda load, history: _advanced(load, history, settings)[0]


def threshold_shedder_rules(settings: ThresholdShedderSettings) -> Iterator[str]:
    """Return what the class goes by."""
    yield f"sheds: who is at least {settings.threshold:.4f} above the average"
    least = f"{settings.throughput_min / MEBIBYTE:.2f} MiB/s"
    yield f"{least} to lose are worth a move, less is not"
    if settings.is_lower_boundary_enabled:
        yield f"if nobody does: the busiest, for one more than {settings.threshold:.4f} below"


def threshold_shedder_bar(decision: Decision, settings: ThresholdShedderSettings) -> float:
    """Return from which score on a broker sheds; an average of 0 ends the round."""
    return decision.average + settings.threshold if decision.average else math.inf


def _advanced(
    load: ClusterLoad, history: History, settings: ThresholdShedderSettings
) -> tuple[History, Floats]:
    """Return every broker's usage smoothed by one step."""
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
        offload = np.where(is_over, throughput(load) * excess, np.nan)
        is_enough = ~(offload < settings.throughput_min)
    unloads, reasons = relief(load, is_over, is_enough, offload)
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
    busiest = np.argmax(np.where(is_eligible, scores, -np.inf))  # the first of equals
    is_source = np.arange(scores.size) == busiest
    with np.errstate(all="ignore"):
        offload_target = throughput(load) * settings.threshold * _LOWER_MARGIN
        is_enough = ~(settings.throughput_min > offload_target)
    unloads, relief_reasons = relief(load, is_source, is_enough, offload_target)
    offload = np.where(is_source, offload_target, refused.offload)
    reasons = [
        after if source else before
        for source, after, before in zip(is_source.tolist(), relief_reasons, reasons, strict=True)
    ]
    return Decision(unloads, tuple(reasons), scores, average, offload)
