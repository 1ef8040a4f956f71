"""Clusters that look idle to the shedder."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import events_in_rounds
from trimtab.diagnose.reports import OF_HOST, BrokerReports

#: Bytes/s that a broker cannot carry without any usage.
_CARRIED = 1_000_000.0
#: Reports in a row.
_REPORTS = 3


def usage_zero(night: Night) -> list[Finding]:
    """Find brokers that report no usage at all while they carry traffic, and rounds so decided.

    Usage is zero where the host cannot be measured; the broker then looks like the best
    destination whatever it carries.  A broker counts with three reports in a row of at least
    1 MB/s and nothing used of CPU and network, whatever the JVM says of its memory; high.
    The shedder's own line that the average is zero is of low severity; where the reports of
    that time say that nobody carried so much, it is none.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading,
        impl/LinuxBrokerHostUsageImpl.java, 4.0.8
    """
    findings = [
        Finding(
            "usage-zero.unused",
            "high",
            reports.times[at],
            0,
            brokers=(broker,),
            numbers={"throughput": float(reports.throughput[at])},
        )
        for broker, reports in night.reports.items()
        if (at := _first_run(reports)) is not None
    ]
    said = events_in_rounds(night, "average-usage-zero")
    lines = [(number, event) for number, event in said if not _is_idle(night, event.time)]
    if lines and not findings:
        number, first = lines[0]
        findings.append(
            Finding(
                "usage-zero.average",
                "low",
                first.time,
                number,
                evidence=tuple(event for _, event in lines[:SHOWN]),
                numbers={"warnings": len(lines)},
            )
        )
    return findings


def _is_idle(night: Night, time: datetime) -> bool:
    """Return whether the reports in force say that no broker carries anything to speak of."""
    known = ((reports, reports.at(time)) for reports in night.reports.values())
    carried = [float(reports.throughput[at]) for reports, at in known if at is not None]
    return bool(carried) and max(carried) < _CARRIED


def _first_run(reports: BrokerReports) -> int | None:
    """Return where the first run of such reports begins."""
    is_odd = (reports.throughput >= _CARRIED) & (reports.shares()[:, OF_HOST].max(axis=1) <= 0)
    if np.count_nonzero(is_odd) < _REPORTS:
        return None
    is_run = sliding_window_view(is_odd, _REPORTS).all(axis=1)
    return int(np.argmax(is_run)) if is_run.any() else None
