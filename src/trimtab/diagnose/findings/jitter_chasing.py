"""Bundles moved for a peak of a minute."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Move, Night
from trimtab.diagnose.reports import BundleReports

#: A peak is so many times the median before, and the median after.
_PEAK = 1.5
#: How far it is looked back and ahead, and how much of that must be known before.
_SPAN, _KNOWN = timedelta(minutes=10), timedelta(minutes=5)
#: So often a look is taken: a broker that reports nothing has nothing new to say.
_STEP = timedelta(seconds=30)
#: A report of the old owner may still come, and the new one's first window is not full.
_SETTLING = timedelta(minutes=2)
#: Strategies that act on a single report.
_HASTY = frozenset({"UniformLoadShedder", "OverloadShedder"})


def jitter_chasing(night: Night) -> list[Finding]:
    """Find moves of bundles that were at a passing peak, by strategies that act on one report.

    The bundle's traffic in the last report before the unload was at least half as much again
    as the median of the ten minutes before and as that of the ten minutes from two minutes
    after.  A report holds until the next.  Five minutes before must be known, and all ten
    after, with a report after the unload.  UniformLoadShedder, OverloadShedder, and
    ThresholdShedder without history.  One finding a round, medium.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 4.0.8
    """
    findings = []
    for logged in night.rounds:
        if logged.strategy in _HASTY or night.history_share == 0:
            peaks = [(move, peak) for move in logged.moves if (peak := _peak(night, move))]
            if peaks:
                findings.append(_finding(len(logged.moves), peaks))
    return findings


def _peak(night: Night, move: Move) -> tuple[float, float, float] | None:
    """Return the traffic before, at and after a move, bytes/s; None if it was no peak."""
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    if reports is None or at is None:
        return None
    since, until = max(move.time - _SPAN, reports.times[0]), move.time + _SETTLING + _SPAN
    is_known = move.time - since >= _KNOWN and night.end is not None and night.end >= until
    if not is_known or reports.times[-1] <= move.time:
        return None
    was = _level(reports, since, move.time)
    then = _level(reports, move.time + _SETTLING, until)
    peak = float(reports.throughput[at])
    return (was, peak, then) if peak > 0 and peak >= _PEAK * max(was, then) else None


def _level(reports: BundleReports, since: datetime, until: datetime) -> float:
    """Return the median of a bundle's traffic over a time, bytes/s."""
    looks = [since + i * _STEP for i in range(int((until - since) / _STEP))]
    positions = [i for look in looks if (i := reports.at(look)) is not None]
    return float(np.median(reports.throughput[positions]))


def _finding(moved: int, peaks: list[tuple[Move, tuple[float, float, float]]]) -> Finding:
    first, (was, peak, then) = peaks[0]
    moves = [move for move, _ in peaks]
    return Finding(
        "jitter-chasing",
        "medium",
        first.time,
        first.round,
        brokers=tuple(dict.fromkeys(move.source for move in moves)),
        numbers={"moves": len(peaks), "before": was, "throughput": peak, "after": then},
        values={"moved": moved},
        **of_moves(moves),
    )
