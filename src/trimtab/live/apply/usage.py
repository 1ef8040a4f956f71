"""How loaded a broker is, from what it tells when it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.live.apply.admin import Admin
from trimtab.live.gather.calls import CallError
from trimtab.live.gather.cluster import has_no_report
from trimtab.pulsar.model import Floats
from trimtab.pulsar.scores import busiest_resource
from trimtab.pulsar.settings import ResourceWeights, resource_weights
from trimtab.pulsar.settings.reader import Reader, SettingError

_COUNTS = (
    "msgRateIn",
    "msgRateOut",
    "msgThroughputIn",
    "msgThroughputOut",
    "topics",
    "producerCount",
    "consumerCount",
)
_RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
_METRICS = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
_GAUGE = re.compile(r"^(pulsar_lb_\w+_usage|process_start_time_seconds)(?:\{[^}]*\})? (\S+)", re.M)
_REPORT = "loadBalancerReportUpdateMaxIntervalMinutes"
_EVEN = ResourceWeights(1.0, None, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a broker tells of its load."""

    #: %, its busiest resource after weighing; NaN if it tells none.
    percent: float
    #: When it last published its report, and when it started, s since 1970.
    published_s: float
    started_s: float
    #: Bundle → bytes/s, in and out; empty if it does not tell.
    bundles: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PlainUsage:
    """What a broker tells of each of its resources, and of its bundles."""

    #: (5,) %, columns RESOURCES; NaN if it tells none.
    percent: Floats
    #: When it last published its report, and when it started, s since 1970.
    published_s: float
    started_s: float
    #: Of its host; NaN if it does not tell.
    cores: float
    #: Bundle → (7,) columns COUNTS; empty if it does not tell.
    counts: Mapping[str, Floats]


def silence_s_max(settings: Mapping[str, str]) -> float:
    """Return for how long a broker may publish nothing, s: its longest interval and a minute."""
    return 60.0 * float(settings.get(_REPORT, "15")) + 60.0


def usage_percent(admin: Admin, broker: str, settings: Mapping[str, str]) -> Usage:
    """Return how loaded a broker is, its resources weighed by the settings of the leader.

    Quirks:
        Under the extensible load manager a broker has no report to give; its metrics have the
        same percentages, without those of its bundles, and 0 until it has first measured.

    Raises:
        CallError: it does not answer.
    """
    weights = weights_of(settings, admin.release)
    try:
        report = admin.report(broker)
    except CallError as error:
        if not has_no_report(error):
            raise
        return _of_metrics(admin.metrics(broker), weights)
    return of_report(report, weights)


def of_report(report: Mapping[str, Any], weights: ResourceWeights = _EVEN) -> Usage:
    """Return the usage in a load report; what is not in it, or is no number, counts as nothing."""
    resources = [_mapping(report.get(name)) for name in _RESOURCES]
    usage = np.array([[_number(each.get("usage")) for each in resources]])
    limit = np.array([[_number(each.get("limit")) for each in resources]])
    return Usage(
        percent=100.0 * float(busiest_resource(usage, limit, weights)[0]),
        published_s=_number(report.get("lastUpdate")) / 1000.0,
        started_s=_number(report.get("startTimestamp")) / 1000.0,
        bundles={name: load[2] + load[3] for name, load in bundle_loads(report).items()},
    )


def of_whole_report(report: Mapping[str, Any]) -> PlainUsage:
    """Return what a load report tells; what is not in it, or is no number, counts as nothing."""
    resources = [_mapping(report.get(name)) for name in _RESOURCES]
    usage, limit = (
        np.array([_number(each.get(key)) for each in resources]) for key in ("usage", "limit")
    )
    stats = _mapping(report.get("lastStats"))
    return PlainUsage(
        percent=np.divide(100.0 * usage, limit, out=np.zeros(usage.size), where=limit > 0),
        published_s=_number(report.get("lastUpdate")) / 1000.0,
        started_s=_number(report.get("startTimestamp")) / 1000.0,
        cores=limit[0] / 100.0 if limit[0] > 0 else np.nan,
        counts={
            str(name): np.array([_number(_mapping(each).get(key)) for key in _COUNTS])
            for name, each in stats.items()
        },
    )


def of_metrics(text: str) -> PlainUsage:
    """Return what the metrics of a broker of the extensible load manager tell: of no bundle."""
    values = {name: float(value) for name, value in _GAUGE.findall(text)}
    percent = np.array([values.get(f"pulsar_lb_{name}_usage", np.nan) for name in _METRICS])
    is_reported = not np.isnan(percent).all()
    return PlainUsage(
        percent=np.nan_to_num(percent) if is_reported else percent,
        published_s=float("inf"),
        started_s=values.get("process_start_time_seconds", 0.0),
        cores=np.nan,
        counts={},
    )


def bundle_loads(report: Mapping[str, Any]) -> Mapping[str, tuple[float, ...]]:
    """Return by bundle its messages/s in and out, bytes/s in and out, and topics in a report."""
    keys = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut", "topics")
    return {
        str(name): tuple(_number(_mapping(stats).get(key)) for key in keys)
        for name, stats in _mapping(report.get("lastStats")).items()
    }


def _of_metrics(text: str, weights: ResourceWeights) -> Usage:
    values = {name: float(value) for name, value in _GAUGE.findall(text)}
    usage = np.array([[values.get(f"pulsar_lb_{name}_usage", 0.0) for name in _METRICS]])
    is_reported = any(name.startswith("pulsar_lb_") for name in values)
    percent = 100.0 * float(busiest_resource(usage, np.full((1, 5), 100.0), weights)[0])
    return Usage(
        percent=percent if is_reported else float("nan"),
        # They are read when they are asked for.
        published_s=float("inf"),
        started_s=values.get("process_start_time_seconds", 0.0),
        bundles={},
    )


def weights_of(settings: Mapping[str, str], release: str) -> ResourceWeights:
    """Return the weights of a broker; as long as they are not known, all count the same."""
    try:
        return resource_weights(Reader(settings, release)) if settings else _EVEN
    except (SettingError, ValueError):
        return _EVEN


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
