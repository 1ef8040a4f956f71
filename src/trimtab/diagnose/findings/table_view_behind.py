"""Brokers that hear of bundles' states long after the others."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Finding, LateTelling, Night

#: One late record may be one slow moment.
_FEW = 3


def table_view_behind(night: Night) -> list[Finding]:
    """Find brokers whose view of the table of states lags behind that of others.

    Each broker says in debug mode when it hears of a record.  Ten seconds after the first of them
    is late, while it was running all the time; three late records make a finding, one a broker:
    high where one came later than clients are made to wait, else medium.  Until it has heard of a
    record a broker sends clients to an owner that is none any more.

    Source:
        ServiceUnitStateTableViewImpl.java, ServiceUnitStateChannelImpl.java handle, 4.0.8
    """
    channel = night.channel
    if channel is None:
        return []
    by_broker: dict[str, list[LateTelling]] = {}
    for each in channel.late:
        by_broker.setdefault(each.broker, []).append(each)
    return [
        _finding(night, broker, late, channel.settings.waiting_s)
        for broker, late in sorted(by_broker.items())
        if len(late) >= _FEW
    ]


def _finding(night: Night, broker: str, late: list[LateTelling], waiting_s: float) -> Finding:
    lag_s = max(each.lag_s for each in late)
    return Finding(
        "table-view-behind",
        "high" if lag_s > waiting_s else "medium",
        brokers=(broker,),
        bundles=tuple(dict.fromkeys(each.line.bundle for each in late if each.line.bundle)),
        numbers={"records": len(late), "lag_s": lag_s},
        **of_lines(night, [each.line for each in late]),
    )
