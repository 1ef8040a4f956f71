"""Who reads which key: settings that the chosen classes never look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import EXTENSIBLE, MODULAR, SIMPLE, Conf
from trimtab.explanation.lint.rule import Finder, Match
from trimtab.explanation.lint.traps import Trap, named, traps
from trimtab.explanation.lint.usage import heeds_weights

#: Key → who reads it; keys that are not here are read by all load managers.
READERS: Mapping[str, Trap] = {
    key: row for row in traps("readers", "not-heeded") for key in row.keys
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
    return key not in READERS or not chosen.isdisjoint(READERS[key].readers)


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
                evidence=tuple(READERS[key].evidence) if key in READERS else ("PIP-358", "#19559"),
            )


def _readers(conf: Conf, key: str) -> str:
    if key in _WEIGHTS:
        return "strategies that weigh resources in this release"
    if key == _HEAP:
        return "the extensible load manager, and before 3.0"
    return named(READERS[key].readers)


def _chosen(conf: Conf) -> str:
    return f"{conf.shedder} and {conf.placer}, under the {conf.manager} load manager"


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "not-heeded": _not_heeded,
}
