"""What a broker's usage is made of: weights of resources, and the limit of the network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import MODULAR, Conf
from trimtab.explanation.lint.rule import Finder, Match

_DIRECT = "loadBalancerDirectMemoryResourceWeight"
_HEAP = "loadBalancerMemoryResourceWeight"
_SPEED = "loadBalancerOverrideBrokerNicSpeedGbps"
_NICS = "loadBalancerOverrideBrokerNics"
#: The load report has the limit in kbit/s; older releases count 1024 for 1000.
_KBIT_OF_GBIT = 1_000_000
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


def _speed_of_each_card(conf: Conf) -> Iterator[Match]:
    speed = conf.number(_SPEED)
    if speed is None or not 0 < speed < math.inf or conf.text(_NICS).strip():
        return
    cards = {round(limit / (speed * _KBIT_OF_GBIT)) for limit in conf.network_limits}
    if cards == {1}:
        return
    counted = max(cards, default=0)
    known = f"by the load reports {counted}:" if counted > 1 else "which with two is"
    times = counted if counted > 1 else 2
    naming = f", or {_NICS} with the one that counts" if conf.is_from("5.0.0-M1") else ""
    yield Match(
        f"{conf.fact(_SPEED)}: that is the speed of each card that the broker counts, {known} a "
        f"limit of {times * speed:g} Gbit/s",
        conf.at(_SPEED),
        _SPEED,
        f"the speed divided by the number of cards that the broker counts, {_SPEED}="
        f"{speed / times:g} with {times}{naming}",
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
    "nic-speed-per-card": _speed_of_each_card,
}
