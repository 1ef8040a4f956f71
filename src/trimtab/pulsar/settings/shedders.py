"""What each shedder goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.pulsar.model import MEBIBYTE
from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights

# maxUnloadBundleNumPerShedding that stands for no limit.
_NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class ThresholdShedderSettings:
    """What ThresholdShedder goes by."""

    weights: ResourceWeights
    #: loadBalancerHistoryResourcePercentage, a fraction in Pulsar too.
    history_share: float
    #: loadBalancerBrokerThresholdShedderPercentage, as a fraction.
    threshold: float
    #: loadBalancerBundleUnloadMinThroughputThreshold, bytes/s.
    throughput_min: float
    #: lowerBoundarySheddingEnabled.
    is_lower_boundary_enabled: bool


@dataclass(frozen=True, slots=True)
class OverloadShedderSettings:
    """What OverloadShedder goes by."""

    #: Heeded from 4.0 on; before, every resource but the heap counted fully.
    weights: ResourceWeights
    #: loadBalancerBrokerOverloadedThresholdPercentage, as a fraction.
    threshold: float


@dataclass(frozen=True, slots=True)
class UniformLoadShedderSettings:
    """What UniformLoadShedder goes by."""

    #: loadBalancerMsgRateDifferenceShedderThreshold, in percent as the Java compares it;
    #: 0 or less is off.
    rate_difference_percent: float
    #: loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold, highest by lowest;
    #: 0 or less is off.
    throughput_ratio: float
    #: maxUnloadPercentage, a fraction in Pulsar too: the share of the difference that moves.
    unload_share: float
    #: minUnloadMessage, messages/s.
    rate_min: float
    #: minUnloadMessageThroughput, bytes/s.
    throughput_min: float
    #: maxUnloadBundleNumPerShedding; None is no limit.
    bundles_max: int | None


@dataclass(frozen=True, slots=True)
class AvgShedderSettings:
    """What AvgShedder goes by; its scores are percent, and so are its thresholds."""

    weights: ResourceWeights
    #: loadBalancerAvgShedderLowThreshold, points of percent.
    low_threshold_points: float
    #: loadBalancerAvgShedderHighThreshold, points of percent.
    high_threshold_points: float
    #: loadBalancerAvgShedderHitCountLowThreshold, rounds.
    low_hits: int
    #: loadBalancerAvgShedderHitCountHighThreshold, rounds.
    high_hits: int
    #: maxUnloadPercentage, a fraction in Pulsar too: the share of the difference that moves.
    unload_share: float
    #: minUnloadMessage, messages/s.
    rate_min: float
    #: minUnloadMessageThroughput, bytes/s.
    throughput_min: float
    #: loadBalancerBrokerOverloadedThresholdPercentage, points of percent; heeded from 5.0.1
    #: on, by the placer.
    overloaded_threshold_points: float


def threshold_shedder_settings(conf: Mapping[str, str], release: str) -> ThresholdShedderSettings:
    """Return what ThresholdShedder goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return ThresholdShedderSettings(
        weights=resource_weights(read),
        history_share=read.number("loadBalancerHistoryResourcePercentage"),
        threshold=read.percent("loadBalancerBrokerThresholdShedderPercentage"),
        throughput_min=read.number("loadBalancerBundleUnloadMinThroughputThreshold") * MEBIBYTE,
        is_lower_boundary_enabled=read.flag("lowerBoundarySheddingEnabled", before=False),
    )


def overload_shedder_settings(conf: Mapping[str, str], release: str) -> OverloadShedderSettings:
    """Return what OverloadShedder goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return OverloadShedderSettings(
        weights=resource_weights(read),
        threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
    )


def uniform_load_shedder_settings(
    conf: Mapping[str, str], release: str
) -> UniformLoadShedderSettings:
    """Return what UniformLoadShedder goes by.

    Quirks:
        The 2.10 line has constants where later releases have keys, of the same values.
        Of the negative limits -1 alone is none: any other lets no bundle go.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    limit = int(read.number("maxUnloadBundleNumPerShedding", before=_NO_LIMIT))
    return UniformLoadShedderSettings(
        rate_difference_percent=read.number("loadBalancerMsgRateDifferenceShedderThreshold"),
        throughput_ratio=read.number(
            "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
        ),
        unload_share=read.number("maxUnloadPercentage", before=0.2),
        rate_min=read.number("minUnloadMessage", before=1000),
        throughput_min=read.number("minUnloadMessageThroughput", before=MEBIBYTE),
        bundles_max=None if limit == _NO_LIMIT else limit,
    )


def avg_shedder_settings(conf: Mapping[str, str], release: str) -> AvgShedderSettings:
    """Return what AvgShedder goes by, as shedder and as placer.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return AvgShedderSettings(
        weights=resource_weights(read),
        low_threshold_points=read.number("loadBalancerAvgShedderLowThreshold"),
        high_threshold_points=read.number("loadBalancerAvgShedderHighThreshold"),
        low_hits=int(read.number("loadBalancerAvgShedderHitCountLowThreshold")),
        high_hits=int(read.number("loadBalancerAvgShedderHitCountHighThreshold")),
        unload_share=read.number("maxUnloadPercentage"),
        rate_min=read.number("minUnloadMessage"),
        throughput_min=read.number("minUnloadMessageThroughput"),
        overloaded_threshold_points=read.number("loadBalancerBrokerOverloadedThresholdPercentage"),
    )
