"""From keys of broker.conf to the settings of each strategy, in seconds, bytes and fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from trimtab.keys import KEYS, Kind, Value
from trimtab.releases import release_line, release_order

_MEBIBYTE = 1048576.0
_MINUTE_S = 60.0
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BITS = {Kind.INT: 32, Kind.LONG: 64}

#: Package of the strategies that are named by their simple name here.
_IMPL = "org.apache.pulsar.broker.loadbalance.impl."

# Of the other keys of a 4.0.8 broker none resembles a load-balancing key by more than 0.80
# (exposeManagedLedgerMetricsInPrometheus); a slip of one or two letters stays above 0.9.
_RESEMBLANCE_MIN = 0.9

# A key that begins like a load-balancing key is told anyway; below this no guess is made.
_GUESS_MIN = 0.8


class SettingError(ValueError):
    """A key's value cannot be read; says which key, what was found, what was expected."""

    def __init__(self, key: str, found: str, expected: str) -> None:
        """Say what is wrong with the value."""
        super().__init__(f"{key}: found {found!r}, expected {expected}")
        self.key, self.found, self.expected = key, found, expected


@dataclass(frozen=True, slots=True)
class ResourceWeights:
    """How much each resource counts in a broker's usage; None leaves it out altogether."""

    #: loadBalancerCPUResourceWeight.
    cpu: float
    #: loadBalancerMemoryResourceWeight, in the 2.10 line alone.
    memory: float | None
    #: loadBalancerDirectMemoryResourceWeight.
    direct_memory: float
    #: loadBalancerBandwidthInResourceWeight, or its old spelling.
    bandwidth_in: float
    #: loadBalancerBandwidthOutResourceWeight, or its old spelling.
    bandwidth_out: float

    def by_resource(self) -> tuple[float | None, ...]:
        """Give the weights in the order of `model.RESOURCES`."""
        return self.cpu, self.memory, self.direct_memory, self.bandwidth_in, self.bandwidth_out


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
class LeastResourceUsageWithWeightSettings:
    """What LeastResourceUsageWithWeight goes by."""

    weights: ResourceWeights
    #: loadBalancerHistoryResourcePercentage, a fraction in Pulsar too.
    history_share: float
    #: loadBalancerAverageResourceUsageDifferenceThresholdPercentage, as a fraction.
    difference_threshold: float


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


def setting(conf: Mapping[str, str], name: str, release: str) -> Value | None:
    """Read one key, or its default in that release; None if the release has no such key.

    A blank value counts as not set, as in Pulsar.

    Args:
        conf: key → text, as in broker.conf.
        name: a key of KEYS.
        release: a Pulsar release or a release line.

    Raises:
        SettingError: the text is not what the key takes.
    """
    key = KEYS[name]
    default = key.default(release)
    text = conf.get(name, "").strip()
    if default is None or not text:
        return default
    return _parsed(name, key.kind, text)


