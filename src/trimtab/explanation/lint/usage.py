"""What a broker's usage is made of: weights of resources, and the limit of the network."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.explanation.lint.conf import MODULAR, Conf
from trimtab.explanation.lint.rule import Match, Rule, Severity

_DIRECT = "loadBalancerDirectMemoryResourceWeight"
_HEAP = "loadBalancerMemoryResourceWeight"
_NIC = "loadBalancerOverrideBrokerNicSpeedGbps"
_WEIGHTS = (
    "loadBalancerCPUResourceWeight",
    "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight",
    "loadBalancerBandwithInResourceWeight",
    "loadBalancerBandwithOutResourceWeight",
    _DIRECT,
    _HEAP,
)
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


def _weight_out_of_range(conf: Conf) -> Iterator[Match]:
    for key in _WEIGHTS:
        value = conf.number(key)
        if value is not None and value < 0:
            yield Match(
                f"{conf.fact(key)}: expected a weight from 0 to 1",
                conf.at(key),
                key,
                f"{key}=0.0 if it is not to count",
            )


def _heavy_weight(conf: Conf) -> Iterator[Match]:
    for key in _WEIGHTS:
        value = conf.number(key)
        if value is not None and value > 1:
            yield Match(
                f"{conf.fact(key)}: a usage of 60 % counts as {60 * value:g} %",
                conf.at(key),
                key,
                f"{key}=1.0, and less for the others",
            )


def _no_speed(conf: Conf) -> Iterator[Match]:
    value = conf.number(_NIC)
    if value is not None and value <= 0:
        yield Match(
            f"{conf.fact(_NIC)}: with no limit to the network its usage is always 0 %",
            conf.at(_NIC),
            _NIC,
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "direct-memory-counts",
        Severity.WARNING,
        "direct memory that counts as load",
        "The largest resource decides, and direct memory is filled with caches up to its limit "
        "whatever the traffic: brokers look busy that are not.",
        ("#21168", "#22820"),
        f"{_DIRECT}=0.0",
        _direct_memory,
    ),
    Rule(
        "heap-counts",
        Severity.WARNING,
        "the Java heap that counts as load",
        "The heap fills and empties with each garbage collection: its saw-tooth hides the load, "
        "and each tooth is a new report.",
        ("#19559", "#22820", "#17598"),
        f"{_HEAP}=0.0",
        _heap,
    ),
    Rule(
        "negative-weight",
        Severity.ERROR,
        "a resource that weighs less than nothing",
        "The largest of the weighed resources is a broker's usage: one that weighs less than "
        "nothing never is.",
        ("PIP-357",),
        "0.0",
        _weight_out_of_range,
    ),
    Rule(
        "heavy-weight",
        Severity.NOTE,
        "a resource that weighs more than 1",
        "Usage then passes 100 %, which Pulsar allows; thresholds in points mean less the more "
        "it weighs.",
        ("#18598",),
        "1.0 for what matters most, and less for the rest",
        _heavy_weight,
    ),
    Rule(
        "nic-speed-zero",
        Severity.ERROR,
        "a network speed of nothing",
        "Usage of a resource without a limit is 0 %: the network never counts, however full it is.",
        ("#14906", "#1157"),
        f"{_NIC}= with what the machine really gets, or no line",
        _no_speed,
    ),
)
