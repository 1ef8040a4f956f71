"""Pulsar's LeastLongTermMessageRate, its default placement strategy up to 4.x."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab.pulsar.model import ClusterLoad, Floats, Ints, Placement, UnreportedCandidateError
from trimtab.pulsar.scores import mean_in_order, unweighted_usage, weighted_usage
from trimtab.pulsar.settings import LeastLongTermMessageRateSettings


def least_long_term_message_rate(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    memory: None,
    settings: LeastLongTermMessageRateSettings,
) -> tuple[Placement, None]:
    """Choose the candidate with the fewest messages a second, unless it is overloaded.

    The score is the long-term average of what the broker's bundles carry, in and out, plus
    that of the bundles it has been given and does not report yet; an overloaded broker's
    is infinite.

    Args:
        load: what the brokers reported, their long-term rates, and the bundles on their way.
        bundle: does not count.
        candidates: positions in `load.brokers`, in the order of the leader's set.
        memory: none.
        settings: weights and overload threshold.

    Returns:
        The placement.  `Placement.best` are the candidates of the lowest score: one as a
        rule.  `is_fallback` says that there was no finite score.

    Raises:
        UnreportedCandidateError: a candidate is no broker of the load.
        ValueError: the load has no long-term rates.

    Quirks:
        Overloaded is above the threshold, not at it; usage went through 32 bits, yet
        85 % of the weighted usage is 0.85 and passes.
        The averages are over a thousand samples: a bundle's weight here follows its
        traffic over hours.
        Usage decides nothing else, so a weak broker gets as many messages as a strong one.
        If all candidates are overloaded all scores are infinite and equal, and the draw is
        among all.  Without traffic all are 0, and the draw is among all too.
        Bundles on their way count until the leader clears them away, which for other
        brokers than the leader itself is at its next look at the reports; what is chosen
        within one round of shedding does not count at all, so all of it goes to one broker.
        A candidate whose rates are NaN is never chosen, unless none has a number.

    Source:
        apache/pulsar 4.0.0 to 5.0.0-M1, impl/LeastLongTermMessageRate.java, getScore,
        selectBroker; every set checked against runs of the class.
    """
    del bundle
    return _chosen(load, candidates, weighted_usage(load, settings.weights), settings), memory


def least_long_term_message_rate_2_10(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    memory: None,
    settings: LeastLongTermMessageRateSettings,
) -> tuple[Placement, None]:
    """Choose the same from usage that is not weighed.

    Quirks:
        Weights count for nothing, and the heap is left out.
        The usage is a 32-bit float to the end, in which 85 % is 0.8500000238418579: a
        broker at the threshold of 85 % is overloaded.

    Source:
        apache/pulsar 2.10.4 to 3.3.5, impl/LeastLongTermMessageRate.java, getScore,
        selectBroker; every set checked against runs of the class.
    """
    del bundle
    return _chosen(load, candidates, unweighted_usage(load), settings), memory


def least_long_term_message_rate_rules(
    settings: LeastLongTermMessageRateSettings,
) -> Iterator[str]:
    """Return what the class goes by."""
    yield "gets a bundle: who has the fewest messages/s in the long term"
    yield f"a usage above {settings.overloaded_threshold:.4f} counts as endlessly many"


def _chosen(
    load: ClusterLoad,
    candidates: Ints,
    usage: Floats,
    settings: LeastLongTermMessageRateSettings,
) -> Placement:
    """Return the candidates of the lowest score."""
    is_unreported = (candidates < 0) | (candidates >= len(load.brokers))
    if is_unreported.any():
        index = int(np.argmax(is_unreported))
        raise UnreportedCandidateError(index, int(candidates[index]), None)
    is_overloaded = usage[candidates] > settings.overloaded_threshold
    scores = np.where(is_overloaded, np.inf, _rates(load)[candidates])
    # `<` and `==` alone, as in the Java: NaN is passed over.
    lowest = np.fmin.reduce(scores, initial=np.inf)
    best = candidates[scores == lowest]
    is_fallback = bool(lowest == np.inf and candidates.size and best.size in (0, candidates.size))
    best = candidates if is_fallback else best
    return Placement(best, scores, mean_in_order(scores), is_fallback)


def _rates(load: ClusterLoad) -> Floats:
    """Return each broker's messages/s, on it and on their way to it."""
    if load.long_rate_in is None or load.long_rate_out is None:
        raise ValueError("the load has no long-term rates: expected ClusterLoad.long_rate_in")
    coming = np.zeros(len(load.brokers))
    ahead = load.preallocations
    with np.errstate(all="ignore"):
        np.add.at(coming, ahead.broker, ahead.rate_in + ahead.rate_out)  # in their order
        return coming + (load.long_rate_in + load.long_rate_out)