def threshold_shedder_settings(conf: Mapping[str, str], release: str) -> ThresholdShedderSettings:
    """Read what ThresholdShedder goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = _Reader(conf, release)
    return ThresholdShedderSettings(
        weights=_weights(read),
        history_share=read.number("loadBalancerHistoryResourcePercentage"),
        threshold=read.percent("loadBalancerBrokerThresholdShedderPercentage"),
        throughput_min=read.number("loadBalancerBundleUnloadMinThroughputThreshold") * _MEBIBYTE,
        is_lower_boundary_enabled=read.flag("lowerBoundarySheddingEnabled", before=False),
    )


def least_resource_usage_with_weight_settings(
    conf: Mapping[str, str], release: str
) -> LeastResourceUsageWithWeightSettings:
    """Read what LeastResourceUsageWithWeight goes by.

    Raises:
        SettingError: a value cannot be read.
    """
    read = _Reader(conf, release)
    return LeastResourceUsageWithWeightSettings(
        weights=_weights(read),
        history_share=read.number("loadBalancerHistoryResourcePercentage"),
        difference_threshold=read.percent(
            "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
        ),
    )


def load_manager_settings(conf: Mapping[str, str], release: str) -> LoadManagerSettings:
    """Read what the load manager goes by.

    Quirks:
        Before 2.11 bundles were always distributed evenly and placement was always
        LeastLongTermMessageRate; before 4.0 the averages of all bundles were stored.

    Raises:
        SettingError: a value cannot be read.
    """
    read = _Reader(conf, release)
    return LoadManagerSettings(
        is_enabled=read.flag("loadBalancerEnabled"),
        is_shedding_enabled=read.flag("loadBalancerSheddingEnabled"),
        shedding_interval_s=read.number("loadBalancerSheddingIntervalMinutes") * _MINUTE_S,
        grace_period_s=read.number("loadBalancerSheddingGracePeriodMinutes") * _MINUTE_S,
        distributes_evenly=read.flag("loadBalancerDistributeBundlesEvenlyEnabled", before=True),
        overloaded_threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
        report_threshold=read.percent("loadBalancerReportUpdateThresholdPercentage"),
        report_interval_s_min=read.number("loadBalancerReportUpdateMinIntervalMillis") / 1000.0,
        report_interval_s_max=read.number("loadBalancerReportUpdateMaxIntervalMinutes") * _MINUTE_S,
        stats_interval_s=read.number("statsUpdateFrequencyInSecs"),
        averages_interval_s=read.number("loadBalancerResourceQuotaUpdateIntervalMinutes")
        * _MINUTE_S,
        bundles_stored_max=_bundles_stored_max(read),
        shedding_strategy=_strategy(read.text("loadBalancerLoadSheddingStrategy")),
        placement_strategy=_strategy(
            read.text("loadBalancerLoadPlacementStrategy", before="LeastLongTermMessageRate")
        ),
    )


def unknown_keys(conf: Mapping[str, str]) -> tuple[tuple[str, str | None], ...]:
    """Find keys that are meant for the load balancer and that no release knows.

    A key counts as meant for it if it begins like one (`loadBalance`) or is close to one;
    the other hundreds of keys of a broker.conf are passed over.

    Returns:
        Unknown key and the known one that it resembles most, if any, in the order of `conf`.
    """
    found: list[tuple[str, str | None]] = []
    for name in conf:
        if name in KEYS:
            continue
        close = get_close_matches(name, KEYS, n=1, cutoff=_RESEMBLANCE_MIN)
        if close:
            found.append((name, close[0]))
        elif name.lower().startswith("loadbalance"):
            nearest = get_close_matches(name, KEYS, n=1, cutoff=_GUESS_MIN)
            found.append((name, nearest[0] if nearest else None))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads keys of one broker.conf as the types that the settings have."""

    conf: Mapping[str, str]
    release: str

    def number(self, name: str) -> float:
        return float(self._value(name))

    def percent(self, name: str) -> float:
        # As the Java converts; multiplying by 0.01 would round differently.
        return int(self._value(name)) / 100.0

    def flag(self, name: str, before: bool | None = None) -> bool:
        return bool(self._value(name, before))

    def text(self, name: str, before: str | None = None) -> str:
        return str(self._value(name, before))

    def _value(self, name: str, before: Value | None = None) -> Value:
        """Read a key; `before` is what releases did that did not have it yet."""
        value = setting(self.conf, name, self.release)
        if value is None:
            value = before
        if value is None:
            raise SettingError(name, self.release, "a release that has this key")
        return value


def _parsed(name: str, kind: Kind, text: str) -> Value:
    """Turn a value's text into what its kind says."""
    if kind is Kind.BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in _BITS and _WHOLE.fullmatch(text):
        value = int(text)
        if -(2 ** (_BITS[kind] - 1)) <= value < 2 ** (_BITS[kind] - 1):
            return value
    if kind in (Kind.FLOAT, Kind.OPTIONAL_FLOAT) and _NUMBER.fullmatch(text):
        return float(text)
    if kind in (Kind.TEXT, Kind.CLASS, Kind.LIST):
        return text
    raise SettingError(name, text, kind.value)


def _weights(read: _Reader) -> ResourceWeights:
    """Read the weights; the heap counted in the 2.10 line alone."""
    is_heap_counted = release_line(read.release) == "2.10"
    return ResourceWeights(
        cpu=read.number("loadBalancerCPUResourceWeight"),
        memory=read.number("loadBalancerMemoryResourceWeight") if is_heap_counted else None,
        direct_memory=read.number("loadBalancerDirectMemoryResourceWeight"),
        bandwidth_in=_bandwidth_weight(read, "In"),
        bandwidth_out=_bandwidth_weight(read, "Out"),
    )


def _bandwidth_weight(read: _Reader, direction: str) -> float:
    """Read a weight that has two spellings: the new one wins, unless it is 1.0.

    Since 1.0 counts as not set, a new 1.0 cannot overrule an old value.  Releases
    before 4.0 know the old spelling alone.
    """
    new = setting(read.conf, f"loadBalancerBandwidth{direction}ResourceWeight", read.release)
    if new is not None and new != 1.0:
        return float(new)
    return read.number(f"loadBalancerBandwith{direction}ResourceWeight")


def _bundles_stored_max(read: _Reader) -> int | None:
    """Read how many bundles' averages are stored; the limit came with 4.0."""
    if release_order(read.release) < (4, 0):
        return None
    limit = int(read.number("loadBalancerMaxNumberOfBundlesInBundleLoadReport"))
    return limit if limit > 0 else None


def _strategy(class_name: str) -> str:
    """Shorten the class name of one of Pulsar's own strategies to its simple name."""
    short = class_name.removeprefix(_IMPL)
    return class_name if "." in short else short
