"""Settings by which nothing can ever be shed, or nothing be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import SHEDDER_KEY, Conf
from trimtab.explanation.lint.rule import Finder, Match

_WEIGHTS = (
    "loadBalancerCPUResourceWeight",
    "loadBalancerDirectMemoryResourceWeight",
    "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight",
    "loadBalancerBandwithInResourceWeight",
    "loadBalancerBandwithOutResourceWeight",
    "loadBalancerMemoryResourceWeight",
)
#: Shedders that go by usage as it is weighed.
_BY_USAGE = ("ThresholdShedder", "AvgShedder", "TransferShedder")


def _both_switched_off(conf: Conf) -> Iterator[Match]:
    keys = (
        "loadBalancerMsgRateDifferenceShedderThreshold",
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
    )
    values = [conf.number(key) for key in keys]
    if conf.shedder == "UniformLoadShedder" and all(it is not None and it <= 0 for it in values):
        yield Match(
            f"{conf.fact(keys[0])}, and {conf.fact(keys[1])}: both tests are off",
            conf.at(*keys),
            keys[0],
        )


def _nothing_counts(conf: Conf) -> Iterator[Match]:
    weights = [value for key in _weights(conf) if (value := conf.number(key)) is not None]
    if conf.shedder in _BY_USAGE and weights and not any(weights):
        yield Match(
            "every resource weighs 0, so that every broker's usage is 0",
            conf.at(*_WEIGHTS),
            _WEIGHTS[0],
        )


def _weights(conf: Conf) -> tuple[str, ...]:
    """Return the weights that count; a bandwidth counts in that spelling which is not 1.0."""
    is_heap = conf.shedder == "TransferShedder" or not conf.is_from("3.0.0")
    names = [*_WEIGHTS[:2], *(_WEIGHTS[6:] if is_heap else ())]
    for new, old in zip(_WEIGHTS[2:4], _WEIGHTS[4:6], strict=True):
        is_new = conf.number(new) not in (None, 1.0)
        names.append(new if is_new else old)
    return tuple(names)


def _switched_off(conf: Conf) -> Iterator[Match]:
    for key in ("loadBalancerEnabled", "loadBalancerSheddingEnabled"):
        if not conf.is_on(key) and conf.is_changed(SHEDDER_KEY):
            yield Match(
                f"{conf.fact(key)}, and so {conf.fact(SHEDDER_KEY)} is idle", conf.at(key), key
            )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "uniform-both-off": _both_switched_off,
    "nothing-counts": _nothing_counts,
    "shedding-off": _switched_off,
}
