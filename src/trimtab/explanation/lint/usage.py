"""What a broker's usage is made of: weights of resources, and the limit of the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import MODULAR, Conf
from trimtab.explanation.lint.rule import Finder, Match

_DIRECT = "loadBalancerDirectMemoryResourceWeight"
_HEAP = "loadBalancerMemoryResourceWeight"
_BY_WEIGHTS = ("ThresholdShedder", "AvgShedder", "LeastResourceUsageWithWeight", "TransferShedder")


def _direct_memory(conf: Conf) -> Iterator[Match]:
    value = conf.number(_DIRECT)
    if heeds_weights(conf) and value is not None and value > 0:
        yield Match(
            f"{conf.fact(_DIRECT)}: full caches count as load",
            conf.at(_DIRECT),
            _DIRECT,
            f"{_DIRECT}=0.0",
        )


def _heap(conf: Conf) -> Iterator[Match]:
    value = conf.number(_HEAP)
    is_counted = conf.shedder == "TransferShedder" or not conf.is_from("3.0.0")
    if heeds_weights(conf) and is_counted and value is not None and value > 0:
        yield Match(
            f"{conf.fact(_HEAP)}: garbage that is not collected yet counts as load",
            conf.at(_HEAP),
            _HEAP,
            f"{_HEAP}=0.0",
        )


def heeds_weights(conf: Conf) -> bool:
    """Return whether anything that is chosen weighs resources in this release.

    From 4.0 on the modular load manager itself does, whatever the strategies, to tell
    whether a report is to be written and whether a target is overloaded.
    """
    is_manager = conf.manager == MODULAR and conf.is_from("4.0.0")
    return is_manager or not {conf.shedder, conf.placer}.isdisjoint(_BY_WEIGHTS)


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "direct-memory-counts": _direct_memory,
    "heap-counts": _heap,
}
