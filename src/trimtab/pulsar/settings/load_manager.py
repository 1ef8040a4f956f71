"""What the load manager around the strategies goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from trimtab.pulsar.releases import release_order
from trimtab.pulsar.settings.reader import (
    Reader,
    SettingError,
    by,
    flag,
    number,
    percent,
    settings_of,
)
from trimtab.pulsar.units import MINUTE_S

#: After which something is done again.
_INTERVALS = (
    "loadBalancerSheddingIntervalMinutes",
    "loadBalancerReportUpdateMinIntervalMillis",
    "loadBalancerReportUpdateMaxIntervalMinutes",
    "loadBalancerResourceQuotaUpdateIntervalMinutes",
)

#: Package of the strategies that are named by their simple name here.
_IMPL = "org.apache.pulsar.broker.loadbalance.impl."


def _bundles_stored_max(read: Reader) -> int | None:
    """Return how many bundles' averages are stored; the limit came with 4.0."""
    if release_order(read.release) < (4, 0):
        return None
    limit = int(read.number("loadBalancerMaxNumberOfBundlesInBundleLoadReport"))
    return limit if limit > 0 else None


def _strategy(name: str, before: str | None = None) -> str:
    """Return a field with the simple name of one of Pulsar's own strategies, or a class name."""

    def read_name(read: Reader) -> str:
        class_name = read.text(name, before)
        short = class_name.removeprefix(_IMPL)
        return class_name if "." in short else short

    return by(read_name)


@dataclass(frozen=True, slots=True)
class LoadManagerSettings:
    """What the load manager around the strategies goes by."""

    is_enabled: bool = flag("loadBalancerEnabled")
    is_shedding_enabled: bool = flag("loadBalancerSheddingEnabled")
    shedding_interval_s: float = number("loadBalancerSheddingIntervalMinutes", MINUTE_S)
    grace_period_s: float = number("loadBalancerSheddingGracePeriodMinutes", MINUTE_S)
    #: Before 2.11 bundles were always distributed evenly.
    distributes_evenly: bool = flag("loadBalancerDistributeBundlesEvenlyEnabled", before=True)
    #: Fraction.
    overloaded_threshold: float = percent("loadBalancerBrokerOverloadedThresholdPercentage")
    #: Fraction: relative for rates, points for usage.
    report_threshold: float = percent("loadBalancerReportUpdateThresholdPercentage")
    report_interval_s_min: float = by(
        lambda read: read.number("loadBalancerReportUpdateMinIntervalMillis") / 1000.0
    )
    report_interval_s_max: float = number("loadBalancerReportUpdateMaxIntervalMinutes", MINUTE_S)
    stats_interval_s: float = number("statsUpdateFrequencyInSecs")
    averages_interval_s: float = number("loadBalancerResourceQuotaUpdateIntervalMinutes", MINUTE_S)
    #: A broker; None keeps all averages.
    bundles_stored_max: int | None = by(_bundles_stored_max)
    #: The simple name for Pulsar's own of the modular load manager, the whole class name for any
    #: other.
    shedding_strategy: str = _strategy("loadBalancerLoadSheddingStrategy")
    #: Named likewise; before 2.11 it was always the same.
    placement_strategy: str = _strategy(
        "loadBalancerLoadPlacementStrategy", before="LeastLongTermMessageRate"
    )


load_manager_settings = partial(settings_of, LoadManagerSettings)


def check_intervals(conf: Mapping[str, str], release: str) -> None:
    """Refuse intervals that would not let time pass, for whoever lets a cluster live by them.

    Raises:
        SettingError: one of them is not above 0.
    """
    read = Reader(conf, release)
    for name in _INTERVALS:
        if (interval := read.number(name)) <= 0:
            raise SettingError(name, f"{interval:g}", "more than 0")
