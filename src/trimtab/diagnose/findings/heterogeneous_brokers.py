"""Brokers of different strength, balanced as if they were alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import events_in_rounds, grouped
from trimtab.diagnose.reports import BrokerReports

#: The strongest broker has so many times the CPU of the weakest.
_RATIO = 1.5
#: By so many times and so much the same traffic takes more CPU of one broker than of another.
_DEARER, _POINTS = 1.5, 0.15
#: Between these shares of another broker's traffic a broker carries about as much, or less.
_LEAST, _MOST = 0.5, 1.1
#: Reports of a broker, with CPU and traffic, whose medians are compared.
_REPORTS = 3
#: From this use of its CPU on a broker is harmed by it.
_HARMED = 0.8
#: Rounds from which AvgShedder's dead end is grave.
_ROUNDS = 3
#: Strategies that compare traffic and not what it costs.
_BY_TRAFFIC = frozenset({"UniformLoadShedder", "LeastLongTermMessageRate"})


def heterogeneous_brokers(night: Night) -> list[Finding]:
    """Find clusters whose brokers differ in strength under strategies that do not see it.

    Either the reports give one broker at least half as much CPU again as another while a
    strategy that compares traffic alone is in use: low.  Or under UniformLoadShedder one uses
    half as much CPU again as another, and 15 points, though it carries about as much or less:
    low, medium where it stands at 80 % or more.  Or AvgShedder's hot broker carries less than
    its cool partner, so that there is less than nothing to move: high from three rounds on,
    medium before.

    Source:
        impl/AvgShedder.java findBundlesForUnloading, impl/UniformLoadShedder.java, 4.0.8
    """
    lines = [
        event
        for _, event in events_in_rounds(night, "too-little-to-shed")
        if event.broker
        and event.target
        and event.numbers.get("offload_mbyte_s", 0.0) < 0
        and event.numbers.get("offload_rate", 0.0) < 0
    ]
    rounds = {id(event): n for n, event in events_in_rounds(night, "too-little-to-shed")}
    by_broker = grouped(lines, lambda event: event.broker or "")
    findings = [_dead_end(same, rounds[id(same[0])]) for same in by_broker.values()]
    return findings + (_unlike(night) or _dearer(night))


def _dead_end(lines: list[Event], number: int) -> Finding:
    """Return the finding of one hot broker, whoever it was paired with."""
    partners = (event.target for event in lines if event.target)
    return Finding(
        "heterogeneous-brokers.dead-end",
        "high" if len(lines) >= _ROUNDS else "medium",
        lines[0].time,
        number,
        brokers=tuple(dict.fromkeys((lines[0].broker or "", *partners))),
        evidence=tuple(lines[:SHOWN]),
        numbers={"rounds": len(lines)},
    )


def _unlike(night: Night) -> list[Finding]:
    """Return a finding if CPUs differ, by medians: a first report may be of the host."""
    limits = {broker: reports.limit[:, 0] for broker, reports in night.reports.items()}
    cpu = {b: float(np.nanmedian(each)) for b, each in limits.items() if not np.isnan(each).all()}
    cpu = {broker: limit for broker, limit in cpu.items() if limit > 0}
    blind = sorted({night.shedder, night.placer} & _BY_TRAFFIC)
    if len(cpu) < 2 or not blind or max(cpu.values()) < _RATIO * min(cpu.values()):
        return []
    strong, weak = max(cpu, key=cpu.__getitem__), min(cpu, key=cpu.__getitem__)
    return [
        Finding(
            "heterogeneous-brokers.unlike",
            "low",
            night.reports[weak].times[0],
            0,
            brokers=(strong, weak),
            numbers={"cores": {broker: limit / 100 for broker, limit in cpu.items()}},
            values={
                "times": cpu[strong] / cpu[weak],
                "blind": " and ".join(blind),
                "most": cpu[strong] / 100,
                "least": cpu[weak] / 100,
            },
        )
    ]


def _dearer(night: Night) -> list[Finding]:
    """Return a finding if about the same traffic heats one broker more, by medians."""
    if night.shedder != "UniformLoadShedder":
        return []
    last = [reports.times[-1] for reports in night.reports.values()]
    end = max(last if night.end is None else [*last, night.end], default=None)
    known = (
        (broker, _medians(reports, end or reports.times[-1]))
        for broker, reports in night.reports.items()
    )
    medians = {broker: each for broker, each in known if each is not None}
    pairs = [
        (hot, cool)
        for hot, mine in medians.items()
        for cool, its in medians.items()
        if mine[0] >= _DEARER * its[0] and mine[0] - its[0] >= _POINTS and _is_alike(mine, its)
    ]
    if not pairs:
        return []
    hot, cool = max(pairs, key=lambda pair: medians[pair[0]][0] - medians[pair[1]][0])
    (usage, *mine), (least, *its) = medians[hot], medians[cool]
    return [
        Finding(
            "heterogeneous-brokers.dearer",
            "medium" if usage >= _HARMED else "low",
            night.reports[hot].times[0],
            0,
            brokers=tuple(dict.fromkeys((hot, cool, *sorted(pair[0] for pair in pairs)))),
            numbers={"cpu": usage, "other_cpu": least},
            values={"throughput": mine[1], "other_throughput": its[1]},
        )
    ]


def _medians(reports: BrokerReports, end: datetime) -> tuple[float, float, float] | None:
    """Return the medians over the time of a broker's used CPU, its messages/s and its bytes/s.

    A report counts for as long as it stood, as brokers write when something changes.  CPU is a
    fraction.  Only reports that have CPU and traffic count: a first report has no CPU, and the
    one after a start no traffic.  None where there are too few.
    """
    cpu = reports.shares()[:, 0]
    is_whole = (cpu > 0) & (reports.throughput > 0)
    lasted = np.diff(reports.seconds, append=end.timestamp())[is_whole]
    if is_whole.sum() < _REPORTS or lasted.sum() <= 0:
        return None
    usage, rate, throughput = (
        float(np.quantile(column[is_whole], 0.5, weights=lasted, method="inverted_cdf"))
        for column in (cpu, reports.rate, reports.throughput)
    )
    return usage, rate, throughput


def _is_alike(mine: Sequence[float], its: Sequence[float]) -> bool:
    """Return whether a broker carries about what another does, or less: messages and bytes."""
    return all(
        0 < _LEAST * other <= one <= _MOST * other
        for one, other in zip(mine[1:], its[1:], strict=True)
    )
