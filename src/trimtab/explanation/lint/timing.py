"""Intervals against each other: rounds that look at the same reports, and graces that lapse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import EXTENSIBLE, Conf
from trimtab.explanation.lint.rule import Finder, Match
from trimtab.pulsar.units import MINUTE_S

_INTERVAL = "loadBalancerSheddingIntervalMinutes"
_STATS = "statsUpdateFrequencyInSecs"
_HOST = "loadBalancerHostUsageCheckIntervalMinutes"
_REPORT_MAX = "loadBalancerReportUpdateMaxIntervalMinutes"
_REPORT_THRESHOLD = "loadBalancerReportUpdateThresholdPercentage"
_TTL = "loadBalancerBrokerLoadDataTTLInSeconds"
#: Shedder → the threshold, in points, that a drift must not hide from.
_POINTS = {
    "ThresholdShedder": "loadBalancerBrokerThresholdShedderPercentage",
    "AvgShedder": "loadBalancerAvgShedderLowThreshold",
}


def _stale_inputs(conf: Conf) -> Iterator[Match]:
    interval = conf.number(_INTERVAL)
    if not conf.shedder or interval is None:
        return
    for key, unit_s, what in ((_STATS, 1, "traffic"), (_HOST, MINUTE_S, "CPU and network")):
        value = conf.number(key)
        if value is not None and value * unit_s > max(1, interval) * MINUTE_S:
            rounds = value * unit_s / (max(1, interval) * MINUTE_S)
            yield Match(
                f"{conf.fact(key)}, and a round every {interval:g} min: {rounds:.3g} rounds "
                f"go by the same {what}",
                conf.at(key, _INTERVAL),
                key,
            )


def _coarse_reports(conf: Conf) -> Iterator[Match]:
    key = _POINTS.get(conf.shedder)
    coarse, threshold = conf.number(_REPORT_THRESHOLD), conf.number(key) if key else None
    age = conf.number(_REPORT_MAX)
    if key is None or coarse is None or threshold is None or age is None or coarse <= threshold:
        return
    yield Match(
        f"{conf.fact(_REPORT_THRESHOLD)}, and {conf.fact(key)}: usage may drift by {coarse:g} "
        f"points, beyond the shedder's threshold, and go unreported for {age:g} min",
        conf.at(_REPORT_THRESHOLD, key),
        _REPORT_THRESHOLD,
        f"{_REPORT_THRESHOLD}={max(1, int(threshold / 2))}",
    )


def _outdated(conf: Conf) -> Iterator[Match]:
    age, longest = conf.number(_TTL), conf.number(_REPORT_MAX)
    if conf.manager != EXTENSIBLE or age is None or longest is None:
        return
    if age <= longest * MINUTE_S:
        yield Match(
            f"{conf.fact(_TTL)}, and {conf.fact(_REPORT_MAX)}: load data of a quiet broker are "
            f"{longest * MINUTE_S:g} s old before they are written again, and ignored from "
            f"{age:g} s on",
            conf.at(_TTL, _REPORT_MAX),
            _TTL,
            f"{_TTL}={int(2 * longest * MINUTE_S)}",
        )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "stale-inputs": _stale_inputs,
    "coarse-reports": _coarse_reports,
    "load-data-outdated": _outdated,
}
