"""Brokers shed because one that had just started had not measured itself yet."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from trimtab.diagnose.columns import microseconds, moments
from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Night, Round
from trimtab.diagnose.usages import places_by_broker

#: Usage below this is a first sample of the CPU, a mean since 1970.
_SAMPLED_MIN = 0.001
#: Two scores that are the same.
_NEAR = 1e-6
#: How far it is looked ahead for what such a broker measures.
_STARTING = timedelta(minutes=5)


def cold_cpu(night: Night) -> list[Finding]:
    """Find unloads that came only of a starting broker's first, unmeasured CPU.

    The first report after a start has a CPU of nearly nothing, which drags the average down,
    whatever else it says: where memory counts, the score is that of the memory.
    It is done again with the lowest usage that the broker measured within five minutes in
    its place, since the measured ones hold the work of starting and what it is given: a
    source whose smoothed usage is below even that bar was shed for nothing.  High.

    Quirks:
        Without history, in its first round, a broker's smoothed usage is the reported one;
        later the first report is a tenth of it, and this is not looked for.

    Source:
        impl/LinuxBrokerHostUsageImpl.java, 4.0.8: lastCollection of 0 at the first call
    """
    findings = []
    for logged in night.rounds:
        if not logged.moves or logged.average is None or logged.threshold is None:
            continue
        bar = _true_bar(night, logged)
        if bar is None:
            continue
        for source in dict.fromkeys(move.source for move in logged.moves):
            state = logged.brokers.get(source)
            if state is not None and state.smoothed is not None and state.smoothed < bar[0]:
                findings.append(_finding(logged, source, state.smoothed, bar))
    return findings


def _true_bar(night: Night, logged: Round) -> tuple[float, str] | None:
    """Return the bar with measured usage in place of first samples, and whose they were."""
    scores = {b: s.smoothed for b, s in logged.brokers.items() if s.smoothed is not None}
    cold = [broker for broker in scores if _is_cold(night, logged, broker)]
    for broker in cold:
        measured = _measured(night, logged, broker)
        if measured is None:
            return None
        scores[broker] = measured
    if not cold or logged.threshold is None:
        return None
    return sum(scores.values()) / len(scores) + logged.threshold, ", ".join(cold)


def _is_cold(night: Night, logged: Round, broker: str) -> bool:
    """Return whether a broker's score is that of a report whose CPU had not been measured."""
    state = logged.brokers[broker]
    if state.smoothed is None:
        return False
    is_nothing = 0 <= state.smoothed < _SAMPLED_MIN
    # What the JVM says of its memory stands in the score meanwhile; with a history it does not.
    is_usage = state.usage is not None and abs(state.smoothed - state.usage) < _NEAR
    # Of most brokers neither holds, and to look for their reports is what takes time.
    if not is_nothing and not is_usage:
        return False
    has_cpu = _has_cpu(night, broker, logged.time)
    return is_nothing if has_cpu is None else is_usage and not has_cpu


def _has_cpu(night: Night, broker: str, time: datetime) -> bool | None:
    """Return whether a broker's report in force has a measured CPU; None if none is known."""
    reports = night.reports.get(broker)
    at = None if reports is None else reports.at(time)
    if reports is None or at is None or not reports.limit[at, 0] > 0:
        return None
    return bool(reports.usage[at, 0] >= _SAMPLED_MIN * reports.limit[at, 0])


def _measured(night: Night, logged: Round, broker: str) -> float | None:
    """Return the lowest usage that a broker measured soon after a round; None if none is known."""
    usages = night.usages
    mine = places_by_broker(usages).get(broker)
    if mine is None:
        return None
    soon = microseconds([logged.time, logged.time + _STARTING])
    mine = mine[slice(*np.searchsorted(usages.times[mine], soon, side="right"))]
    mine = mine[usages.fractions[mine] >= _SAMPLED_MIN]
    return min(
        (
            fraction
            for time, fraction in zip(
                moments(usages.times[mine]), usages.fractions[mine].tolist(), strict=True
            )
            if _has_cpu(night, broker, time) is not False
        ),
        default=None,
    )


def _finding(logged: Round, source: str, smoothed: float, bar: tuple[float, str]) -> Finding:
    cold = bar[1].split(", ")
    return Finding(
        "cold-cpu",
        "high",
        logged.time,
        logged.number,
        brokers=(source, *cold),
        numbers={
            "bar": (logged.average or 0.0) + (logged.threshold or 0.0),
            "bar_measured": bar[0],
            "smoothed": smoothed,
        },
        values={"cold": cold[0] if len(cold) == 1 else f"{cold[0]} and {len(cold) - 1} more"},
        **of_moves(logged.moves_from(source), lines=slice(1)),
    )
