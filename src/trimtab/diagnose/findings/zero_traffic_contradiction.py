"""Brokers that are hot without traffic."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np

from trimtab.diagnose.broker_loads import percent
from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import events_in_rounds, grouped

#: Reports in a row, and the span that they must cover: windows of statistics are 60 s.
_REPORTS, _SPAN_S = 3, 120.0
#: A steady broker reports seldom: what it said last for so long counts as well.
_HELD_S = 600.0
#: Bytes/s and messages/s below which a broker carries nothing.
_BYTES, _MESSAGES = 1_000.0, 1.0
#: Usage that traffic of nothing cannot explain.
_HOT = 0.5


class _Onset(NamedTuple):
    """Whose usage it is, and from when and which round on."""

    broker: str
    time: datetime
    round: int


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
    warned = [(n, e) for n, e in events_in_rounds(night, "overloaded-without-bundles") if e.broker]
    numbers = {id(event): n for n, event in warned}
    findings = []
    for broker, lines in grouped((e for _, e in warned), lambda e: e.broker or "").items():
        onset = _Onset(broker, lines[0].time, numbers[id(lines[0])])
        text = f"The shedder warned of it {len(lines)} time(s): overloaded, and no bundles."
        findings.append(_finding(onset, text, lines, {}))
    brokers = {finding.brokers[0] for finding in findings}
    for broker, reports in night.reports.items():
        if broker in brokers:
            continue
        used = reports.shares()[:, [0, 3, 4]].max(axis=1)
        is_odd = (used >= _HOT) & (reports.throughput < _BYTES) & (reports.rate < _MESSAGES)
        at = _run(is_odd.tolist(), reports.times, night.end)
        if at is not None:
            usage = float(np.asarray(used)[at])
            text = f"It reported {percent(usage)} and no traffic, and went on so."
            findings.append(
                _finding(_Onset(broker, reports.times[at], 0), text, [], {"usage": usage})
            )
    return findings


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


def _finding(onset: _Onset, text: str, lines: list[Event], numbers: dict[str, float]) -> Finding:
    return Finding(
        code="zero-traffic-contradiction",
        severity="medium",
        time=onset.time,
        round=onset.round,
        title=f"{onset.broker} is hot without traffic",
        text=text,
        better="a host that belongs to the broker alone",
        advice=(
            "Look for another program on that host, and at loadBalancer…ResourceWeight: a "
            "resource that others use should not count."
        ),
        brokers=(onset.broker,),
        evidence=tuple(lines[:5]),
        numbers={"warnings": len(lines), **numbers},
    )


ENTRY = FindingEntry(
    rule=zero_traffic_contradiction,
    rank=39,
    needs=(Need.BROKER_REPORTS,),
    words=None,
    is_fault=True,
)
