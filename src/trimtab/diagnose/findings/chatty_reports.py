"""Brokers that write report after report although their traffic stays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from trimtab.diagnose.evidence import densest
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.reports import BrokerReports
from trimtab.pulsar.model import RESOURCES, Flags
from trimtab.pulsar.settings import SettingError
from trimtab.pulsar.settings.reader import Reader

#: So many reports without need within the window are too many: three a minute.
_WINDOW, _WRITES = timedelta(minutes=10), 30
#: A report that is so long after the last one is written for its age.
_AGE = timedelta(seconds=45)
_SETTING = "loadBalancerReportUpdateThresholdPercentage"
_WORDS = {"cpu": "CPU", "memory": "heap", "direct_memory": "direct memory"}


def chatty_reports(night: Night) -> list[Finding]:
    """Find brokers that wrote thirty reports or more within ten minutes without need.

    A report is without need if messages, bytes and bundles are within the threshold of the one
    before, and that is not 45 s old: what moved is a resource, such as a heap that is
    filled and collected.  With every report the leader feeds its averages of all bundles once
    more, so that what should be long-term becomes short.  One finding a broker, medium.

    Source:
        impl/ModularLoadManagerImpl.java needBrokerDataUpdate, writeBrokerDataOnZooKeeper,
        4.0.8 (#17598, #19559)
    """
    threshold = _threshold(night)
    findings = []
    for broker, reports in night.reports.items():
        idle = _needless(reports, threshold)
        times = [time for time, is_idle in zip(reports.times[1:], idle, strict=True) if is_idle]
        written = times[densest(times, _WINDOW)]
        if len(written) >= _WRITES:
            findings.append(_finding(broker, reports, idle, written))
    return findings


def _threshold(night: Night) -> float:
    try:
        return Reader(night.conf, night.release).percent(_SETTING)
    except SettingError:
        return Reader({}, night.release).percent(_SETTING)


def _needless(reports: BrokerReports, threshold: float) -> Flags:
    """Return of each report but the first whether nothing but a resource had changed."""
    is_soon = np.diff(reports.seconds) < _AGE.total_seconds()
    is_same = np.ones(is_soon.size, np.bool_)
    for values in (reports.rate, reports.throughput, reports.bundles.astype(np.float64)):
        before, after = values[:-1], values[1:]
        is_same &= np.abs(after - before) <= threshold * np.abs(before)
    return np.asarray(is_soon & is_same)


def _finding(
    broker: str, reports: BrokerReports, idle: Flags, written: Sequence[datetime]
) -> Finding:
    moved = np.nanmedian(np.abs(np.diff(reports.shares(), axis=0))[idle], axis=0)
    resource = RESOURCES[int(np.argmax(moved))]
    return Finding(
        "chatty-reports.heap" if resource == "memory" else "chatty-reports",
        "medium",
        written[0],
        0,
        brokers=(broker,),
        numbers={
            "reports": len(written),
            "needless": int(idle.sum()),
            "resource": resource,
            "points": 100 * float(moved.max()),
        },
        values={"word": _WORDS.get(resource, "network"), "setting": _SETTING},
    )
