"""Where bundles go: placement that works against shedding, and what narrows the choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import IMPL, MODULAR, PLACER_KEY, SHEDDER_KEY, Conf, shown
from trimtab.explanation.lint.rule import Finder, Match

_EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
_MARGIN = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"

#: What each strategy ranks brokers by.
_USAGE, _RATES = "resource usage", "message rates"
_SHEDS_BY = {
    "ThresholdShedder": _USAGE,
    "OverloadShedder": _USAGE,
    "UniformLoadShedder": _RATES,
}
_PLACES_BY = {"LeastLongTermMessageRate": _RATES, "LeastResourceUsageWithWeight": _USAGE}
_MATCH = {_USAGE: "LeastResourceUsageWithWeight", _RATES: "LeastLongTermMessageRate"}

_NAMESPACE = re.compile(r"[^/\s]+(?:/[^/\s]+){1,2}")


def _mixed_scores(conf: Conf) -> Iterator[Match]:
    sheds, places = _SHEDS_BY.get(conf.shedder), _PLACES_BY.get(conf.placer)
    if sheds is None or places is None or sheds == places:
        return
    is_choice = conf.is_from("2.11.0")
    instead = (
        f"{PLACER_KEY}={IMPL}{_MATCH[sheds]}"
        if is_choice
        else f"{SHEDDER_KEY}=\
{IMPL}UniformLoadShedder, the only one here that goes by rates"
    )
    yield Match(
        f"{conf.shedder} sheds by {sheds}, and {conf.placer} places by {places}: "
        f"{conf.fact(SHEDDER_KEY)}, {_placer_line(conf)}",
        conf.at(PLACER_KEY, SHEDDER_KEY),
        PLACER_KEY if is_choice else SHEDDER_KEY,
        instead,
    )


def _placer_line(conf: Conf) -> str:
    if conf.is_from("2.11.0"):
        return conf.fact(PLACER_KEY)
    return f"release {conf.release} has no other placement"


def _wide_margin(conf: Conf) -> Iterator[Match]:
    margin, threshold = conf.number(_MARGIN), conf.number(_THRESHOLD)
    is_pair = conf.shedder == "ThresholdShedder" and conf.placer == "LeastResourceUsageWithWeight"
    if not is_pair or margin is None or threshold is None or not 0 < threshold <= margin:
        return
    yield Match(
        f"{conf.fact(_MARGIN)}, and {conf.fact(_THRESHOLD)}: with five brokers, one of them at "
        f"the bar, the others are {threshold / 4:g} points below the average, and none is "
        f"{margin:g} below",
        conf.at(_MARGIN, _THRESHOLD),
        _MARGIN,
        f"{_MARGIN}={max(1, int(threshold / 4))}",
    )


def _excluded(conf: Conf) -> Iterator[Match]:
    names = [name.strip() for name in conf.text(_EXCLUDED).split(",") if name.strip()]
    whole = [name for name in names if _NAMESPACE.fullmatch(name)]
    if whole and conf.manager == MODULAR:
        yield Match(
            f"{conf.fact(_EXCLUDED)}: bundles of these namespaces are placed in turn, on whichever "
            "broker comes next",
            conf.at(_EXCLUDED),
            _EXCLUDED,
        )


def _no_namespace(conf: Conf) -> Iterator[Match]:
    for name in (it.strip() for it in conf.text(_EXCLUDED).split(",")):
        if name and not _NAMESPACE.fullmatch(name):
            yield Match(
                f"{_EXCLUDED} names {shown(name)}: expected tenant/namespace",
                conf.at(_EXCLUDED),
                _EXCLUDED,
                f"{_EXCLUDED}={shown(name).strip('/')}/NAMESPACE, one for each",
            )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "mixed-scores": _mixed_scores,
    "placement-margin-too-wide": _wide_margin,
    "excluded-namespaces": _excluded,
    "excluded-not-a-namespace": _no_namespace,
}
