"""Every key of broker.conf that the load balancer reads: type, unit, meaning, defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from trimtab.pulsar.releases import release_order

Value: TypeAlias = bool | int | float | str


class Kind(StrEnum):
    """What a key's text must be."""

    BOOL = "true or false"
    INT = "a whole number of 32 bits"
    LONG = "a whole number of 64 bits"
    FLOAT = "a number"
    OPTIONAL_FLOAT = "a number, or nothing"
    TEXT = "text"
    CLASS = "a Java class name"
    LIST = "a comma-separated list"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of broker.conf."""

    #: The key, as written in broker.conf.
    name: str
    #: What its text must be.
    kind: Kind
    #: Release from which on → default, oldest first; no key before the first.  Releases
    #: are those in which the default was first seen, where Pulsar's notes name none.
    defaults: Mapping[str, Value]
    #: What it decides, in half a sentence.
    meaning: str
    #: Unit in broker.conf; empty where there is none.
    unit: str = ""
    #: Can be changed without a restart.
    is_dynamic: bool = False
    #: The same key in its other spelling.
    twin: str = ""

    def default(self, release: str) -> Value | None:
        """Return the default in a release or release line; None if it has no such key."""
        wanted = release_order(release)
        default: Value | None = None
        for since, value in self.defaults.items():
            if release_order(since) <= wanted:
                default = value
        return default


def _always(value: Value) -> Mapping[str, Value]:
    """Return the same default for every release known."""
    return {"2.10.0": value}


_IMPL = "org.apache.pulsar.broker.loadbalance.impl"
_EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions"
_SPLITS = "range_equally_divide,topic_count_equally_divide,specified_positions_divide"
_SPLITS_FROM_3 = f"{_SPLITS},flow_or_qps_equally_divide"

# Kept by hand, a key to two or three lines: laid out by the formatter it would be a page
# an inch wide and seven long.
# fmt: off
_TABLE = (
    # What runs at all, and how often.
    Key("loadBalancerEnabled", Kind.BOOL, _always(True),
        "whether brokers report their load and the leader sheds"),
    Key("loadManagerClassName", Kind.CLASS, _always(f"{_IMPL}.ModularLoadManagerImpl"),
        "the load manager; brokers that report another one get no bundles", is_dynamic=True),
    Key("loadBalancerLoadSheddingStrategy", Kind.CLASS,
        {"2.10.0": f"{_IMPL}.ThresholdShedder", "5.0.0": f"{_IMPL}.AvgShedder"},
        "which bundles brokers give up; called dynamic, yet needs a restart", is_dynamic=True),
    Key("loadBalancerLoadPlacementStrategy", Kind.CLASS,
        {"2.11.0": f"{_IMPL}.LeastLongTermMessageRate", "5.0.0": f"{_IMPL}.AvgShedder"},
        "which broker gets a bundle without an owner"),
    Key("loadBalancerSheddingEnabled", Kind.BOOL, _always(True),
        "whether the leader sheds, asked again each round", is_dynamic=True),
    Key("loadBalancerSheddingIntervalMinutes", Kind.INT, _always(1),
        "time between two rounds of shedding", unit="minutes", is_dynamic=True),
    Key("loadBalancerSheddingGracePeriodMinutes", Kind.LONG, _always(30),
        "how long a bundle just unloaded is left alone", unit="minutes", is_dynamic=True),
    Key("loadBalancerSheddingExcludedNamespaces", Kind.LIST, {"4.1.0": ""},
        "namespaces whose bundles are never shed; they are placed in turn, whatever the load",
        is_dynamic=True),
    Key("loadBalancerDistributeBundlesEvenlyEnabled", Kind.BOOL, {"2.11.0": True, "5.0.0": False},
        "whether only brokers with the fewest bundles of a namespace may get its next one",
        is_dynamic=True),
    Key("loadBalancerBrokerOverloadedThresholdPercentage", Kind.INT, _always(85),
        "usage from which a broker is overloaded, for shedding and placement", unit="%",
        is_dynamic=True),
    Key("loadBalancerBrokerMaxTopics", Kind.INT, _always(50000),
        "brokers with more topics get no bundles while others have fewer", unit="topics",
        is_dynamic=True),
    # What brokers report, and when.
    Key("loadBalancerReportUpdateThresholdPercentage", Kind.INT, _always(10),
        "change of rates, bundles or usage beyond which a broker writes its report", unit="%",
        is_dynamic=True),
    Key("loadBalancerReportUpdateMinIntervalMillis", Kind.INT, _always(5000),
        "how often a broker looks whether its report is to be written", unit="ms", is_dynamic=True),
    Key("loadBalancerReportUpdateMaxIntervalMinutes", Kind.INT, _always(15),
        "a report older than this is written in any case", unit="minutes", is_dynamic=True),
    Key("loadBalancerHostUsageCheckIntervalMinutes", Kind.INT, _always(1),
        "how often CPU and network usage are sampled", unit="minutes", is_dynamic=True),
    Key("loadBalancerResourceQuotaUpdateIntervalMinutes", Kind.INT, _always(15),
        "how often the leader stores the bundles' averages", unit="minutes"),
    Key("loadBalancerMaxNumberOfBundlesInBundleLoadReport", Kind.INT, {"3.0.0": 10},
        "bundles a broker whose averages are kept in the store, the heaviest; 0 or less is all",
        unit="bundles", is_dynamic=True),
    Key("loadBalancerOverrideBrokerNicSpeedGbps", Kind.OPTIONAL_FLOAT, _always(""),
        "speed of each network interface, where the host tells a wrong one", unit="Gbit/s"),
    Key("loadBalancerOverrideBrokerNics", Kind.LIST, {"5.0.0-M1": ""},
        "network interfaces to count, where the host shows too many"),
    Key("statsUpdateFrequencyInSecs", Kind.INT, _always(60),
        "how often a broker measures its bundles' rates", unit="s"),
    Key("statsUpdateInitialDelayInSecs", Kind.INT, _always(60),
        "time from a broker's start to its first rates", unit="s"),
    Key("exposeBundlesMetricsInPrometheus", Kind.BOOL, _always(False),
        "whether brokers export metrics of each bundle", is_dynamic=True),
    # How resources weigh in a broker's usage.
    Key("loadBalancerCPUResourceWeight", Kind.FLOAT, _always(1.0), "weight of CPU",
        is_dynamic=True),
    Key("loadBalancerBandwidthInResourceWeight", Kind.FLOAT, {"4.0.0": 1.0},
        "weight of network in; 1.0 counts as not set", is_dynamic=True,
        twin="loadBalancerBandwithInResourceWeight"),
    Key("loadBalancerBandwidthOutResourceWeight", Kind.FLOAT, {"4.0.0": 1.0},
        "weight of network out; 1.0 counts as not set", is_dynamic=True,
        twin="loadBalancerBandwithOutResourceWeight"),
    Key("loadBalancerBandwithInResourceWeight", Kind.FLOAT, _always(1.0),
        "old spelling of Bandwidth; heeded where the new spelling is 1.0", is_dynamic=True,
        twin="loadBalancerBandwidthInResourceWeight"),
    Key("loadBalancerBandwithOutResourceWeight", Kind.FLOAT, _always(1.0),
        "old spelling of Bandwidth; heeded where the new spelling is 1.0", is_dynamic=True,
        twin="loadBalancerBandwidthOutResourceWeight"),
    Key("loadBalancerDirectMemoryResourceWeight", Kind.FLOAT, {"2.10.0": 1.0, "3.1.1": 0.0},
        "weight of direct memory", is_dynamic=True),
    Key("loadBalancerMemoryResourceWeight", Kind.FLOAT, {"2.10.0": 1.0, "4.0.0": 0.0},
        "weight of the heap; without effect from 3.0 on, but in the extensible load manager",
        is_dynamic=True),
    # What the strategies of the modular load manager go by.
    Key("loadBalancerHistoryResourcePercentage", Kind.FLOAT, _always(0.9),
        "share of the past in usage: ThresholdShedder, LeastResourceUsageWithWeight, extensible",
        unit="fraction", is_dynamic=True),
    Key("loadBalancerBrokerThresholdShedderPercentage", Kind.INT, _always(10),
        "ThresholdShedder: how far above the average a broker sheds", unit="% points",
        is_dynamic=True),
    Key("loadBalancerBundleUnloadMinThroughputThreshold", Kind.FLOAT, _always(10.0),
        "ThresholdShedder: less than this to move is not worth a move", unit="MiB/s",
        is_dynamic=True),
    Key("lowerBoundarySheddingEnabled", Kind.BOOL, {"3.0.0": False},
        "ThresholdShedder: whether the busiest broker sheds for one far below the average"),
    Key("loadBalancerAverageResourceUsageDifferenceThresholdPercentage", Kind.INT, {"2.11.0": 10},
        "LeastResourceUsageWithWeight (both): distance below the average that makes a target",
        unit="% points", is_dynamic=True),
    Key("loadBalancerMsgRateDifferenceShedderThreshold", Kind.FLOAT, _always(50.0),
        "UniformLoadShedder: excess of message rate that is too much; <= 0 is off", unit="%",
        is_dynamic=True),
    Key("loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold", Kind.FLOAT, _always(4.0),
        "UniformLoadShedder: ratio of throughput that is too much; <= 0 is off", unit="times",
        is_dynamic=True),
    Key("minUnloadMessage", Kind.INT, {"3.0.0": 1000},
        "UniformLoadShedder (at least), AvgShedder (more than): rate worth a move",
        unit="messages/s", is_dynamic=True),
    Key("minUnloadMessageThroughput", Kind.INT, {"3.0.0": 1048576},
        "UniformLoadShedder (at least), AvgShedder (more than): throughput worth a move",
        unit="bytes/s", is_dynamic=True),
    Key("maxUnloadPercentage", Kind.FLOAT, {"3.0.0": 0.2, "5.0.0": 0.5},
        "UniformLoadShedder, AvgShedder: share of the difference that is moved", unit="fraction",
        is_dynamic=True),
    Key("maxUnloadBundleNumPerShedding", Kind.INT, {"2.11.0": -1},
        "UniformLoadShedder alone: most bundles a round; -1 is no limit", unit="bundles",
        is_dynamic=True),
    Key("loadBalancerAvgShedderLowThreshold", Kind.INT, {"3.0.6": 15},
        "AvgShedder: gap that counts as a low hit", unit="% points", is_dynamic=True),
    Key("loadBalancerAvgShedderHighThreshold", Kind.INT, {"3.0.6": 40},
        "AvgShedder: gap that counts as a high hit", unit="% points", is_dynamic=True),
    Key("loadBalancerAvgShedderHitCountLowThreshold", Kind.INT, {"3.0.6": 8},
        "AvgShedder: low hits in a row before bundles move", unit="rounds", is_dynamic=True),
    Key("loadBalancerAvgShedderHitCountHighThreshold", Kind.INT, {"3.0.6": 2},
        "AvgShedder: high hits in a row before bundles move", unit="rounds", is_dynamic=True),
    # How bundles are split, unloaded and made.
    Key("loadBalancerAutoBundleSplitEnabled", Kind.BOOL, _always(True),
        "whether bundles that are too big are split", is_dynamic=True),
    Key("loadBalancerAutoUnloadSplitBundlesEnabled", Kind.BOOL, _always(True),
        "whether the halves of a split bundle are unloaded", is_dynamic=True),
    Key("loadBalancerNamespaceBundleMaxTopics", Kind.INT, _always(1000),
        "topics beyond which a bundle is split", unit="topics", is_dynamic=True),
    Key("loadBalancerNamespaceBundleMaxSessions", Kind.INT, _always(1000),
        "producers and consumers beyond which a bundle is split", unit="sessions", is_dynamic=True),
    Key("loadBalancerNamespaceBundleMaxMsgRate", Kind.INT, _always(30000),
        "long-term rate, in and out, beyond which a bundle is split", unit="messages/s",
        is_dynamic=True),
    Key("loadBalancerNamespaceBundleMaxBandwidthMbytes", Kind.INT, _always(100),
        "long-term throughput, in and out, beyond which a bundle is split", unit="MiB/s",
        is_dynamic=True),
    Key("loadBalancerNamespaceMaximumBundles", Kind.INT, _always(128),
        "bundles a namespace beyond which nothing is split", unit="bundles", is_dynamic=True),
    Key("flowOrQpsDifferenceThresholdPercentage", Kind.INT, {"3.0.0": 10},
        "margin of the split by flow or rate", unit="%", is_dynamic=True),
    Key("defaultNamespaceBundleSplitAlgorithm", Kind.TEXT, _always("range_equally_divide"),
        "where a bundle is cut", is_dynamic=True),
    Key("supportedNamespaceBundleSplitAlgorithms", Kind.LIST,
        {"2.10.0": _SPLITS, "3.0.0": _SPLITS_FROM_3}, "ways to cut a bundle that may be asked for",
        is_dynamic=True),
    Key("defaultNumberOfNamespaceBundles", Kind.INT, {"2.10.0": 4, "5.0.0": 32},
        "bundles of a new namespace; too few cannot be balanced", unit="bundles", is_dynamic=True),
    Key("topicBundleAssignmentStrategy", Kind.CLASS,
        {"3.0.0": "org.apache.pulsar.common.naming.ConsistentHashingTopicBundleAssigner"},
        "which bundle of its namespace a topic belongs to"),
    Key("namespaceBundleUnloadingTimeoutMs", Kind.LONG, _always(60000),
        "how long the unloading of one bundle may take", unit="ms", is_dynamic=True),
    Key("preferLaterVersions", Kind.BOOL, _always(False),
        "whether only brokers of the newest release get bundles", is_dynamic=True),
    Key("failureDomainsEnabled", Kind.BOOL, _always(False),
        "whether anti-affinity groups are spread over failure domains", is_dynamic=True),
    # What only the extensible load manager goes by.
    Key("loadBalancerBrokerLoadTargetStd", Kind.FLOAT, {"3.0.0": 0.25},
        "TransferShedder: deviation of usage between brokers that is still balanced",
        is_dynamic=True),
    Key("loadBalancerSheddingConditionHitCountThreshold", Kind.INT, {"3.0.0": 3},
        "TransferShedder: rounds out of balance that are let pass", unit="rounds", is_dynamic=True),
    Key("loadBalancerMaxNumberOfBrokerSheddingPerCycle", Kind.INT, {"3.0.0": 3},
        "TransferShedder: most brokers relieved in a round", unit="brokers", is_dynamic=True),
    Key("loadBalanceSheddingDelayInSeconds", Kind.LONG, {"3.0.0": 180},
        "TransferShedder: pause after unloading", unit="s", is_dynamic=True),
    Key("loadBalancerBrokerLoadDataTTLInSeconds", Kind.LONG, {"3.0.0": 1800},
        "TransferShedder: older load data are ignored", unit="s", is_dynamic=True),
    Key("loadBalancerTransferEnabled", Kind.BOOL, {"3.0.0": True},
        "TransferShedder: whether bundles get their destination when they are shed",
        is_dynamic=True),
    Key("loadBalancerSheddingBundlesWithPoliciesEnabled", Kind.BOOL, {"3.0.0": False},
        "whether bundles with isolation or anti-affinity policies may be shed", is_dynamic=True),
    Key("loadBalancerDebugModeEnabled", Kind.BOOL, {"3.0.0": False},
        "whether decisions are logged in detail; TransferShedder then counts what it exchanges",
        is_dynamic=True),
    Key("loadBalancerSplitIntervalMinutes", Kind.INT, {"3.0.0": 1},
        "time between two looks for bundles to split", unit="minutes"),
    Key("loadBalancerMaxNumberOfBundlesToSplitPerCycle", Kind.INT, {"3.0.0": 10},
        "most bundles split at a time", unit="bundles", is_dynamic=True),
    Key("loadBalancerNamespaceBundleSplitConditionHitCountThreshold", Kind.INT, {"3.0.0": 3},
        "rounds for which a bundle may be too big", unit="rounds", is_dynamic=True),
    Key("loadBalancerMultiPhaseBundleUnload", Kind.BOOL, {"3.3.0": True},
        "whether clients are told the destination while a bundle is unloaded"),
    Key("loadBalancerInFlightServiceUnitStateWaitingTimeInMillis", Kind.LONG, {"3.2.3": 30000},
        "how long a change of ownership may hang", unit="ms"),
    Key("loadBalancerServiceUnitStateMonitorIntervalInSeconds", Kind.LONG, {"3.2.3": 60},
        "how often changes that hang are looked for", unit="s"),
    Key("loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds", Kind.LONG, {"3.0.0": 3600},
        "how long the state of a bundle that is gone is kept", unit="s"),
    Key("loadBalancerServiceUnitStateMaxConcurrentOverrides", Kind.INT, {"4.0.8": 64},
        "most ownerships corrected at a time", unit="bundles", is_dynamic=True),
    Key("loadBalancerServiceUnitTableViewSyncer", Kind.TEXT, {"4.0.0": "None"},
        "direction in which ownership is copied during a migration", is_dynamic=True),
    Key("loadManagerServiceUnitStateTableViewClassName", Kind.CLASS,
        {"4.0.0": f"{_EXTENSIONS}.channel.ServiceUnitStateTableViewImpl"},
        "where ownership is kept"),
    # What only SimpleLoadManagerImpl goes by.
    Key("loadBalancerPlacementStrategy", Kind.TEXT, _always("leastLoadedServer"),
        "placement of SimpleLoadManagerImpl, not the key for placement strategies"),
    Key("loadBalancerBrokerUnderloadedThresholdPercentage", Kind.INT, _always(50),
        "usage below which a broker is underloaded", unit="%"),
    Key("loadBalancerBrokerComfortLoadLevelPercentage", Kind.INT, _always(65),
        "usage that is just right", unit="%"),
)
# fmt: on

#: Key → what is known of it, in the order of the settings page.
KEYS: Mapping[str, Key] = {key.name: key for key in _TABLE}
