"""Intervals against each other: rounds that look at the same reports, and graces that lapse."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.explanation.lint.conf import EXTENSIBLE, Conf
from trimtab.explanation.lint.rule import Match, Rule, Severity
from trimtab.pulsar.model import MINUTE_S

_INTERVAL = "loadBalancerSheddingIntervalMinutes"
_GRACE = "loadBalancerSheddingGracePeriodMinutes"
_STATS = "statsUpdateFrequencyInSecs"
_HOST = "loadBalancerHostUsageCheckIntervalMinutes"
_REPORT_MAX = "loadBalancerReportUpdateMaxIntervalMinutes"
_REPORT_THRESHOLD = "loadBalancerReportUpdateThresholdPercentage"
_TTL = "loadBalancerBrokerLoadDataTTLInSeconds"
_DELAY = "loadBalanceSheddingDelayInSeconds"
#: Shedder → the threshold, in points, that a drift must not hide from.
_POINTS = {
    "ThresholdShedder": "loadBalancerBrokerThresholdShedderPercentage",
    "AvgShedder": "loadBalancerAvgShedderLowThreshold",
}


def _grace_lapses(conf: Conf) -> Iterator[Match]:
    grace, interval = conf.number(_GRACE), conf.number(_INTERVAL)
    if not conf.shedder or grace is None or interval is None:
        return
    if grace <= interval:
        yield Match(
            f"{conf.fact(_GRACE)}, and {conf.fact(_INTERVAL)}: a bundle that has just moved may "
            "move again in the very next round",
            conf.at(_GRACE, _INTERVAL),
            _GRACE,
        )


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


def _chatty_reports(conf: Conf) -> Iterator[Match]:
    threshold, age = conf.number(_REPORT_THRESHOLD), conf.number(_REPORT_MAX)
    if threshold is not None and threshold < 1:
        yield Match(
            f"{conf.fact(_REPORT_THRESHOLD)}: whatever changes is written, every few seconds",
            conf.at(_REPORT_THRESHOLD),
            _REPORT_THRESHOLD,
            f"{_REPORT_THRESHOLD}=5",
        )
    if age is not None and age < 1:
        yield Match(
            f"{conf.fact(_REPORT_MAX)}: every report is too old, and written every few seconds",
            conf.at(_REPORT_MAX),
            _REPORT_MAX,
            f"{_REPORT_MAX}=15, the default",
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


def _no_pause(conf: Conf) -> Iterator[Match]:
    pause, stats = conf.number(_DELAY), conf.number(_STATS)
    if conf.manager == EXTENSIBLE and pause is not None and stats is not None and pause < stats:
        yield Match(
            f"{conf.fact(_DELAY)}, and {conf.fact(_STATS)}: brokers that were just relieved still "
            "tell the traffic of before",
            conf.at(_DELAY, _STATS),
            _DELAY,
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "grace-lapses",
        Severity.WARNING,
        "a grace period that is over before it matters",
        "The grace period keeps a bundle where it has just been put until reports and averages "
        "have followed; without it the same bundle is passed on from broker to broker, and each "
        "time its clients reconnect.",
        ("#345", "#865"),
        f"{_GRACE}=30, the default, or several intervals at least",
        _grace_lapses,
    ),
    Rule(
        "stale-inputs",
        Severity.WARNING,
        "rounds that come faster than new measurements",
        "A round that comes before the effect of the last one has been measured sheds the same "
        "load once more.",
        ("#1488", "PulsarStats"),
        "an interval of rounds no shorter than the slowest measurement",
        _stale_inputs,
    ),
    Rule(
        "coarse-reports",
        Severity.WARNING,
        "reports that are coarser than what the shedder acts on",
        "A broker writes its report when usage has changed by so many points, or when the last "
        "one is old; until then the leader sees the old usage.",
        ("#454", "PIP-358"),
        "a report threshold below the shedder's",
        _coarse_reports,
    ),
    Rule(
        "chatty-reports",
        Severity.WARNING,
        "reports that are written whether anything has changed or not",
        "Each write is one to the store and a look of every broker at all reports; each look "
        "counts as a sample of every bundle's averages, so that they cover seconds, not minutes.",
        ("#17598", "PIP-358"),
        "5 to 10 points, and some minutes",
        _chatty_reports,
    ),
    Rule(
        "load-data-outdated",
        Severity.WARNING,
        "load data that count as outdated before they are written anew",
        "A broker whose load does not change writes seldom; once its data count as outdated it is "
        "left out of the balance, or the whole round is.",
        ("PIP-220", "PIP-192"),
        f"{_TTL} of twice the longest interval",
        _outdated,
        (("3.0.0", ""),),
    ),
    Rule(
        "no-pause-after-unload",
        Severity.WARNING,
        "a pause after unloading that is shorter than a measurement",
        "TransferShedder waits so that the new load is measured before it looks again: it was "
        "lowered from 600 to 180 s, and 180 s are three measurements.",
        ("#19813",),
        f"{_DELAY}=180, the default",
        _no_pause,
        (("3.0.0", ""),),
    ),
)
