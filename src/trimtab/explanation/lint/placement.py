"""Where bundles go: placement that works against shedding, and what narrows the choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.classes import has_avg_shedder
from trimtab.explanation.lint.conf import IMPL, MODULAR, PLACER_KEY, SHEDDER_KEY, Conf, shown
from trimtab.explanation.lint.rule import Finder, Match

_EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
_MARGIN = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"

_EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
_RATE = "loadBalancerMsgRateDifferenceShedderThreshold"
_RATIO = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"

#: What each strategy ranks brokers by.
_USAGE, _RATES, _THROUGHPUT = "resource usage", "message rates", "throughput"
_SHEDS_BY = {"ThresholdShedder": _USAGE, "OverloadShedder": _USAGE}
_PLACES_BY = {"LeastLongTermMessageRate": _RATES, "LeastResourceUsageWithWeight": _USAGE}
_MATCH = {_USAGE: "LeastResourceUsageWithWeight", _RATES: "LeastLongTermMessageRate"}

_NAMESPACE = re.compile(r"[^/\s]+(?:/[^/\s]+){1,2}")


def _mixed_scores(conf: Conf) -> Iterator[Match]:
    sheds, places = _sheds_by(conf), _PLACES_BY.get(conf.placer)
    if sheds is None or places is None or sheds == places:
        return
    at = (_RATE, PLACER_KEY, SHEDDER_KEY) if sheds == _THROUGHPUT else (PLACER_KEY, SHEDDER_KEY)
    yield Match(
        f"{conf.shedder} sheds by {sheds}, and {conf.placer} places by {places}: "
        f"{conf.fact(_RATE if sheds == _THROUGHPUT else SHEDDER_KEY)}, {_placer_line(conf)}",
        conf.at(*at),
        PLACER_KEY,
        _same_measure(conf, sheds),
    )


def _sheds_by(conf: Conf) -> str | None:
    """Return what the shedder ranks brokers by; None if that is not known, or nothing."""
    if conf.shedder != "UniformLoadShedder":
        return _SHEDS_BY.get(conf.shedder)
    # With both tests on the rate's comes first, and shadows the other.
    tests = ((_RATES, _RATE), (_THROUGHPUT, _RATIO))
    return next((by for by, key in tests if (conf.number(key) or 0) > 0), None)


def _same_measure(conf: Conf, sheds: str) -> str:
    """Return what to write so that bundles are shed and placed by one measure."""
    if sheds == _THROUGHPUT:
        avg = ", or AvgShedder for both roles" if has_avg_shedder(conf.release) else ""
        rate = f"{_RATE}=50, the default, with {PLACER_KEY}={IMPL}{_MATCH[_RATES]}"
        if not conf.is_from("2.11.0"):
            rate = f"{_RATE}=50, the default"
        return f"{rate}{avg}: no placement goes by throughput"
    if conf.is_from("2.11.0"):
        return f"{PLACER_KEY}={IMPL}{_MATCH[sheds]}"
    here = "; of this release UniformLoadShedder alone goes by rates, too"
    return (
        f"2.11 or later, with {PLACER_KEY}={IMPL}{_MATCH[sheds]}"
        f"{here if conf.is_from('2.10.0') else ''}"
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


def _evenly(conf: Conf) -> Iterator[Match]:
    if conf.manager != MODULAR or (conf.is_from("2.11.0") and not conf.is_on(_EVENLY)):
        return
    bites = "only brokers with the fewest bundles of a namespace may get its next one"
    if conf.is_from("2.11.0"):
        yield Match(f"{conf.fact(_EVENLY)}: {bites}", conf.at(_EVENLY), _EVENLY)
    else:
        yield Match(
            f"release {conf.release} cannot switch it off: {bites}",
            conf.at(_EVENLY),
            _EVENLY,
            f"2.11 or later, with {_EVENLY}=false",
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
    "even-distribution": _evenly,
    "excluded-namespaces": _excluded,
    "excluded-not-a-namespace": _no_namespace,
}
