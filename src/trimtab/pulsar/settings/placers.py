"""What each placer goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights


@dataclass(frozen=True, slots=True)
class LeastResourceUsageWithWeightSettings:
    """What LeastResourceUsageWithWeight goes by."""

    weights: ResourceWeights
    #: loadBalancerHistoryResourcePercentage, a fraction in Pulsar too.
    history_share: float
    #: loadBalancerAverageResourceUsageDifferenceThresholdPercentage, as a fraction.
    difference_threshold: float


@dataclass(frozen=True, slots=True)
class LeastLongTermMessageRateSettings:
    """What LeastLongTermMessageRate goes by."""

    #: Heeded from 4.0 on; before, every resource but the heap counted fully.
    weights: ResourceWeights
    #: loadBalancerBrokerOverloadedThresholdPercentage, as a fraction.
    overloaded_threshold: float


def least_resource_usage_with_weight_settings(
    conf: Mapping[str, str], release: str
) -> LeastResourceUsageWithWeightSettings:
    """Return what LeastResourceUsageWithWeight goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return LeastResourceUsageWithWeightSettings(
        weights=resource_weights(read),
        history_share=read.number("loadBalancerHistoryResourcePercentage"),
        difference_threshold=read.percent(
            "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
        ),
    )


def least_long_term_message_rate_settings(
    conf: Mapping[str, str], release: str
) -> LeastLongTermMessageRateSettings:
    """Return what LeastLongTermMessageRate goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return LeastLongTermMessageRateSettings(
        weights=resource_weights(read),
        overloaded_threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
    )


def round_robin_broker_selector_settings(conf: Mapping[str, str], release: str) -> None:
    """Read nothing: RoundRobinBrokerSelector has no settings."""
    del conf, release
