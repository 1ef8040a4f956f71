"""Networks whose speed is not what is reported."""

from __future__ import annotations

import numpy as np

from trimtab.diagnose.broker_loads import percent
from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at
from trimtab.diagnose.reports import BrokerReports

#: More than this share of the limit cannot be; a window's edge allows for a little.
_FULL = 1.05
_REPORTS = 3
_SETTING = "loadBalancerOverrideBrokerNicSpeedGbps"


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
    for log, lines in grouped(
        other_events(night, "nic-speed-unknown"), lambda e: e.log_broker
    ).items():
        broker = night.names.get(log, log)
        if broker not in brokers:
            findings.append(
                Finding(
                    code="bad-nic-limit",
                    severity="medium",
                    time=lines[0].time,
                    round=round_at(night, lines[0]),
                    title=f"{broker} cannot read the speed of its network",
                    text=f"It says so {len(lines)} time(s); without a speed it has no limit.",
                    better="the true speed",
                    advice=f"Set {_SETTING}.",
                    brokers=(broker,),
                    evidence=tuple(lines[:5]),
                    numbers={"lines": len(lines)},
                )
            )
    return findings


def _reported(broker: str, reports: BrokerReports) -> Finding | None:
    usage, limit = reports.usage[:, 3:], reports.limit[:, 3:]
    share = reports.shares()[:, 3:]
    over = np.flatnonzero((share > _FULL).any(axis=1))
    without = np.flatnonzero(((limit == 0) & (usage > 0)).any(axis=1))
    if len(over) >= _REPORTS:
        at, worst = int(over[0]), float(share.max())
        text = (
            f"More than the limit went through in {len(over)} reports, at worst {percent(worst)}."
        )
        return _finding(broker, reports, at, "high", text)
    if len(without) >= _REPORTS:
        text = f"In {len(without)} reports there is traffic and no limit, which counts as 0 %."
        return _finding(broker, reports, int(without[0]), "medium", text)
    return None


def _finding(broker: str, reports: BrokerReports, at: int, severity: str, text: str) -> Finding:
    return Finding(
        code="bad-nic-limit",
        severity=severity,
        time=reports.times[at],
        round=0,
        title=f"The network of {broker} has another speed than it reports",
        text=text,
        better="the true speed",
        advice=f"Set {_SETTING} to what one broker's network can do.",
        brokers=(broker,),
        numbers={"limit_kbit_s": reports.limit[at, 3:].tolist()},
    )


ENTRY = FindingEntry(
    rule=bad_nic_limit,
    rank=19,
    needs=(Need.BROKER_REPORTS,),
    partly={Need.OTHER_LOGS: "by their lines"},
    words=None,
    is_fault=True,
)
