"""Networks whose speed is not what is reported."""

from __future__ import annotations

import numpy as np

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import by_log
from trimtab.diagnose.reports import BrokerReports

#: More than this share of the limit cannot be; a window's edge allows for a little.
_FULL = 1.05
_REPORTS = 3


def bad_nic_limit(night: Night) -> list[Finding]:
    """Find brokers whose network carries more than its limit, or has a limit of zero.

    More than 100 % is kept as it is and wins over every other resource: high.  A limit of
    zero counts as unused, so the network is not looked at: medium, as is the broker's own line
    that it cannot read the speed.  Three reports or more must show it.

    Quirks:
        -1 of -1 is a host that is not Linux, whose network nobody measures.

    Source:
        LocalBrokerData.java, impl/LinuxBrokerHostUsageImpl.java, 4.0.8 (#14906, #18598)
    """
    findings = [f for b, r in night.reports.items() if (f := _reported(b, r)) is not None]
    brokers = {finding.brokers[0] for finding in findings}
    for log, lines in by_log(night, "nic-speed-unknown").items():
        broker = night.broker(log)
        if broker not in brokers:
            findings.append(
                Finding(
                    "bad-nic-limit.unread",
                    "medium",
                    brokers=(broker,),
                    numbers={"lines": len(lines)},
                    **of_lines(night, lines),
                )
            )
    return findings


def _reported(broker: str, reports: BrokerReports) -> Finding | None:
    usage, limit = reports.usage[:, 3:], reports.limit[:, 3:]
    share = reports.shares()[:, 3:]
    over = np.flatnonzero((share > _FULL).any(axis=1))
    without = np.flatnonzero(((limit == 0) & (usage > 0)).any(axis=1))
    for variant, severity, places in (("over", "high", over), ("absent", "medium", without)):
        if len(places) >= _REPORTS:
            at = int(places[0])
            return Finding(
                f"bad-nic-limit.{variant}",
                severity,
                reports.times[at],
                0,
                brokers=(broker,),
                numbers={"limit_kbit_s": limit[at].tolist()},
                values={"reports": len(places), "worst": float(share.max())},
            )
    return None
