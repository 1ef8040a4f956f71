"""Who reads which key: settings that the chosen classes never look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trimtab.explanation.lint.conf import EXTENSIBLE, MODULAR, SIMPLE, Conf
from trimtab.explanation.lint.rule import Case, Match, Rule, Severity
from trimtab.explanation.lint.usage import heeds_weights


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a key: strategies, or load managers."""

    #: Simple names of shedders and placers, and names of load managers.
    names: tuple[str, ...]
    evidence: tuple[str, ...]


_THRESHOLD = Readers(("ThresholdShedder",), ("#6772",))
_AVG = Readers(("AvgShedder",), ("PIP-364",))
_UNIFORM = Readers(("UniformLoadShedder",), ("#21299",))
_BOTH = Readers(("UniformLoadShedder", "AvgShedder"), ("PIP-364",))
_MODULAR = Readers((MODULAR,), ("PIP-192",))
_EXTENSIBLE = Readers((EXTENSIBLE,), ("PIP-192", "#21299"))
_SIMPLE = Readers((SIMPLE,), ("#865", "#23156"))
_OLDER = Readers((MODULAR, SIMPLE), ("#857", "PIP-192"))

#: Key → who reads it; keys that are not here are read by all load managers.
READERS: Mapping[str, Readers] = {
    "loadBalancerBrokerThresholdShedderPercentage": _THRESHOLD,
    "loadBalancerBundleUnloadMinThroughputThreshold": _THRESHOLD,
    "lowerBoundarySheddingEnabled": Readers(("ThresholdShedder",), ("#17456",)),
    "loadBalancerHistoryResourcePercentage": Readers(
        ("ThresholdShedder", "LeastResourceUsageWithWeight", EXTENSIBLE), ("#6772", "PIP-181")
    ),
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": Readers(
        ("LeastResourceUsageWithWeight", EXTENSIBLE), ("PIP-181",)
    ),
    "loadBalancerMsgRateDifferenceShedderThreshold": _UNIFORM,
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": _UNIFORM,
    "minUnloadMessage": _BOTH,
    "minUnloadMessageThroughput": _BOTH,
    "maxUnloadPercentage": _BOTH,
    "maxUnloadBundleNumPerShedding": Readers(("UniformLoadShedder",), ("#16409",)),
    "loadBalancerAvgShedderLowThreshold": _AVG,
    "loadBalancerAvgShedderHighThreshold": _AVG,
    "loadBalancerAvgShedderHitCountLowThreshold": _AVG,
    "loadBalancerAvgShedderHitCountHighThreshold": _AVG,
    "loadBalancerDistributeBundlesEvenlyEnabled": _MODULAR,
    "loadBalancerAutoUnloadSplitBundlesEnabled": _OLDER,
    "loadBalancerResourceQuotaUpdateIntervalMinutes": _OLDER,
    "loadBalancerBrokerLoadTargetStd": _EXTENSIBLE,
    "loadBalancerSheddingConditionHitCountThreshold": _EXTENSIBLE,
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle": _EXTENSIBLE,
    "loadBalanceSheddingDelayInSeconds": _EXTENSIBLE,
    "loadBalancerBrokerLoadDataTTLInSeconds": _EXTENSIBLE,
    "loadBalancerTransferEnabled": _EXTENSIBLE,
    "loadBalancerSheddingBundlesWithPoliciesEnabled": _EXTENSIBLE,
    "loadBalancerDebugModeEnabled": _EXTENSIBLE,
    "loadBalancerSplitIntervalMinutes": _EXTENSIBLE,
    "loadBalancerMaxNumberOfBundlesToSplitPerCycle": _EXTENSIBLE,
    "loadBalancerNamespaceBundleSplitConditionHitCountThreshold": _EXTENSIBLE,
    "loadBalancerMultiPhaseBundleUnload": _EXTENSIBLE,
    "loadBalancerInFlightServiceUnitStateWaitingTimeInMillis": _EXTENSIBLE,
    "loadBalancerServiceUnitStateMonitorIntervalInSeconds": _EXTENSIBLE,
    "loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds": _EXTENSIBLE,
    "loadBalancerServiceUnitStateMaxConcurrentOverrides": _EXTENSIBLE,
    "loadBalancerServiceUnitTableViewSyncer": _EXTENSIBLE,
    "loadManagerServiceUnitStateTableViewClassName": _EXTENSIBLE,
    "loadBalancerBrokerUnderloadedThresholdPercentage": _SIMPLE,
    "loadBalancerBrokerComfortLoadLevelPercentage": _SIMPLE,
}
_WEIGHTS = (
    "loadBalancerCPUResourceWeight",
    "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight",
    "loadBalancerBandwithInResourceWeight",
    "loadBalancerBandwithOutResourceWeight",
    "loadBalancerDirectMemoryResourceWeight",
)
_HEAP = "loadBalancerMemoryResourceWeight"
#: Whose reading is known.
_KNOWN = {
    MODULAR,
    EXTENSIBLE,
    SIMPLE,
    "ThresholdShedder",
    "OverloadShedder",
    "UniformLoadShedder",
    "AvgShedder",
    "TransferShedder",
    "LeastLongTermMessageRate",
    "LeastResourceUsageWithWeight",
    "RoundRobinBrokerSelector",
    "ExtensionsLeastResourceUsageWithWeight",
}


def is_heeded(conf: Conf, key: str) -> bool:
    """Return whether any of the classes that a conf chooses reads a key.

    Classes that are not Pulsar's may read anything.
    """
    chosen = {conf.manager, conf.shedder, conf.placer} - {""}
    if not chosen <= _KNOWN:
        return True
    if key in _WEIGHTS:
        return heeds_weights(conf)
    if key == _HEAP:
        return heeds_weights(conf) and (conf.manager == EXTENSIBLE or not conf.is_from("3.0.0"))
    return key not in READERS or not chosen.isdisjoint(READERS[key].names)


def _not_heeded(conf: Conf) -> Iterator[Match]:
    if not conf.shedder:
        return
    for key in (*READERS, *_WEIGHTS, _HEAP):
        if conf.is_changed(key) and not is_heeded(conf, key):
            yield Match(
                f"{conf.fact(key)}, and nothing reads it: it is read by {_readers(conf, key)}, and "
                f"here are {_chosen(conf)}",
                conf.at(key),
                key,
                evidence=READERS[key].evidence if key in READERS else ("PIP-358", "#19559"),
            )


def _readers(conf: Conf, key: str) -> str:
    if key in _WEIGHTS:
        return "strategies that weigh resources in this release"
    if key == _HEAP:
        return "the extensible load manager, and before 3.0"
    return _named(READERS[key])


def _named(readers: Readers) -> str:
    managers = (MODULAR, EXTENSIBLE, SIMPLE)
    names = [f"the {it} load manager" if it in managers else it for it in readers.names]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _chosen(conf: Conf) -> str:
    return f"{conf.shedder} and {conf.placer}, under the {conf.manager} load manager"


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "not-heeded",
        Severity.NOTE,
        "a key that is set, and that none of the chosen classes reads",
        "It looks as if it limits or tunes something, and does nothing.",
        ("#15904",),
        "no line for the key, or the class that reads it",
        _not_heeded,
        cases=tuple(
            Case(key, f"read by {_named(readers)}", readers.evidence)
            for key, readers in READERS.items()
        ),
    ),
)
