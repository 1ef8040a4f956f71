"""What each shedder and each placer goes by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from trimtab.pulsar.settings.reader import (
    Reader,
    by,
    flag,
    names,
    number,
    percent,
    settings_of,
    whole,
)
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights
from trimtab.pulsar.units import MEBIBYTE

# maxUnloadBundleNumPerShedding that stands for no limit.
_NO_LIMIT = -1


def _bundles_max(read: Reader) -> int | None:
    """Return the most bundles a round; of the negative limits -1 alone is none."""
    limit = int(read.number("maxUnloadBundleNumPerShedding", before=_NO_LIMIT))
    return None if limit == _NO_LIMIT else limit


def _weights_with_heap(read: Reader) -> ResourceWeights:
    heap = read.number("loadBalancerMemoryResourceWeight")
    return replace(resource_weights(read), memory=heap)


@dataclass(frozen=True, slots=True)
class ThresholdShedderSettings:
    """What ThresholdShedder goes by."""

    weights: ResourceWeights = by(resource_weights)
    #: A fraction in Pulsar too.
    history_share: float = number("loadBalancerHistoryResourcePercentage")
    #: Fraction.
    threshold: float = percent("loadBalancerBrokerThresholdShedderPercentage")
    #: Bytes/s.
    throughput_min: float = number("loadBalancerBundleUnloadMinThroughputThreshold", MEBIBYTE)
    is_lower_boundary_enabled: bool = flag("lowerBoundarySheddingEnabled", before=False)


@dataclass(frozen=True, slots=True)
class OverloadShedderSettings:
    """What OverloadShedder goes by."""

    #: Heeded from 4.0 on; before, every resource but the heap counted fully.
    weights: ResourceWeights = by(resource_weights)
    #: Fraction.
    threshold: float = percent("loadBalancerBrokerOverloadedThresholdPercentage")


@dataclass(frozen=True, slots=True)
class UniformLoadShedderSettings:
    """What UniformLoadShedder goes by.

    The 2.10 line has constants where later releases have keys, of the same values.
    """

    #: None is no limit.
    bundles_max: int | None = by(_bundles_max)
    #: In percent as the Java compares it; 0 or less is off.
    rate_difference_percent: float = number("loadBalancerMsgRateDifferenceShedderThreshold")
    #: Highest by lowest; 0 or less is off.
    throughput_ratio: float = number(
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
    )
    #: A fraction in Pulsar too: the share of the difference that moves.
    unload_share: float = number("maxUnloadPercentage", before=0.2)
    #: Messages/s.
    rate_min: float = number("minUnloadMessage", before=1000)
    #: Bytes/s.
    throughput_min: float = number("minUnloadMessageThroughput", before=MEBIBYTE)


@dataclass(frozen=True, slots=True)
class AvgShedderSettings:
    """What AvgShedder goes by, as shedder and as placer; scores and thresholds are percent."""

    weights: ResourceWeights = by(resource_weights)
    #: Points of percent.
    low_threshold_points: float = number("loadBalancerAvgShedderLowThreshold")
    high_threshold_points: float = number("loadBalancerAvgShedderHighThreshold")
    #: Rounds.
    low_hits: int = whole("loadBalancerAvgShedderHitCountLowThreshold")
    high_hits: int = whole("loadBalancerAvgShedderHitCountHighThreshold")
    #: A fraction in Pulsar too: the share of the difference that moves.
    unload_share: float = number("maxUnloadPercentage")
    #: Messages/s.
    rate_min: float = number("minUnloadMessage")
    #: Bytes/s.
    throughput_min: float = number("minUnloadMessageThroughput")
    #: Points of percent; heeded from 5.0.1 on, by the placer.
    overloaded_threshold_points: float = number("loadBalancerBrokerOverloadedThresholdPercentage")


@dataclass(frozen=True, slots=True)
class LeastResourceUsageWithWeightSettings:
    """What LeastResourceUsageWithWeight goes by."""

    weights: ResourceWeights = by(resource_weights)
    #: A fraction in Pulsar too.
    history_share: float = number("loadBalancerHistoryResourcePercentage")
    #: Fraction.
    difference_threshold: float = percent(
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    )


@dataclass(frozen=True, slots=True)
class LeastLongTermMessageRateSettings:
    """What LeastLongTermMessageRate goes by."""

    #: Heeded from 4.0 on; before, every resource but the heap counted fully.
    weights: ResourceWeights = by(resource_weights)
    #: Fraction.
    overloaded_threshold: float = percent("loadBalancerBrokerOverloadedThresholdPercentage")


@dataclass(frozen=True, slots=True)
class BrokerLoadSettings:
    """What a broker of the extensible load manager computes the load by that it publishes."""

    #: The heap counts here, in every release.
    weights: ResourceWeights = by(_weights_with_heap)
    #: A fraction in Pulsar too.
    history_share: float = number("loadBalancerHistoryResourcePercentage")


@dataclass(frozen=True, slots=True)
class TransferShedderSettings:
    """What TransferShedder goes by."""

    #: A fraction in Pulsar too.
    deviation_target: float = number("loadBalancerBrokerLoadTargetStd")
    #: Fraction.
    overloaded_threshold: float = percent("loadBalancerBrokerOverloadedThresholdPercentage")
    #: Rounds that are let pass.
    hits: int = whole("loadBalancerSheddingConditionHitCountThreshold")
    #: Brokers relieved in a round.
    brokers_max: int = whole("loadBalancerMaxNumberOfBrokerSheddingPerCycle")
    pause_s: int = whole("loadBalanceSheddingDelayInSeconds")
    load_data_age_s_max: int = whole("loadBalancerBrokerLoadDataTTLInSeconds")
    is_transferring: bool = flag("loadBalancerTransferEnabled")
    sheds_with_policies: bool = flag("loadBalancerSheddingBundlesWithPoliciesEnabled")
    is_debugging: bool = flag("loadBalancerDebugModeEnabled")
    #: None in releases that have no such key.
    excluded_namespaces: frozenset[str] = names("loadBalancerSheddingExcludedNamespaces")


@dataclass(frozen=True, slots=True)
class ExtensionsLeastResourceUsageWithWeightSettings:
    """What the extensible load manager's LeastResourceUsageWithWeight goes by."""

    #: Fraction.
    difference_threshold: float = percent(
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    )


threshold_shedder_settings = partial(settings_of, ThresholdShedderSettings)
overload_shedder_settings = partial(settings_of, OverloadShedderSettings)
uniform_load_shedder_settings = partial(settings_of, UniformLoadShedderSettings)
avg_shedder_settings = partial(settings_of, AvgShedderSettings)
least_resource_usage_with_weight_settings = partial(
    settings_of, LeastResourceUsageWithWeightSettings
)
least_long_term_message_rate_settings = partial(settings_of, LeastLongTermMessageRateSettings)
broker_load_settings = partial(settings_of, BrokerLoadSettings)
transfer_shedder_settings = partial(settings_of, TransferShedderSettings)
extensions_least_resource_usage_with_weight_settings = partial(
    settings_of, ExtensionsLeastResourceUsageWithWeightSettings
)
