"""Clusters that look idle to the shedder."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import events_in_rounds
from trimtab.diagnose.reports import BrokerReports

#: Bytes/s that a broker cannot carry without any usage.
_CARRIED = 1_000_000.0
#: Reports in a row.
_REPORTS = 3


def usage_zero(night: Night) -> list[Finding]:
    """Find brokers that report no usage at all while they carry traffic, and rounds so decided.

    Usage is zero where the host cannot be measured, or where every weight is zero; the
    broker then looks like the best destination whatever it carries.  A broker counts with
    three reports in a row of at least 1 MB/s and nothing used; high.  The shedder's own
    line that the average is zero is of low severity where nothing was carried.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading,
        impl/LinuxBrokerHostUsageImpl.java, 4.0.8
    """
    lines = [event for _, event in events_in_rounds(night, "average-usage-zero")]
    findings = []
    for broker, reports in night.reports.items():
        at = _first_run(reports)
        if at is not None:
            findings.append(_finding(broker, reports, at))
    if lines and not findings:
        number = events_in_rounds(night, "average-usage-zero")[0][0]
        findings.append(
            Finding(
                code="usage-zero",
                severity="low",
                time=lines[0].time,
                round=number,
                title="The average usage was zero",
                text=f"The shedder says so {len(lines)} time(s), and sheds nothing then.",
                better="usage that follows the load",
                advice=(
                    "If the cluster was not idle, look at loadBalancer…ResourceWeight and at how "
                    "the host's usage is measured."
                ),
                evidence=tuple(lines[:5]),
                numbers={"warnings": len(lines)},
            )
        )
    return findings


def _first_run(reports: BrokerReports) -> int | None:
    """Return where the first run of such reports begins."""
    is_odd = (reports.throughput >= _CARRIED) & (reports.shares().max(axis=1) <= 0)
    if np.count_nonzero(is_odd) < _REPORTS:
        return None
    is_run = sliding_window_view(is_odd, _REPORTS).all(axis=1)
    return int(np.argmax(is_run)) if is_run.any() else None


def _finding(broker: str, reports: BrokerReports, at: int) -> Finding:
    carried = float(reports.throughput[at])
    return Finding(
        code="usage-zero",
        severity="high",
        time=reports.times[at],
        round=0,
        title=f"{broker} reports no usage while it carries traffic",
        text=f"It carried {carried / 1e6:.1f} MB/s and reported every resource as unused.",
        better="usage that follows the load",
        advice=(
            "Look at how this host's usage is measured: /proc, cgroups, and the speed of the "
            "network (loadBalancerOverrideBrokerNicSpeedGbps)."
        ),
        brokers=(broker,),
        numbers={"throughput": carried},
    )


ENTRY = FindingEntry(
    rule=usage_zero,
    rank=38,
    needs=(Need.BROKER_REPORTS,),
    words=None,
    is_fault=True,
)
