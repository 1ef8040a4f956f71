"""Pulsar's LeastResourceUsageWithWeight, the placement strategy that reads usage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab.pulsar.model import (
    ClusterLoad,
    Floats,
    History,
    Ints,
    Placement,
    UnreportedCandidateError,
)
from trimtab.pulsar.scores import mean_in_order, remember_at, smoothed, weighted_usage
from trimtab.pulsar.settings import LeastResourceUsageWithWeightSettings


def least_resource_usage_with_weight(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    history: History,
    settings: LeastResourceUsageWithWeightSettings,
) -> tuple[Placement, History]:
    """Choose among the candidates whose usage is well below the candidates' average.

    Usage is smoothed, with a history of its own, so that a broker that has been idle for
    a moment is not flooded.

    Args:
        load: what the brokers reported.
        bundle: does not count.
        candidates: (n_candidates,) positions in `load.brokers`, in the order in which
            the leader walks its set; any other number is a candidate without a report.
        history: each broker's smoothed usage after the last call.
        settings: weights, share of history, difference from the average.

    Returns:
        The brokers to draw from, all equally likely however empty they are, and the
        history to pass to the next call.

    Raises:
        UnreportedCandidateError: a candidate has no report.  Its `memory` is the history
            as it is left: candidates before that one have been smoothed.

    Quirks:
        Every call smooths every candidate by one step, also several calls in a second on
        the same reports; without calls nothing moves.  So these scores differ from those
        of ThresholdShedder in the same second, though both smooth the same usage.
        Below average means `score + difference <= average`: equality passes, and two
        candidates must lie twice the difference apart.  If nobody is that far below the
        average the draw is among all candidates, the busiest included.  A single
        candidate is always such a fallback, for which the Java warns that all brokers
        are overloaded.
        The average is that of the candidates, not of the cluster.
        Usage went through 32 bits, so 10 %, 30 % and 80 % give the first alone, though
        0.3 + 0.1 <= 0.4: the 32-bit 0.3 is a little more than 0.3.
        A broker without bundles, or with no messages in and out, starts afresh from its
        usage, and its history with it.
        The overload threshold causes a warning and nothing else.
        A broker with nothing but NaN has usage -inf, makes the average -inf, and is then
        the only one not above it: it gets the bundle.
        No candidates: nothing to draw from, average 0, history unchanged.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/LeastResourceUsageWithWeight.java,
        selectBroker; every number checked against runs of the class.
    """
    del bundle
    is_unreported = (candidates < 0) | (candidates >= len(load.brokers))
    reported = candidates[: int(np.argmax(is_unreported))] if is_unreported.any() else candidates
    scores = _scores(load, history, settings)[reported]
    history = remember_at(history, load.brokers, reported, scores)
    if is_unreported.any():
        raise UnreportedCandidateError(reported.size, int(candidates[reported.size]), history)
    average = mean_in_order(scores)
    with np.errstate(all="ignore"):
        best = candidates[scores + settings.difference_threshold <= average]
    is_fallback = best.size == 0 and candidates.size > 0
    return Placement(candidates if is_fallback else best, scores, average, is_fallback), history


def least_resource_usage_with_weight_rules(
    settings: LeastResourceUsageWithWeightSettings,
) -> Iterator[str]:
    """Return what the class goes by."""
    yield f"gets a bundle: who is at least {settings.difference_threshold:.4f} below the average"


def least_resource_usage_with_weight_bar(
    placement: Placement, settings: LeastResourceUsageWithWeightSettings
) -> float:
    """Return down to which score a candidate passes."""
    return placement.average - settings.difference_threshold


def _scores(
    load: ClusterLoad, history: History, settings: LeastResourceUsageWithWeightSettings
) -> Floats:
    """Return every broker's usage, smoothed by one step, but for those that do nothing."""
    usage = weighted_usage(load, settings.weights)
    after = smoothed(history, load.brokers, usage, settings.history_share)
    is_silent = (load.rate_in == 0) & (load.rate_out == 0)
    return np.where((load.bundle_count == 0) | is_silent, usage, after)
