"""Pulsar's OverloadShedder, its default shedder before 2.10."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab.pulsar.model import ClusterLoad, Decision, Floats
from trimtab.pulsar.scores import mean_in_order, unweighted_usage, weighted_usage
from trimtab.pulsar.settings import OverloadShedderSettings
from trimtab.pulsar.shed._relief import relief, throughput

# ADDITIONAL_THRESHOLD_PERCENT_MARGIN in the Java.
_MARGIN = 0.05


def overload_shedder(
    load: ClusterLoad, memory: None, settings: OverloadShedderSettings
) -> tuple[Decision, None]:
    """Shed the heaviest bundles of every broker at or above a fixed usage.

    What the other brokers do does not matter, and neither does the past.

    Args:
        load: what the brokers reported this round.
        memory: none; every round is the first.
        settings: weights and threshold.

    Returns:
        The decision.  `Decision.scores` is each broker's usage and `average` its mean,
        by which nothing goes here; `offload` is what each overloaded broker was to lose.

    Quirks:
        A broker exactly at the threshold is overloaded: the Java skips on `<`.
        The margin of 5 points is added: 5 % of the traffic go at the threshold exactly.
        Points of usage are taken for percent of traffic.
        There is no least throughput: an overloaded broker with two bundles loses at
        least one each round, be its traffic negligible, and be all brokers overloaded
        so that the bundle only goes back and forth.  Without any traffic at all it is
        exactly one.
        A cluster with one idle broker stays as it is while nobody reaches the threshold.
        Bundles go heaviest first until the target is met, and at least one goes; while
        it is not met, bundles without traffic go too.  Bundles of equal throughput go in
        the order of `load.bundles`; one of NaN throughput goes first, and goes alone.
        A single bundle stays (`SoleBundle`).  The test counts all bundles reported, so
        a broker with two, one of them Pulsar's own, may lose its only real one.
        Overloaded with nothing that may be shed a broker is `NoBundles`.
        A resource of NaN is passed over; with nothing but NaN usage is -inf, and the
        broker is not overloaded.

    Source:
        apache/pulsar 4.0.0, 4.0.8 and 5.0.0-M1, impl/OverloadShedder.java,
        findBundlesForUnloading; every decision checked against runs of the class.
    """
    return _shed(load, weighted_usage(load, settings.weights), settings.threshold), memory


def overload_shedder_2_10(
    load: ClusterLoad, memory: None, settings: OverloadShedderSettings
) -> tuple[Decision, None]:
    """Shed as later releases do, but by a usage in which every resource counts fully.

    Quirks:
        Weights are read by nobody here: direct memory alone can overload a broker, with
        a weight of 0 as with any other.  The heap counts in none of these releases.
        All of a usage is computed in 32 bits, the division by 100 too, so that a usage of
        exactly the threshold may be on either side of it: 85 of 100 is
        0.8500000238418579 and sheds at 85 %, 90 of 100 is 0.8999999761581421 and does
        not at 90 %.

    Source:
        apache/pulsar 2.10.4, 3.0.0, 3.0.7 and 3.3.5, impl/OverloadShedder.java,
        findBundlesForUnloading; every decision checked against runs of the class.
    """
    return _shed(load, unweighted_usage(load), settings.threshold), memory


def overload_shedder_rules(settings: OverloadShedderSettings) -> Iterator[str]:
    """Return what the class goes by."""
    yield f"sheds: who is at least at {settings.threshold:.4f}, whatever the others do"


def overload_shedder_bar(decision: Decision, settings: OverloadShedderSettings) -> float:
    """Return from which score on a broker sheds."""
    del decision
    return settings.threshold


def _shed(load: ClusterLoad, usage: Floats, threshold: float) -> Decision:
    """Relieve every broker at or above the threshold."""
    with np.errstate(all="ignore"):
        is_over = ~(usage < threshold)
        # Subtracted and added in the Java's order, since another rounds differently.
        offload = np.where(is_over, throughput(load) * (usage - threshold + _MARGIN), np.nan)
    is_enough = np.ones(usage.size, dtype=np.bool_)
    unloads, reasons = relief(load, is_over, is_enough, offload)
    return Decision(unloads, reasons, usage, mean_in_order(usage), offload)
