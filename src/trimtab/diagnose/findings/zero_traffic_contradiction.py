"""Brokers that are hot without traffic."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.standing import percent
from trimtab.diagnose.watched import grouped, told_in_rounds

#: Reports in a row, and the span that they must cover: windows of statistics are 60 s.
_REPORTS, _SPAN_S = 3, 120.0
#: A steady broker reports seldom: what it said last for so long counts as well.
_HELD_S = 600.0
#: Bytes/s and messages/s below which a broker carries nothing.
_BYTES, _MESSAGES = 1_000.0, 1.0
#: Usage that traffic of nothing cannot explain.
_HOT = 0.5


def zero_traffic_contradiction(night: Night) -> list[Finding]:
    """Find brokers that are hot although they carry nothing: something else loads the host.

    The shedder warns of an overloaded broker without bundles; or reports of two minutes in a
    row, or one that held for ten, have CPU or network at half or more, less than 1 kB/s and
    less than a message a second.
    Nothing that a balancer moves can cool such a broker, and its usage lifts the average.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading, 4.0.8: "overloaded despite having
        no bundles"
    """
    warned = [(n, e) for n, e in told_in_rounds(night, "overloaded-without-bundles") if e.broker]
    numbers = {id(event): n for n, event in warned}
    found = []
    for broker, lines in grouped((e for _, e in warned), lambda e: e.broker or "").items():
        said = f"The shedder warned of it {len(lines)} time(s): overloaded, and no bundles."
        found.append(_finding((broker, lines[0].time, numbers[id(lines[0])]), said, lines, {}))
    known = {finding.brokers[0] for finding in found}
    for broker, reports in night.reports.items():
        if broker in known:
            continue
        used = reports.shares()[:, [0, 3, 4]].max(axis=1)
        is_odd = (used >= _HOT) & (reports.throughput < _BYTES) & (reports.rate < _MESSAGES)
        at = _run(is_odd.tolist(), reports.times, night.end)
        if at is not None:
            usage = float(np.asarray(used)[at])
            said = f"It reported {percent(usage)} and no traffic, and went on so."
            found.append(_finding((broker, reports.times[at], 0), said, [], {"usage": usage}))
    return found


def _run(is_odd: list[bool], times: tuple[datetime, ...], end: datetime | None) -> int | None:
    """Return where the first long run begins; a report holds until the next."""
    start: int | None = None
    for i, odd in enumerate(is_odd):
        if not odd:
            start = None
            continue
        start = i if start is None else start
        until = times[i + 1] if i + 1 < len(times) else max(end or times[i], times[i])
        is_often = i + 1 - start >= _REPORTS
        span_s = (times[i] - times[start]).total_seconds()
        held_s = (until - times[start]).total_seconds()
        if (is_often and span_s >= _SPAN_S) or held_s >= _HELD_S:
            return start
    return None


def _finding(
    where: tuple[str, datetime, int], said: str, lines: list[Event], numbers: dict[str, float]
) -> Finding:
    broker, time, number = where
    return Finding(
        code="zero-traffic-contradiction",
        severity="medium",
        time=time,
        round=number,
        title=f"{broker} is hot without traffic",
        text=said,
        better="a host that belongs to the broker alone",
        advice=(
            "Look for another program on that host, and at loadBalancer…ResourceWeight: a "
            "resource that others use should not count."
        ),
        brokers=(broker,),
        evidence=tuple(lines[:5]),
        numbers={"warnings": len(lines), **numbers},
    )


ENTRY = FindingEntry(
    rule=zero_traffic_contradiction,
    rank=39,
    needs=(Need.BROKER_REPORTS,),
    words=None,
)
