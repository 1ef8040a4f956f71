"""The extensible load manager's LeastResourceUsageWithWeight, which smooths nothing itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab.pulsar.model import ExtensibleLoad, Ints, Placement
from trimtab.pulsar.scores import mean_in_order
from trimtab.pulsar.settings import ExtensionsLeastResourceUsageWithWeightSettings


def extensions_least_resource_usage_with_weight(
    load: ExtensibleLoad,
    candidates: Ints,
    settings: ExtensionsLeastResourceUsageWithWeightSettings,
) -> Placement:
    """Choose among the candidates whose usage is well below the candidates' average.

    Pulsar has two classes called LeastResourceUsageWithWeight, in the packages `impl` and
    `extensions.strategy`; this is the latter.  It goes by usage as the brokers themselves
    have smoothed it, and remembers nothing.

    Args:
        load: what the brokers published.
        candidates: (n_candidates,) positions in `load.brokers`, in the order in which the
            leader walks its set.
        settings: difference from the average.

    Returns:
        The brokers to draw from, all equally likely however empty they are.  The score of
        a candidate without load data is NaN.

    Quirks:
        Below average means `usage + difference <= average`: equality passes, and two
        candidates must lie twice the difference apart.  If nobody is that far below the
        average the draw is among all candidates, the busiest included.
        The average is that of the candidates that have load data.
        A candidate without load data is never the best, yet one of those among whom is
        drawn if nobody is: a broker that just came gets bundles by chance alone.
        Usage changes when a broker publishes and not when bundles are placed, so that
        whatever is placed meanwhile is placed by the same numbers.
        Neither the age of load data nor the overload threshold counts.
        No candidates: nothing to draw from, average 0.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, extensions/strategy/
        LeastResourceUsageWithWeight.java, select; every selection checked against runs of
        the class.
    """
    is_known = load.has_load_data[candidates]
    scores = np.where(is_known, load.usage[candidates], np.nan)
    average = mean_in_order(scores[is_known])
    with np.errstate(all="ignore"):
        best = candidates[is_known & (scores + settings.difference_threshold <= average)]
    is_fallback = best.size == 0 and candidates.size > 0
    return Placement(candidates if is_fallback else best, scores, average, is_fallback)


def extensions_least_resource_usage_with_weight_rules(
    settings: ExtensionsLeastResourceUsageWithWeightSettings,
) -> Iterator[str]:
    """Return what the class goes by."""
    yield f"gets a bundle: who is at least {settings.difference_threshold:.4f} below the average"


def extensions_least_resource_usage_with_weight_bar(
    placement: Placement, settings: ExtensionsLeastResourceUsageWithWeightSettings
) -> float:
    """Return down to which score a candidate passes."""
    return placement.average - settings.difference_threshold
