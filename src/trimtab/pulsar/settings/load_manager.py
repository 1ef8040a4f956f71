"""What the load manager around the strategies goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.pulsar.model import MINUTE_S
from trimtab.pulsar.releases import release_order
from trimtab.pulsar.settings.reader import Reader, SettingError

#: After which something is done again.
_INTERVALS = (
    "loadBalancerSheddingIntervalMinutes",
    "loadBalancerReportUpdateMinIntervalMillis",
    "loadBalancerReportUpdateMaxIntervalMinutes",
    "loadBalancerResourceQuotaUpdateIntervalMinutes",
)

#: Package of the strategies that are named by their simple name here.
_IMPL = "org.apache.pulsar.broker.loadbalance.impl."


@dataclass(frozen=True, slots=True)
class LoadManagerSettings:
    """What the load manager around the strategies goes by."""

    #: loadBalancerEnabled.
    is_enabled: bool
    #: loadBalancerSheddingEnabled.
    is_shedding_enabled: bool
    #: loadBalancerSheddingIntervalMinutes, seconds.
    shedding_interval_s: float
    #: loadBalancerSheddingGracePeriodMinutes, seconds.
    grace_period_s: float
    #: loadBalancerDistributeBundlesEvenlyEnabled.
    distributes_evenly: bool
    #: loadBalancerBrokerOverloadedThresholdPercentage, as a fraction.
    overloaded_threshold: float
    #: loadBalancerReportUpdateThresholdPercentage, as a fraction: relative for rates,
    #: points for usage.
    report_threshold: float
    #: loadBalancerReportUpdateMinIntervalMillis, seconds.
    report_interval_s_min: float
    #: loadBalancerReportUpdateMaxIntervalMinutes, seconds.
    report_interval_s_max: float
    #: statsUpdateFrequencyInSecs.
    stats_interval_s: float
    #: loadBalancerResourceQuotaUpdateIntervalMinutes, seconds.
    averages_interval_s: float
    #: loadBalancerMaxNumberOfBundlesInBundleLoadReport, a broker; None keeps all averages.
    bundles_stored_max: int | None
    #: loadBalancerLoadSheddingStrategy: the simple name for Pulsar's own of the modular
    #: load manager, the whole class name for any other.
    shedding_strategy: str
    #: loadBalancerLoadPlacementStrategy, named likewise.
    placement_strategy: str


def load_manager_settings(conf: Mapping[str, str], release: str) -> LoadManagerSettings:
    """Return what the load manager goes by.

    Quirks:
        Before 2.11 bundles were always distributed evenly and placement was always
        LeastLongTermMessageRate; before 4.0 the averages of all bundles were stored.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    return LoadManagerSettings(
        is_enabled=read.flag("loadBalancerEnabled"),
        is_shedding_enabled=read.flag("loadBalancerSheddingEnabled"),
        shedding_interval_s=read.number("loadBalancerSheddingIntervalMinutes") * MINUTE_S,
        grace_period_s=read.number("loadBalancerSheddingGracePeriodMinutes") * MINUTE_S,
        distributes_evenly=read.flag("loadBalancerDistributeBundlesEvenlyEnabled", before=True),
        overloaded_threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
        report_threshold=read.percent("loadBalancerReportUpdateThresholdPercentage"),
        report_interval_s_min=read.number("loadBalancerReportUpdateMinIntervalMillis") / 1000.0,
        report_interval_s_max=read.number("loadBalancerReportUpdateMaxIntervalMinutes") * MINUTE_S,
        stats_interval_s=read.number("statsUpdateFrequencyInSecs"),
        averages_interval_s=read.number("loadBalancerResourceQuotaUpdateIntervalMinutes")
        * MINUTE_S,
        bundles_stored_max=_bundles_stored_max(read),
        shedding_strategy=_strategy(read.text("loadBalancerLoadSheddingStrategy")),
        placement_strategy=_strategy(
            read.text("loadBalancerLoadPlacementStrategy", before="LeastLongTermMessageRate")
        ),
    )


def check_intervals(conf: Mapping[str, str], release: str) -> None:
    """Refuse intervals that would not let time pass, for whoever lets a cluster live by them.

    Raises:
        SettingError: one of them is not above 0.
    """
    read = Reader(conf, release)
    for name in _INTERVALS:
        if (interval := read.number(name)) <= 0:
            raise SettingError(name, f"{interval:g}", "more than 0")


def _bundles_stored_max(read: Reader) -> int | None:
    """Return how many bundles' averages are stored; the limit came with 4.0."""
    if release_order(read.release) < (4, 0):
        return None
    limit = int(read.number("loadBalancerMaxNumberOfBundlesInBundleLoadReport"))
    return limit if limit > 0 else None


def _strategy(class_name: str) -> str:
    """Return the simple name of the class of one of Pulsar's own strategies."""
    short = class_name.removeprefix(_IMPL)
    return class_name if "." in short else short
