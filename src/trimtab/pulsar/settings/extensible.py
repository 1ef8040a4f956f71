"""What the strategies of the extensible load manager go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights


@dataclass(frozen=True, slots=True)
class BrokerLoadSettings:
    """What a broker goes by when it computes the load that it publishes."""

    #: The heap counts here, in every release.
    weights: ResourceWeights
    #: loadBalancerHistoryResourcePercentage, a fraction in Pulsar too.
    history_share: float


@dataclass(frozen=True, slots=True)
class TransferShedderSettings:
    """What TransferShedder goes by."""

    #: loadBalancerBrokerLoadTargetStd, a fraction in Pulsar too.
    deviation_target: float
    #: loadBalancerBrokerOverloadedThresholdPercentage, as a fraction.
    overloaded_threshold: float
    #: loadBalancerSheddingConditionHitCountThreshold, rounds that are let pass.
    hits: int
    #: loadBalancerMaxNumberOfBrokerSheddingPerCycle, brokers relieved in a round.
    brokers_max: int
    #: loadBalanceSheddingDelayInSeconds.
    pause_s: int
    #: loadBalancerBrokerLoadDataTTLInSeconds.
    load_data_age_s_max: int
    #: loadBalancerTransferEnabled.
    is_transferring: bool
    #: loadBalancerSheddingBundlesWithPoliciesEnabled.
    sheds_with_policies: bool
    #: loadBalancerDebugModeEnabled.
    is_debugging: bool
    #: loadBalancerSheddingExcludedNamespaces; none in releases that have no such key.
    excluded_namespaces: frozenset[str]


@dataclass(frozen=True, slots=True)
class ExtensionsLeastResourceUsageWithWeightSettings:
    """What the extensible load manager's LeastResourceUsageWithWeight goes by."""

    #: loadBalancerAverageResourceUsageDifferenceThresholdPercentage, as a fraction.
    difference_threshold: float


def broker_load_settings(conf: Mapping[str, str], release: str) -> BrokerLoadSettings:
    """Return what a broker's published load goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    heap = read.number("loadBalancerMemoryResourceWeight")
    return BrokerLoadSettings(
        weights=replace(resource_weights(read), memory=heap),
        history_share=read.number("loadBalancerHistoryResourcePercentage"),
    )


def transfer_shedder_settings(conf: Mapping[str, str], release: str) -> TransferShedderSettings:
    """Return what TransferShedder goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    excluded = read.text("loadBalancerSheddingExcludedNamespaces", before="")
    return TransferShedderSettings(
        deviation_target=read.number("loadBalancerBrokerLoadTargetStd"),
        overloaded_threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
        hits=int(read.number("loadBalancerSheddingConditionHitCountThreshold")),
        brokers_max=int(read.number("loadBalancerMaxNumberOfBrokerSheddingPerCycle")),
        pause_s=int(read.number("loadBalanceSheddingDelayInSeconds")),
        load_data_age_s_max=int(read.number("loadBalancerBrokerLoadDataTTLInSeconds")),
        is_transferring=read.flag("loadBalancerTransferEnabled"),
        sheds_with_policies=read.flag("loadBalancerSheddingBundlesWithPoliciesEnabled"),
        is_debugging=read.flag("loadBalancerDebugModeEnabled"),
        excluded_namespaces=frozenset(filter(None, map(str.strip, excluded.split(",")))),
    )


def extensions_least_resource_usage_with_weight_settings(
    conf: Mapping[str, str], release: str
) -> ExtensionsLeastResourceUsageWithWeightSettings:
    """Return what the extensible load manager's LeastResourceUsageWithWeight goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return ExtensionsLeastResourceUsageWithWeightSettings(
        difference_threshold=read.percent(
            "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
        ),
    )
