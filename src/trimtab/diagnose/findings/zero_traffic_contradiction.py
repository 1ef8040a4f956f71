"""Brokers that are hot without traffic."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import events_in_rounds, grouped

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
    lines_in_rounds = events_in_rounds(night, "overloaded-without-bundles")
    warnings = [(number, event) for number, event in lines_in_rounds if event.broker]
    warned = grouped(warnings, lambda each: each[1].broker or "")
    findings = [
        Finding(
            "zero-traffic-contradiction.warned",
            "medium",
            lines[0][1].time,
            lines[0][0],
            brokers=(broker,),
            evidence=tuple(event for _, event in lines[:SHOWN]),
            numbers={"warnings": len(lines)},
        )
        for broker, lines in warned.items()
    ]
    for broker, reports in night.reports.items():
        if broker in warned:
            continue
        used = reports.shares()[:, [0, 3, 4]].max(axis=1)
        is_odd = (used >= _HOT) & (reports.throughput < _BYTES) & (reports.rate < _MESSAGES)
        at = _run(is_odd.tolist(), reports.times, night.end)
        if at is not None:
            findings.append(
                Finding(
                    "zero-traffic-contradiction.reported",
                    "medium",
                    reports.times[at],
                    0,
                    brokers=(broker,),
                    numbers={"warnings": 0, "usage": float(np.asarray(used)[at])},
                )
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
